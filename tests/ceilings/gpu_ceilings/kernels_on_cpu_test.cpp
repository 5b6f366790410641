// The GPU's kernels of memory, chains and clocks, compiled for the CPU, against the plain loops
// that check them on a GPU: the right ones leave the same for every launch, and none that is broken
// on purpose does. tests/fakes/gpu_on_cpu/mutants.cmake breaks them.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "ceilings/gpu_ceilings/bench.h"
#include "tests/fakes/gpu_on_cpu/kernels.h"
#include "tests/fakes/reason.h"
#include "tests/paths.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr int kSms[] = {1, 16, 132};

fakes::KernelsOnCpu Open(const std::filesystem::path& module) {
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  const auto entry = reinterpret_cast<fakes::KernelsOnCpu (*)()>(dlsym(handle, "GpuKernelsOnCpu"));
  return entry();
}

std::vector<std::filesystem::path> Broken(bool clocks) {
  std::vector<std::filesystem::path> modules;
  for (const auto& file : std::filesystem::directory_iterator(DLROOF_GPU_ON_CPU))
    if (file.path().extension() == ".so" && file.path().stem() != "right" &&
        file.path().stem().string().starts_with("clock-") == clocks)
      modules.push_back(file.path());
  return modules;
}

std::vector<GpuShape> Shapes(const GpuRow& row, int sms) {
  return GpuShapes(row, {sms, 60LL << 20, 140LL << 30}, std::nullopt);
}

// Returns the first difference that a launch of CheckShapes(row, measured) finds.
std::optional<Reason> Difference(const fakes::KernelsOnCpu& kernels, const GpuRow& row,
                                 const GpuShape& measured) {
  for (const auto& shape : CheckShapes(row, measured)) {
    const auto operands = GpuOperands(row, shape, GpuOperandKind::kKnown);
    for (const int iterations : {1, 3}) {
      GpuBytes results(static_cast<std::size_t>(GpuResultBytes(row, shape)));
      EXPECT_TRUE(kernels.run(row.key.c_str(),
                              {shape.blocks, shape.threads, iterations, operands.data(),
                               results.data(), static_cast<std::size_t>(shape.set_bytes)}));
      const auto difference = GpuDifference(row, shape, iterations, results);
      if (difference) return difference;
    }
  }
  return {};
}

std::vector<GpuRow> RowsOnCpu() {
  auto rows = GpuRows(90);
  std::erase_if(rows,
                [](const GpuRow& row) { return !IsMemory(row) && row.unit != GpuUnit::kChain; });
  return rows;
}

TEST(GpuKernelsOnCpu, LeaveWhatAPlainLoopLeaves) {
  const auto kernels = Open(DLROOF_GPU_ON_CPU "/right.so");
  for (const int sms : kSms)
    for (const auto& row : RowsOnCpu())
      for (const auto& shape : Shapes(row, sms)) {
        EXPECT_EQ(fakes::TextOf(Difference(kernels, row, shape)), "")
            << row.key << ' ' << shape.blocks;
        if (row.unit == GpuUnit::kChain) break;  // all of its shapes are checked alike
      }
}

TEST(GpuKernelsOnCpu, EveryShapeFindsEveryBrokenLoop) {
  std::set<std::string> broken;
  for (const auto& module : Broken(false)) {
    const auto kernels = Open(module);
    const std::string name = module.stem();
    const auto key = name.substr(0, name.find('-'));
    broken.insert(key);
    for (const auto& row : GpuRows(90)) {
      if (row.key != key) continue;
      for (const int sms : kSms)
        for (const auto& shape : Shapes(row, sms))
          EXPECT_TRUE(Difference(kernels, row, shape)) << name << " on " << sms << " SMs";
    }
  }
  for (const auto& row : RowsOnCpu())
    EXPECT_TRUE(broken.contains(row.key) || row.key.ends_with("hfma2")) << row.key;
}

struct OfClocks {
  bool stamps = true, holds = true, reads = true;
  bool all() const { return stamps && holds && reads; }
};

bool StampsEachSm(const fakes::KernelsOnCpu& kernels, int sms) {
  std::vector<gpu::SmStamp> stamps(static_cast<std::size_t>(sms) + 1);
  kernels.stamps(stamps.data(), sms, 4 * (sms + 1), sms + 1);  // one SM more than was said
  bool all = stamps.back().nanoseconds == 0;
  for (int sm = 0; sm < sms; ++sm) all = all && stamps[static_cast<std::size_t>(sm)].cycles > 0;
  return all;
}

// The memory begins and ends beside multiples of 16: each whole vector is to be read once.
bool ReadsEachVectorOnce(const fakes::KernelsOnCpu& kernels, int sms) {
  constexpr std::size_t kVectors = 1'000'003;  // several for each of 132 x 8 x 256 threads
  std::vector<std::byte> memory(16 * (kVectors + 1) + 7);
  std::vector<unsigned char> counts(kVectors + 2);
  kernels.read(memory.data() + 8, 16 * (kVectors + 1) - 1, 8 * sms, counts.data());
  return std::ranges::count(counts, 1) == kVectors && counts[kVectors] == 0;
}

// Released at once, and never: 10 ms.
bool HoldsUntilReleased(const fakes::KernelsOnCpu& kernels) {
  int at_once = 2, never = 2;
  return kernels.hold(1, 10'000'000, &at_once) < 1000 && at_once == 0 &&
         kernels.hold(0, 10'000'000, &never) >= 10'000'000 && never == 1;
}

OfClocks Tried(const fakes::KernelsOnCpu& kernels, int sms) {
  return {StampsEachSm(kernels, sms), HoldsUntilReleased(kernels),
          ReadsEachVectorOnce(kernels, sms)};
}

TEST(GpuKernelsOnCpu, ClocksAreReadOnEverySmAndL2IsReadWhole) {
  for (const int sms : kSms) {
    const auto found = Tried(Open(DLROOF_GPU_ON_CPU "/right.so"), sms);
    EXPECT_TRUE(found.stamps && found.holds && found.reads) << sms;
  }
}

TEST(GpuKernelsOnCpu, BrokenClocksAreFound) {
  EXPECT_EQ(Broken(true).size(), 5);
  for (const auto& module : Broken(true))
    for (const int sms : kSms) EXPECT_FALSE(Tried(Open(module), sms).all()) << module << sms;
}

}  // namespace
}  // namespace dlroof::gpu_ceilings
