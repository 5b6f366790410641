// The families of gpu_known.h, each in its own file.
#pragma once

#include "ceilings/gpu_known/known.h"

namespace dlroof {

// One block's results; every block leaves the same. gpu_known_chain.cpp, gpu_known_mma.cpp,
// gpu_known_wgmma.cpp.
GpuBytes ChainOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes ChainResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
int ChainRegisterBytes(GpuElement element);

GpuBytes MmaOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes MmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MmaOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MmaResultBytes(const GpuRow& row, const GpuShape& shape);  // of one block

GpuBytes WgmmaOperands(const GpuRow& row, GpuOperandKind kind);
GpuBytes WgmmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

// gpu_known_gemm.cpp: one call leaves what many leave.
GpuBytes GemmOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes GemmResults(const GpuRow& row, const GpuShape& shape);
std::string GemmDifference(const GpuRow& row, const GpuShape& shape, const GpuBytes& results);
GpuElement GemmResultElement(GpuElement element);

// gpu_known_memory.cpp
GpuBytes MemoryOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MemoryOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MemoryResultBytes(const GpuRow& row, const GpuShape& shape);
std::string SumDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results);

}  // namespace dlroof
