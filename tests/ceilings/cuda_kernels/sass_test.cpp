// The machine code of the GPU's kernels, on every architecture they are compiled for: the loop that
// is timed holds as many instructions as the row counts, and next to nothing else. Needs cuobjdump
// and nvdisasm, no GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "ceilings/gpu_ceilings/rows.h"
#include "tests/fakes/machine_code.h"

namespace dlroof::cuda_kernels {
namespace {

struct KernelName {
  const char* key;
  int k;                  // of the instruction; 0: any
  const char* template_;  // mangled
  const char* argument;
  int in_loop;  // 0: what the row says
};
constexpr KernelName kNames[] = {
    {"fp64.vector.dfma", 0, "11ChainKernel", "4Dfma", 0},
    {"fp32.vector.ffma", 0, "11ChainKernel", "4Ffma", 0},
    {"fp16.vector.hfma2", 0, "11ChainKernel", "5Hfma2", 0},
    {"bf16.vector.hfma2", 0, "11ChainKernel", "9Bf16Hfma2", 0},
    {"int8.vector.dp4a", 0, "11ChainKernel", "4Dp4a", 0},
    {"fp16.matrix.mma", 8, "9MmaKernel", "6Fp16K8", 0},
    {"fp16.matrix.mma", 16, "9MmaKernel", "4Fp16E", 0},
    {"bf16.matrix.mma", 16, "9MmaKernel", "4Bf16E", 0},
    {"tf32.matrix.mma", 8, "9MmaKernel", "4Tf32E", 0},
    {"int8.matrix.mma", 16, "9MmaKernel", "7Int8K16", 0},
    {"int8.matrix.mma", 32, "9MmaKernel", "4Int8E", 0},
    {"fp64.matrix.mma", 4, "9MmaKernel", "6Fp64K4", 0},
    {"fp64.matrix.mma", 16, "9MmaKernel", "7Fp64K16", 0},
    {"fp8.matrix.mma", 32, "9MmaKernel", "3Fp8E", 0},
    {"fp16.matrix.wgmma", 16, "11WgmmaKernel", "4Fp16E", 0},
    {"bf16.matrix.wgmma", 16, "11WgmmaKernel", "4Bf16E", 0},
    {"tf32.matrix.wgmma", 8, "11WgmmaKernel", "4Tf32E", 0},
    {"int8.matrix.wgmma", 32, "11WgmmaKernel", "4Int8E", 0},
    {"fp8.matrix.wgmma", 32, "11WgmmaKernel", "3Fp8E", 0},
    {"dram.load.v16", 0, "10LoadKernel", "LoadPastL1", gpu_ceilings::kLoadsTogether},
    {"l2.load.cg16", 0, "10LoadKernel", "LoadFromL2", gpu_ceilings::kLoadsTogether},
    {"dram.store.v16", 0, "11StoreKernel", "", gpu_ceilings::kStoresTogether},
    {"dram.copy.v16", 0, "10CopyKernel", "", gpu_ceilings::kCopiesTogether},
    {"dram.triad.v16", 0, "11TriadKernel", "", gpu_ceilings::kTriadsTogether},
    {"l1.load.ca16", 0, "8L1Kernel", "", gpu_ceilings::kL1VectorsPerThread},
    {"l1.shared.v16", 0, "12SharedKernel", "", gpu_ceilings::kL1VectorsPerThread},
};

std::vector<std::string> Objects() {
  std::vector<std::string> objects;
  std::ifstream list(DLROOF_GPU_OBJECTS);
  for (std::string line; std::getline(list, line);)
    if (line.find("ceilings/cuda_kernels/") != std::string::npos) objects.push_back(line);
  return objects;
}

std::string Dumped(const std::string& what, const std::string& object) {
  const std::string program = DLROOF_CUOBJDUMP;
  return fakes::OutputOf("PATH=\"" + program.substr(0, program.rfind('/')) + ":$PATH\" \"" +
                         program + "\" " + what + " \"" + object + "\" 2>/dev/null");
}

// The row that the function is the kernel of; false where its architecture has none.
bool RowOf(const fakes::SassFunction& function, const KernelName& name,
           gpu_ceilings::GpuRow& found) {
  if (function.name.find(name.template_) == std::string::npos ||
      function.name.find(name.argument) == std::string::npos)
    return false;
  for (const auto& row : gpu_ceilings::GpuRows(function.architecture))
    if (row.key == name.key && (name.k == 0 || row.instruction.k == name.k)) {
      found = row;
      return true;
    }
  return false;
}

void CheckLoop(const fakes::SassFunction& function, const KernelName& name,
               const gpu_ceilings::GpuRow& row) {
  const auto loop = fakes::LoopWith(function, row.sass);
  const auto opcode = row.sass.substr(0, row.sass.find('.'));
  const int wanted =
      name.in_loop > 0 ? name.in_loop : row.instruction.chains * row.instruction.unroll;
  const auto found = loop.find(opcode);
  const std::string where = function.name + " for sm_" + std::to_string(function.architecture);
  ASSERT_NE(found, loop.end()) << where << " has no loop with " << opcode;
  EXPECT_EQ(found->second, wanted) << where;
  EXPECT_FALSE(loop.contains("LDL") || loop.contains("STL")) << where << " spills registers";
  int all = 0;
  for (const auto& [each, count] : loop) all += count;
  // Chains run at an instruction per cycle: what is beside them would be seen.
  if (row.unit == gpu_ceilings::GpuUnit::kChain) {
    EXPECT_LE(all, wanted + 8) << where;
  }
}

class GpuSass : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(DLROOF_CUOBJDUMP).empty()) GTEST_SKIP() << "cuobjdump was not found";
    if (Dumped("-sass", Objects().at(0)).find("EXIT") == std::string::npos)
      GTEST_SKIP() << "cuobjdump prints no code (is nvdisasm beside it?)";
  }
};

TEST_F(GpuSass, LoopsHoldWhatTheirRowsCount) {
  std::map<std::string, int> seen;
  for (const auto& object : Objects())
    for (const auto& function : fakes::ParseSass(Dumped("-sass", object)))
      for (const auto& name : kNames) {
        gpu_ceilings::GpuRow row;
        if (!RowOf(function, name, row)) continue;
        ++seen[name.key];
        CheckLoop(function, name, row);
      }
  for (const auto& name : kNames) EXPECT_GT(seen[name.key], 0) << name.key << " is in no object";
}

TEST_F(GpuSass, RegistersAllowTheLaunchesThatAreTried) {
  for (const auto& object : Objects()) {
    const auto registers = fakes::ParseRegisters(Dumped("-res-usage", object));
    for (const auto& [function, count] : registers)
      for (const auto& name : kNames)
        for (const int capability : {75, 80, 86, 89, 90, 100, 120}) {
          gpu_ceilings::GpuRow row;
          if (!RowOf({function, capability, {}}, name, row) ||
              row.unit == gpu_ceilings::GpuUnit::kGemm)
            continue;
          for (const auto& shape :
               gpu_ceilings::GpuShapes(row, {4, 8 << 20, 12LL << 30}, std::nullopt))
            EXPECT_LE(count * shape.threads, 65536)
                << function << " with " << count << " registers";
        }
  }
}

}  // namespace
}  // namespace dlroof::cuda_kernels
