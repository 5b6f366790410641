#include "ceilings/gpu_ceilings/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ceilings/gpu_ceilings/bench.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr std::int64_t kMiB = 1 << 20, kGiB = 1 << 30;
constexpr int kWarpThreads = 32, kWarpgroupThreads = 128;

struct Capabilities {
  int first, last;
};
constexpr int kNewest = 999;
constexpr Capabilities kFrom75 = {75, kNewest}, kFrom80 = {80, kNewest}, kFrom89 = {89, kNewest};

// A row and the GPUs that can run it.
struct TableRow {
  GpuRow row;
  Capabilities on = {0, kNewest};
};

using E = GpuElement;
using U = GpuUnit;

// m, n, k, threads, chains and unrolling (GpuInstruction). With eight warps per scheduler, eight
// chains cover twice the latency. An iteration has 512 of these (fp64: 256) and 3 for the loop.
constexpr GpuInstruction kLong = {1, 1, 1, 1, 8, 64}, kFp64 = {1, 1, 1, 1, 8, 32};
constexpr GpuInstruction kPairs = {1, 2, 1, 1, 8, 64}, kDots = {1, 1, 4, 1, 8, 64};

constexpr GpuInstruction Warp(int m, int n, int k, int chains = 8) {
  return {m, n, k, kWarpThreads, chains, 4};
}
constexpr GpuInstruction Group(int k) { return {64, 256, k, kWarpgroupThreads, 1, kWgmmaSteps}; }

constexpr const char* kMma = "mma.sync m16n8, fp32 sums";
constexpr const char* kIntMma = "mma.sync, int32 sums";
constexpr const char* kFp64Mma = "mma.sync in fp64";
constexpr const char* kWgmma = "wgmma m64n256, fp32 sums, operands in shared memory";
constexpr const char* kIntWgmma = "wgmma m64n256, int32 sums, operands in shared memory";
constexpr const char* kGemm = "cublasLt GEMM, fp32 sums";
constexpr const char* kFp8Gemm = "cublasLt GEMM, fast sums, bf16 out";
constexpr const char* kSharedLoads = "loads of 16 byte from shared memory";

const std::vector<TableRow> kRows = {
    {{"fp64.vector.dfma", U::kChain, E::kFp64, kFp64, "DFMA", "fp64 multiply-adds"}, kFrom75},
    {{"fp32.vector.ffma", U::kChain, E::kFp32, kLong, "FFMA", "fp32 multiply-adds"}, kFrom75},
    {{"fp16.vector.hfma2", U::kChain, E::kFp16, kPairs, "HFMA2", "fp16 pairs"}, kFrom75},
    {{"bf16.vector.hfma2", U::kChain, E::kBf16, kPairs, "HFMA2", "bf16 pairs"}, kFrom80},
    {{"int8.vector.dp4a", U::kChain, E::kInt8, kDots, "IDP.4A", "dot products of 4"}, kFrom75},
    {{"fp16.matrix.mma", U::kMma, E::kFp16, Warp(16, 8, 8), "HMMA", kMma}, {75, 79}},
    {{"fp16.matrix.mma", U::kMma, E::kFp16, Warp(16, 8, 16), "HMMA", kMma}, kFrom80},
    {{"bf16.matrix.mma", U::kMma, E::kBf16, Warp(16, 8, 16), "HMMA", kMma}, kFrom80},
    {{"tf32.matrix.mma", U::kMma, E::kTf32, Warp(16, 8, 8), "HMMA", kMma}, kFrom80},
    {{"int8.matrix.mma", U::kMma, E::kInt8, Warp(8, 8, 16), "IMMA", kIntMma}, {75, 79}},
    {{"int8.matrix.mma", U::kMma, E::kInt8, Warp(16, 8, 32), "IMMA", kIntMma}, kFrom80},
    {{"fp64.matrix.mma", U::kMma, E::kFp64, Warp(8, 8, 4), "DMMA", kFp64Mma}, {80, 80}},
    {{"fp64.matrix.mma", U::kMma, E::kFp64, Warp(16, 8, 16, 4), "DMMA", kFp64Mma}, {90, 90}},
    {{"fp64.matrix.mma", U::kMma, E::kFp64, Warp(8, 8, 4), "DMMA", kFp64Mma}, {100, 103}},
    {{"fp8.matrix.mma", U::kMma, E::kFp8, Warp(16, 8, 32), "QMMA", kMma}, {89, 89}},
    {{"fp8.matrix.mma", U::kMma, E::kFp8, Warp(16, 8, 32), "QMMA", kMma}, {120, 121}},
    {{"fp16.matrix.wgmma", U::kWgmma, E::kFp16, Group(16), "HGMMA", kWgmma}, {90, 90}},
    {{"bf16.matrix.wgmma", U::kWgmma, E::kBf16, Group(16), "HGMMA", kWgmma}, {90, 90}},
    {{"tf32.matrix.wgmma", U::kWgmma, E::kTf32, Group(8), "HGMMA", kWgmma}, {90, 90}},
    {{"int8.matrix.wgmma", U::kWgmma, E::kInt8, Group(32), "IGMMA", kIntWgmma}, {90, 90}},
    {{"fp8.matrix.wgmma", U::kWgmma, E::kFp8, Group(32), "QGMMA", kWgmma}, {90, 90}},
    {{"fp32.vector.cublaslt", U::kGemm, E::kFp32, {}, "", kGemm}, kFrom75},
    {{"fp16.matrix.cublaslt", U::kGemm, E::kFp16, {}, "", kGemm}, kFrom75},
    {{"bf16.matrix.cublaslt", U::kGemm, E::kBf16, {}, "", kGemm}, kFrom80},
    {{"tf32.matrix.cublaslt", U::kGemm, E::kTf32, {}, "", kGemm}, kFrom80},
    {{"int8.matrix.cublaslt", U::kGemm, E::kInt8, {}, "", "cublasLt GEMM"}, kFrom75},
    {{"fp8.matrix.cublaslt", U::kGemm, E::kFp8, {}, "", kFp8Gemm}, kFrom89},
    {{"fp64.matrix.cublaslt", U::kGemm, E::kFp64, {}, "", "cublasLt GEMM"}, {80, 80}},
    {{"fp64.matrix.cublaslt", U::kGemm, E::kFp64, {}, "", "cublasLt GEMM"}, {90, 103}},
    {{"dram.load.v16", U::kLoad, E::kFp32, {}, "LDG", "loads of 16 byte"}},
    {{"dram.store.v16", U::kStore, E::kFp32, {}, "STG", "stores of 16 byte"}},
    {{"dram.copy.v16", U::kCopy, E::kFp32, {}, "STG", "b = a, 16 byte"}},
    {{"dram.triad.v16", U::kTriad, E::kFp32, {}, "STG", "a = b + q c, 16 byte"}},
    {{"l2.load.cg16", U::kLoad, E::kFp32, {}, "LDG", "loads of 16 byte past L1", Level::kL2}},
    {{"l2.store.v16", U::kStore, E::kFp32, {}, "STG", "stores of 16 byte", Level::kL2}},
    {{"l1.load.ca16", U::kLoad, E::kFp32, {}, "LDG", "loads of 16 byte", Level::kL1}},
    {{"l1.shared.v16", U::kShared, E::kFp32, {}, "LDS", kSharedLoads, Level::kL1}},
};

// Returns the largest number of threads per block that an SM's 64 Ki registers allow.
int MostThreads(const GpuRow& row) {
  if (row.unit == U::kChain) return 1024;
  const bool wide = row.unit == U::kWgmma || (row.element == E::kFp64 && row.instruction.m > 8);
  return wide ? 256 : 512;
}

std::vector<GpuShape> GemmShapes(std::optional<double> flops_per_second) {
  constexpr double kSeconds = 0.01, kUsual = 4096;
  constexpr int kStep = 1024, kMin = 1024, kMax = 8192;
  const double n = flops_per_second ? std::cbrt(*flops_per_second * kSeconds / 2) : kUsual;
  return {{0, 0, std::clamp(static_cast<int>(n) / kStep * kStep, kMin, kMax), 0}};
}

// Returns the largest multiple of 3 MiB (three equal arrays) up to `bytes`, at least 3 MiB [byte].
std::int64_t WholeSet(std::int64_t bytes) {
  return std::max<std::int64_t>(1, bytes / (3 * kMiB)) * 3 * kMiB;
}

std::vector<GpuShape> DramShapes(const GpuSize& gpu) {
  const auto set =
      WholeSet(std::min(std::max(2 * kGiB + 2 * kMiB, 64 * gpu.l2_bytes), gpu.free_bytes / 2));
  std::vector<GpuShape> shapes;
  for (const int blocks : {8, 16, 32}) shapes.push_back({gpu.sms * blocks, 256, 0, set});
  shapes.push_back({gpu.sms * 4, 512, 0, set});
  return shapes;
}

std::vector<GpuShape> L2Shapes(const GpuRow& row, const GpuSize& gpu) {
  std::vector<GpuShape> shapes;
  for (const int threads : {128, 256, 512, 1024})
    for (const int part : {8, 4, 2}) {
      GpuShape shape{gpu.sms, threads, 0, 0};
      const auto round = UnrolledBytes(row, shape);
      shape.set_bytes = gpu.l2_bytes / part / round * round;
      const bool tried = !shapes.empty() && shapes.back() == shape;
      if (shape.set_bytes > 0 && !tried) shapes.push_back(shape);
    }
  return shapes;
}

struct ElementRow {
  int bytes;
  void (*write)(double value, std::byte* to);
  double (*read)(const std::byte* from);
};

template <class Number>
constexpr ElementRow Stored() {
  return {sizeof(Number),
          [](double value, std::byte* to) { Store(static_cast<Number>(value), to); },
          [](const std::byte* from) { return static_cast<double>(Load<Number>(from)); }};
}

template <class Bits, const FloatFormat& kFormat>
constexpr ElementRow Encoded() {
  return {sizeof(Bits),
          [](double value, std::byte* to) {
            Store(static_cast<Bits>(EncodeFloat(value, kFormat)), to);
          },
          [](const std::byte* from) { return DecodeFloat(Load<Bits>(from), kFormat); }};
}

// In the order of GpuElement.
constexpr ElementRow kElements[] = {Stored<double>(),
                                    Stored<float>(),
                                    Stored<float>(),
                                    Encoded<std::uint16_t, kFp16Format>(),
                                    Encoded<std::uint16_t, kBf16Format>(),
                                    Stored<std::int8_t>(),
                                    Encoded<std::uint8_t, kE4m3Format>(),
                                    Stored<std::int32_t>()};

const ElementRow& RowOf(GpuElement element) { return kElements[static_cast<int>(element)]; }

constexpr const char* kGuide =
    "CUDA C++ Programming Guide, throughput of native arithmetic instructions (results per clock "
    "and SM, times the operations of each)";
constexpr const char* kTuring = "NVIDIA Turing GPU Architecture, WP-09183-001";
constexpr const char* kA100 = "NVIDIA A100 Tensor Core GPU Architecture, V1.0, tables 1 and 4";
constexpr const char* kGa102 = "NVIDIA Ampere GA102 GPU Architecture, V2.1, tables 2 and 3";
constexpr const char* kAda = "NVIDIA Ada GPU Architecture, V2.02, tables 2 and 3";
constexpr const char* kH100 = "NVIDIA H100 Tensor Core GPU Architecture, V1.04, tables 1 to 3";
constexpr const char* kB200 =
    "assumed: NVIDIA's figures for B200 (2.25 PFLOP/s dense bf16) over 148 SMs at 1.85 GHz";
constexpr const char* kGb202 = "NVIDIA RTX Blackwell GPU Architecture, V1.1, tables of RTX 5090";
constexpr const char* kBanks = "32 banks of 4 byte: CUDA C++ Programming Guide";
constexpr const char* kTuringL1 =
    "Jia et al., Dissecting the NVIDIA Turing T4 GPU (2019): 58.8 byte/cycle measured";

const std::vector<GpuPeak> kGpuPeaks = {
    {75, 75, {"fp64.vector"}, {4}, kGuide},
    {75, 75, {"fp32.vector"}, {128}, kGuide},
    {75, 75, {"fp16.vector"}, {256}, kGuide},
    {75, 75, {"int8.vector"}, {512}, kGuide},
    {75, 75, {"fp16.matrix"}, {512, 1024}, kTuring},
    {75, 75, {"int8.matrix"}, {2048}, kTuring},
    {75, 75, {"l1"}, {64, 128}, kTuringL1},

    {80, 80, {"fp64.vector"}, {64}, kGuide},
    {80, 80, {"fp32.vector"}, {128}, kGuide},
    {80, 80, {"fp16.vector", "int8.vector"}, {512}, kGuide},
    {80, 80, {"bf16.vector"}, {256}, kGuide},
    {80, 80, {"fp64.matrix"}, {128}, kA100},
    {80, 80, {"tf32.matrix"}, {1024}, kA100},
    {80, 80, {"fp16.matrix", "bf16.matrix"}, {2048}, kA100},
    {80, 80, {"int8.matrix"}, {4096}, kA100},

    {86, 89, {"fp64.vector"}, {4}, kGuide},
    {86, 89, {"fp32.vector", "fp16.vector", "bf16.vector"}, {256}, kGuide},
    {86, 89, {"int8.vector"}, {512}, kGuide},
    {86, 86, {"tf32.matrix"}, {256, 512}, kGa102},
    {86, 86, {"fp16.matrix", "bf16.matrix"}, {512, 1024}, kGa102},
    {86, 86, {"int8.matrix"}, {2048}, kGa102},
    {89, 89, {"tf32.matrix"}, {256, 512}, kAda},
    {89, 89, {"fp16.matrix", "bf16.matrix"}, {512, 1024}, kAda},
    {89, 89, {"int8.matrix"}, {2048}, kAda},
    {89, 89, {"fp8.matrix"}, {1024, 2048}, kAda},

    {90, 90, {"fp64.vector"}, {128}, kGuide},
    {90, 90, {"fp32.vector"}, {256}, kGuide},
    {90, 90, {"fp16.vector", "bf16.vector", "int8.vector"}, {512}, kGuide},
    {90, 90, {"fp64.matrix"}, {256}, kH100},
    {90, 90, {"tf32.matrix"}, {2048}, kH100},
    {90, 90, {"fp16.matrix", "bf16.matrix"}, {4096}, kH100},
    {90, 90, {"int8.matrix", "fp8.matrix"}, {8192}, kH100},

    {100, 100, {"fp32.vector"}, {256}, kB200},
    {100, 100, {"tf32.matrix"}, {4096}, kB200},
    {100, 100, {"fp16.matrix", "bf16.matrix"}, {8192}, kB200},
    {100, 100, {"int8.matrix", "fp8.matrix"}, {16384}, kB200},

    {120, 120, {"fp64.vector"}, {4}, kGb202},
    {120, 120, {"fp32.vector"}, {256}, kGb202},
    {120, 120, {"fp16.vector", "bf16.vector"}, {256}, kGuide},
    {120, 120, {"int8.vector"}, {512}, kGuide},
    {120, 120, {"tf32.matrix"}, {256, 512}, kGb202},
    {120, 120, {"fp16.matrix", "bf16.matrix"}, {512, 1024}, kGb202},
    {120, 120, {"int8.matrix"}, {2048}, kGb202},
    {120, 120, {"fp8.matrix"}, {1024, 2048}, kGb202},

    {80, 121, {"l1"}, {128}, kBanks},
};

}  // namespace

bool IsMemory(const GpuRow& row) {
  return row.unit == U::kLoad || row.unit == U::kShared || row.unit == U::kStore ||
         row.unit == U::kCopy || row.unit == U::kTriad;
}

std::vector<GpuRow> GpuRows(int compute_capability) {
  std::vector<GpuRow> rows;
  for (const auto& [row, on] : kRows)
    if (compute_capability >= on.first && compute_capability <= on.last) rows.push_back(row);
  return rows;
}

double WorkPerIteration(const GpuRow& row, const GpuShape& shape) {
  if (row.unit == U::kGemm) return 2.0 * shape.n * shape.n * shape.n;
  if (IsMemory(row))
    return static_cast<double>(shape.set_bytes) *
           (row.level == Level::kL1 ? kL1VectorsPerThread : 1);
  const auto& each = row.instruction;
  return 2.0 * each.m * each.n * each.k * each.chains * each.unroll * shape.blocks *
         (static_cast<double>(shape.threads) / each.threads);
}

std::vector<GpuShape> GpuShapes(const GpuRow& row, const GpuSize& gpu,
                                std::optional<double> flops_per_second) {
  if (row.unit == U::kGemm) return GemmShapes(flops_per_second);
  const int most = MostThreads(row);
  if (!IsMemory(row)) return {{gpu.sms, most, 0, 0}, {gpu.sms, most / 2, 0, 0}};
  if (row.level == Level::kDram) return DramShapes(gpu);
  if (row.level == Level::kL2) return L2Shapes(row, gpu);
  return {{gpu.sms, 1024, 0, static_cast<std::int64_t>(gpu.sms) * kL1BytesPerBlock}};
}

std::int64_t UnrolledBytes(const GpuRow& row, const GpuShape& shape) {
  constexpr std::int64_t kVectorBytes = 16;
  const auto threads = static_cast<std::int64_t>(shape.blocks) * shape.threads;
  if (row.unit == U::kStore) return kStoresTogether * threads * kVectorBytes;
  if (row.unit == U::kCopy) return 2 * kCopiesTogether * threads * kVectorBytes;
  if (row.unit == U::kTriad) return 3 * kTriadsTogether * threads * kVectorBytes;
  return kLoadsTogether * threads * kVectorBytes;
}

std::vector<GpuShape> CheckShapes(const GpuRow& row, const GpuShape& measured) {
  constexpr int kFewBlocks = 7;
  GpuShape shape = measured;
  // One warp per scheduler is enough, because all warps compute the same kind of result.
  if (row.unit == U::kChain || row.unit == U::kMma) shape.threads = std::min(shape.threads, 128);
  if (!IsMemory(row) || row.level == Level::kL1) return {shape};
  // Neither a power of two nor a multiple of the grid, so that loop remainders are checked too.
  shape.set_bytes = 6 * (kMiB / 2 + 48);
  GpuShape few = shape;
  few.blocks = kFewBlocks;
  return {shape, few};
}

bool ScalesWithSms(const GpuRow& row) {
  return row.unit != U::kGemm && (!IsMemory(row) || row.level == Level::kL1);
}

int ExclusiveSharedBytes(const GpuRow& row, int shared_bytes_per_sm) {
  // Two blocks with half of the memory each do not fit on an SM: CUDA reserves 1 KiB or more.
  return ScalesWithSms(row) ? shared_bytes_per_sm / 2 : 0;
}

GpuShape HalfShape(const GpuShape& shape) {
  GpuShape half = shape;
  half.blocks = std::max(1, shape.blocks / 2);
  half.set_bytes = shape.set_bytes / shape.blocks * half.blocks;
  return half;
}

int ElementBytes(GpuElement element) { return RowOf(element).bytes; }

void WriteElement(GpuElement element, double value, std::byte* to) {
  RowOf(element).write(value, to);
}

double ReadElement(GpuElement element, const std::byte* from) { return RowOf(element).read(from); }

GpuElement SumElement(GpuElement element) {
  if (element == GpuElement::kInt8) return GpuElement::kInt32;
  return element == GpuElement::kFp64 ? GpuElement::kFp64 : GpuElement::kFp32;
}

double OperandValue(GpuElement element, GpuOperandKind kind, std::uint64_t index) {
  const std::uint32_t bits = RandomBits(index);
  if (kind == GpuOperandKind::kKnown) return static_cast<double>(bits % 5) - 2;
  if (element == GpuElement::kInt8) return static_cast<double>(bits % 255) - 127;
  const double value = static_cast<double>(bits) / 2147483648.0 - 1;
  if (element != GpuElement::kFp64) return value;
  return value + static_cast<double>(RandomBits(~index)) / 9223372036854775808.0;  // lower bits
}

const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key) {
  return FindIf(kGpuPeaks, [&](const GpuPeak& peak) {
    return compute_capability >= peak.first && compute_capability <= peak.last &&
           std::ranges::count(peak.keys, key) > 0;
  });
}

}  // namespace dlroof::gpu_ceilings
