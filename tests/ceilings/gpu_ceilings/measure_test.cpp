#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "ceilings/gpu_ceilings/bench.h"
#include "reporters/document/tables.h"
#include "tests/fakes/fake_gpu_bench.h"
#include "tests/fakes/gpu_on_cpu/kernels.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"
#include "tests/paths.h"

namespace dlroof::gpu_ceilings {
namespace {

using testing::HasSubstr, testing::StartsWith;

machine::Machine Measured(fakes::FakeGpuBench& bench, const GpuMeasureOptions& options) {
  return MeasureGpuOn(bench, options, [&] { return bench.Now(); });
}

machine::Machine Quickly(fakes::FakeGpuBench& bench) {
  bench.gemms = false;
  return Measured(bench, {.quick = true});
}

const machine::CeilingSet& SetOf(const machine::Machine& machine) {
  return machine.by_threads.at(1);
}

template <class Rows>
void ExpectValidated(const Rows& rows) {
  for (const auto& [key, ceiling] : rows)
    EXPECT_TRUE(ceiling.IsValidated()) << ceiling.how << ": " << ceiling.ReasonText();
}

struct GpuOfBench : testing::Test {
  fakes::FakeGpuBench bench;
};

TEST_F(GpuOfBench, ValidatesEveryRowOfASoundGpuAndFindsItsRates) {
  const auto machine = Measured(bench, {.quick = true});
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.name, "NVIDIA Fake 100");
  const auto& set = SetOf(machine);
  ExpectValidated(set.flops);
  ExpectValidated(set.mixes);
  EXPECT_EQ(set.bytes.size(), 3U);
  ExpectValidated(set.bytes);
  const auto& fp32 = set.flops.at("fp32.vector.ffma");
  // 4 SMs x 1 GHz x 0.97 x 256 flop per cycle; a repetition of 4 ms holds a launch of 2 us.
  EXPECT_NEAR(fp32.per_second, 993.28e9, 1e9);
  EXPECT_NEAR(*fp32.validation.per_cycle, 0.97 * 256, 0.3);
  EXPECT_EQ(fp32.validation.per_cycle_expected, 256);
  EXPECT_NEAR(*fp32.validation.scaling, 1, 0.005);
  // 4 x 1 GHz x 120 byte
  EXPECT_NEAR(set.bytes.at(Level::kL1).per_second, 480e9, 0.5e9);
  EXPECT_NEAR(set.bytes.at(Level::kL2).per_second, 250e9, 0.5e9);
  EXPECT_NEAR(set.bytes.at(Level::kDram).per_second, 98.304e9, 0.5e9);
  EXPECT_NEAR(*set.launch_seconds, 2.5e-6, 1e-12);
  EXPECT_NEAR(set.overheads.at("graph-node"), 2.5e-6, 1e-12);
  fakes::ExpectHas(fakes::Written(document::CeilingsDocument({machine})),
                   {"ceilings of NVIDIA Fake 100\n", "\n  bf16.matrix ", "\n    wgmma ",
                    "\n    cublaslt ", "\n  L1   ", "\n  L2   ", "\n  DRAM ", "\n  graph-node "});
}

TEST_F(GpuOfBench, TheFastestContenderIsTheRoofAndSaysWhichItIs) {
  const auto first = Measured(bench, {.quick = true});
  EXPECT_THAT(SetOf(first).flops.at("bf16.matrix").how,
              StartsWith("bf16.matrix.wgmma, the best of 3 rows: wgmma m64n256, fp32"));
  EXPECT_EQ(SetOf(first).flops.at("bf16.matrix").per_second,
            SetOf(first).flops.at("bf16.matrix.wgmma").per_second);
  bench.speed["bf16.matrix.wgmma"] = 0.5;
  const auto second = Measured(bench, {.quick = true});
  EXPECT_THAT(SetOf(second).flops.at("bf16.matrix").how,
              StartsWith("bf16.matrix.cublaslt, the best of 3 rows: cublasLt GEMM"));
}

// Faults in several rows: each is not validated for its own reason, and a wrong result is no
// contender.
TEST_F(GpuOfBench, AFaultLeavesItsRowNotValidated) {
  bench.dead_loop = "fp32.vector.ffma";
  bench.speed = {{"fp16.vector.hfma2", 2}, {"int8.vector.dp4a", 0.9}};
  bench.idle_sms = "fp64.vector.dfma";
  bench.wrong_result = "bf16.matrix.wgmma";
  const auto machine = Quickly(bench);
  const auto& flops = SetOf(machine).flops;
  const std::pair<const char*, const char*> reasons[] = {
      {"fp32.vector.ffma", "times the time"},
      {"fp32.vector", "times the time"},
      {"fp16.vector.hfma2", "but an SM can do 512: part of the work was not done"},
      {"int8.vector.dp4a", "this kernel reaches 95 % of 512"},
      {"fp64.vector.dfma", "some SMs have none"},
      {"bf16.matrix.wgmma", "the result is wrong: byte 0 of"}};
  for (const auto& [row, text] : reasons) {
    EXPECT_FALSE(flops.at(row).IsValidated()) << row;
    EXPECT_THAT(flops.at(row).ReasonText(), HasSubstr(text)) << row;
  }
  EXPECT_NEAR(*flops.at("fp64.vector.dfma").validation.scaling, 0.5, 0.01);
  EXPECT_THAT(flops.at("bf16.matrix").how, StartsWith("bf16.matrix.mma, the best of 1"));
  EXPECT_TRUE(flops.at("bf16.matrix").IsValidated());
}

TEST_F(GpuOfBench, AWrongSumOfLoadsIsNoContender) {
  bench.wrong_result = "dram.load.v16";
  const auto machine = Quickly(bench);
  EXPECT_THAT(SetOf(machine).mixes.at("dram.load.v16").ReasonText(),
              HasSubstr("the sum of the bytes read"));
  EXPECT_THAT(SetOf(machine).bytes.at(Level::kDram).how, testing::Not(StartsWith("load")));
}

TEST_F(GpuOfBench, ASetThatFitsL2IsNotDramAndALevelThatIsNotFasterThanTheNextIsNotValidated) {
  bench.free_bytes = 13 << 20;  // a set of 6 MiB beside 8 MiB of L2
  const auto dram = SetOf(Quickly(bench)).bytes.at(Level::kDram);
  EXPECT_FALSE(dram.IsValidated());
  fakes::ExpectHas(dram.ReasonText(), {"times the L2", "faster than the memory's pins"});
  fakes::FakeGpuBench other;
  other.l2_bytes_per_second = other.dram_bytes_per_second;
  const auto machine = Quickly(other);
  EXPECT_THAT(SetOf(machine).bytes.at(Level::kL2).ReasonText(), HasSubstr("not faster than DRAM"));
  EXPECT_TRUE(SetOf(machine).bytes.at(Level::kDram).IsValidated());
}

TEST_F(GpuOfBench, ThrottledRepetitionsAreNotMixedIn) {
  bench.throttle = [](int) { return std::uint64_t{0x40}; };
  const auto machine = Quickly(bench);
  for (const auto& [key, ceiling] : SetOf(machine).flops) {
    EXPECT_FALSE(ceiling.IsValidated()) << key;
    EXPECT_THAT(ceiling.ReasonText(), HasSubstr("the driver reports a hardware thermal slowdown"))
        << key;
  }
}

TEST_F(GpuOfBench, SomeThrottledRepetitionsOnlyCostTime) {
  bench.throttle = [](int run) { return std::uint64_t{run % 3 == 0 ? 0x80U : 0U}; };
  bench.clock_factor = [](int run) { return run % 3 == 0 ? 0.5 : 1.0; };
  const auto ceiling = SetOf(Quickly(bench)).flops.at("fp32.vector.ffma");
  EXPECT_TRUE(ceiling.IsValidated()) << ceiling.ReasonText();
  EXPECT_LT(*ceiling.validation.clean, 0.8);
  EXPECT_NEAR(ceiling.per_second, 993.28e9, 1e9);
}

TEST_F(GpuOfBench, AClockBelow75PercentDisturbsWhatIsNotJudgedInItsCycles) {
  bench.default_clock_hz = 1.5e9;  // and runs at 1 GHz
  const auto machine = Quickly(bench);
  EXPECT_THAT(SetOf(machine).bytes.at(Level::kDram).ReasonText(),
              HasSubstr("the SMs ran at 1000 MHz, below 75 % of their default 1500 MHz"));
  const auto& fp32 = SetOf(machine).flops.at("fp32.vector.ffma");
  EXPECT_TRUE(fp32.IsValidated()) << fp32.ReasonText();
  EXPECT_NEAR(*fp32.validation.per_cycle, 0.97 * 256, 0.3);
  EXPECT_TRUE(fp32.validation.scaling);
  EXPECT_THAT(fp32.how, HasSubstr("; at 1000 MHz, below 75 % of the default 1500 MHz"));
}

// Measures in full; while the hottest row (fp8 wgmma) is watched for 10 s, its rate is multiplied
// by `factor` from the 5th second on.
machine::Machine Watched(double factor) {
  fakes::FakeGpuBench bench;
  bench.gemms = false;
  std::optional<double> begin;
  bench.heat = [&](double seconds) { return begin && seconds > *begin + 5 ? factor : 1; };
  GpuMeasureOptions options;
  options.progress = [&](const std::string& row) {
    if (row.ends_with(" for 10 s")) begin = bench.Now();
  };
  return Measured(bench, options);
}

TEST(MeasureGpu, WhatFallsWithHeatHasBurstAndSustainedAndWhatRisesWasTooLow) {
  const auto machine = Watched(0.8);
  const auto& roof = SetOf(machine).flops.at("fp8.matrix");
  ASSERT_TRUE(roof.sustained_per_second);
  EXPECT_NEAR(*roof.sustained_per_second / roof.per_second, 0.8, 0.001);
  EXPECT_THAT(SetOf(machine).sustained.at("fp8.matrix.wgmma"), HasSubstr("0.800 of the burst"));
  EXPECT_TRUE(roof.IsValidated()) << roof.ReasonText();
  const auto steady = Watched(1);
  EXPECT_FALSE(SetOf(steady).flops.at("fp8.matrix").sustained_per_second);
  EXPECT_THAT(SetOf(steady).sustained.at("fp8.matrix.wgmma"), HasSubstr("1.000 of the burst"));
  EXPECT_THAT(SetOf(Watched(1.1)).flops.at("fp8.matrix").ReasonText(),
              HasSubstr("this roof is too low"));
}

TEST_F(GpuOfBench, WhatCannotRunIsAbsentWithItsReason) {
  bench.unsupported["fp8.matrix.cublaslt"] = "cublasLt has no algorithm";
  bench.broken["fp64.matrix.mma"] = "an illegal instruction";
  const auto machine = Quickly(bench);
  EXPECT_EQ(SetOf(machine).absent.at("fp8.matrix.cublaslt"), "cublasLt has no algorithm");
  EXPECT_EQ(SetOf(machine).absent.at("fp64.matrix.mma"), "failed: an illegal instruction");
  EXPECT_FALSE(SetOf(machine).flops.contains("fp64.matrix.mma"));
  EXPECT_TRUE(SetOf(machine).flops.at("fp32.vector").IsValidated());
}

TEST_F(GpuOfBench, AGpuOnWhichNothingRunsIsAnError) {
  for (const auto& row : GpuRows(90)) bench.broken[row.key] = "no kernel image";
  fakes::ExpectHas(fakes::RefusalOf<std::runtime_error>([&] { Quickly(bench); }),
                   {"no ceiling of NVIDIA Fake 100 could be measured", "no kernel image"});
}

TEST_F(GpuOfBench, ALaunchCostThatDoesNotGrowWithLaunchesIsAbsent) {
  bench.launch_time = [](std::int64_t) { return 1e-3; };
  const auto machine = Quickly(bench);
  EXPECT_FALSE(SetOf(machine).launch_seconds);
  EXPECT_THAT(SetOf(machine).absent.at("launch"), HasSubstr("times the time"));
}

// Asked to stop in the third row: the rest is absent with its reason, and nothing is watched.
TEST_F(GpuOfBench, EndedEarlyItKeepsWhatItHas) {
  int rows = 0;
  GpuMeasureOptions options;
  options.progress = [&](const std::string&) { ++rows; };
  options.stopped = [&] { return rows >= 3; };
  const auto machine = Measured(bench, options);
  const auto& set = SetOf(machine);
  EXPECT_EQ(rows, 3);
  EXPECT_TRUE(set.flops.contains("fp64.vector") && set.flops.contains("fp32.vector"));
  EXPECT_EQ(set.absent.at("dram.load.v16"), "not measured: the measurement was ended early");
  EXPECT_TRUE(set.sustained.empty());
  EXPECT_THAT(machine.facts.at("ended_early"), StartsWith("0 of "));
  EXPECT_EQ(machine::MachineFromJson(machine::ToJson(machine), "x"), machine);
}

TEST_F(GpuOfBench, TheMachineFileReadsBackTheSameWithEveryTriedSetOnce) {
  const auto machine = Quickly(bench);
  EXPECT_EQ(machine::MachineFromJson(machine::ToJson(machine), "m.json"), machine);
  // five sets: of DRAM 2 GiB; of L2 (8 MiB) 1, 2 and 4 MiB; of L1 one of 4 x 16 KiB
  EXPECT_EQ(SetOf(machine).sweep.size(), 5U);
}

// The GPU's kernels of memory, chains and clocks, compiled for the CPU, against the plain loops
// that check them on a GPU: the right ones leave the same for every launch, and none that is broken
// on purpose does. tests/fakes/gpu_on_cpu/mutants.cmake breaks them.

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

TEST(GpuKernelsOnCpu, ClocksAreReadOnEverySmAndL2IsReadWholeAndBrokenClocksAreFound) {
  EXPECT_EQ(Broken(true).size(), 5);
  for (const int sms : kSms) {
    const auto found = Tried(Open(DLROOF_GPU_ON_CPU "/right.so"), sms);
    EXPECT_TRUE(found.stamps && found.holds && found.reads) << sms;
    for (const auto& module : Broken(true))
      EXPECT_FALSE(Tried(Open(module), sms).all()) << module << sms;
  }
}

}  // namespace
}  // namespace dlroof::gpu_ceilings
