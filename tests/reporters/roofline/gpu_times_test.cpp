// Placement of a GPU's times: of queued calls, of calls with their launch, in graphs, of kernels.
#include <gmock/gmock.h>

#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "tests/fakes/placed_files.h"

namespace dlroof::roofline {
namespace {

using testing::Contains, testing::HasSubstr, testing::Not;

// The paper found the same: LSTMs of this size are bound by their launches, not by any roof.
TEST(GpuTimes, LstmsWithoutCountersAreBoundByOverheadOnAnH200) {
  const auto run = fakes::ReadPlaced("h200_lstm_uncounted.json.gz");
  ASSERT_EQ(run.places.size(), 96);
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    SCOPED_TRACE(run.file.records[i].name);
    const auto& placement = run.places[i].placement;
    ASSERT_TRUE(placement.time.has_value());
    EXPECT_EQ(placement.time->bound, Bound::kOverhead);
    EXPECT_THAT(placement.advice, Not(HasSubstr("blocking")));
    EXPECT_THAT(placement.advice, HasSubstr("in a CUDA graph"));
    ASSERT_EQ(placement.classic.size(), 1);
    EXPECT_EQ(placement.classic[0].level, Level::kL2) << "its bytes come from L2";
  }
}

// 1e9 flop at 1e12 flop/s, 1e7 byte at 1e11 byte/s: 1 ms, 0.1 ms.
machine::Machine Gpu() {
  machine::Machine gpu{.device = "gpu", .cache_bytes = {{Level::kL2, 2e7}}};
  auto& all = gpu.by_threads[1];
  all.flops["fp32.vector"] = {.per_second = 1e12,
                              .sustained_per_second = 8e11,
                              .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kDram] = {.per_second = 1e11, .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kL2] = {.per_second = 4e11, .status = machine::CeilingStatus::kValidated};
  all.launch_seconds = 4e-6;
  all.overheads = {{machine::kQueuedOverhead, 2e-6}, {machine::kGraphNodeOverhead, 1e-6}};
  return gpu;
}

record::Record Timed(const char* timed) {
  record::Record record{.name = "A/gpu/b/c/f32/e", .device = "gpu", .type = "f32", .threads = 1};
  record.timed = timed;
  record.cache = "warm";
  record.work[Provenance::kModelled] = {.flops = {{"fp32.vector", 1e9}},
                                        .bytes = {{Level::kDram, 1e7}}};
  record.work[Provenance::kMeasured].launches = 10;
  for (int i = 0; i < 9; ++i) {
    auto sample = std::make_shared<record::GpuSample>();
    record.repetitions.push_back({.seconds = 2e-3, .iterations = 1, .gpu = sample});
  }
  return record;
}

std::optional<double> Overhead(const record::Record& record) {
  const auto gpu = Gpu();
  return Place(record, &gpu).time.value().overhead_seconds;
}

TEST(GpuTimes, ALaunchCostsWhatItCostsInThatKindOfTime) {
  EXPECT_DOUBLE_EQ(Overhead(Timed(record::timed::kCall)).value(), 40e-6);
  EXPECT_DOUBLE_EQ(Overhead(Timed(record::timed::kDevice)).value(), 20e-6);
  EXPECT_DOUBLE_EQ(Overhead(Timed(record::timed::kGraph)).value(), 10e-6);
  EXPECT_FALSE(Overhead(Timed(record::timed::kKernels)));
}

// 2 ms and 10 gaps of at most 1 us.
TEST(GpuTimes, ATimeThatIsNotThatOfItsKernelsIsNamed) {
  const auto gpu = Gpu();
  for (const auto& [kernels, apart] :
       {std::pair(1.85e-3, true), {1.95e-3, false}, {2.05e-3, false}, {2.1e-3, true}}) {
    auto record = Timed(record::timed::kGraph);
    record.kernels = {{"gemm", 10, kernels, {}}};
    Placement placement;
    AddFindings(record, *record::TimeOf(record.repetitions), gpu.by_threads.at(1), {}, placement);
    EXPECT_EQ(std::ranges::count_if(
                  placement.asides,
                  [](const auto& aside) { return aside.find("CUPTI traced") != aside.npos; }),
              apart ? 1 : 0)
        << kernels;
  }
}

TEST(GpuTimes, LaunchesThatOnlyAnIdleGpuWaitsForAreInTheAdvice) {
  record::RunFile file;
  file.machines = {Gpu()};
  for (const double call : {2.5e-3, 4e-3}) {
    file.records.push_back(Timed(record::timed::kGraph));
    for (auto& repetition : file.records.back().repetitions)
      repetition.gpu = std::make_shared<record::GpuSample>(
          record::GpuSample{.call_seconds = call, .graph_calls = 50});
  }
  const auto run = PlaceRun(file);
  EXPECT_THAT(run.places[0].placement.advice, Not(HasSubstr("CUDA graph")));
  EXPECT_THAT(run.places[1].placement.advice,
              HasSubstr("launched on an idle GPU it takes 4.00 ms, in a CUDA graph 2.00 ms, 2.0x "
                        "less: capture its calls in a CUDA graph"));
}

// The stored run's times in graphs in place of its queued ones.
TEST(GpuTimes, CallsInGraphsAreNearerToTheirRoofsAndNotBoundByLaunches) {
  auto run = fakes::ReadPlaced("../../baselines/stored/h200/2026-11-26-conv2d.json");
  ASSERT_EQ(run.places.size(), 78);
  int launch_bound = 0;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    auto record = run.file.records[i];
    SCOPED_TRACE(record.name);
    const auto queued = run.places[i].placement;
    record.timed = record::timed::kGraph;
    for (auto& repetition : record.repetitions)
      repetition.seconds = repetition.gpu->graph_seconds.value();
    const auto placed = Place(record, record::MachineFor(run.file, record));
    // Two calls of 14 ms take as long in both.
    EXPECT_LT(*LeastTimesOverRoof(*placed.time), 1.001 * *LeastTimesOverRoof(*queued.time));
    EXPECT_GE(LeastTimesOverRoof(*placed.time), 1);
    EXPECT_NE(placed.time->bound, Bound::kOverhead);
    launch_bound += queued.time->bound == Bound::kOverhead ? 1 : 0;
  }
  EXPECT_EQ(launch_bound, 3);
}

TEST(GpuTimes, UnknownLaunchesCostWhatAGraphSaves) {
  auto record = Timed(record::timed::kCall);
  record.work.erase(Provenance::kMeasured);
  EXPECT_FALSE(Overhead(record));
  for (auto& repetition : record.repetitions) {
    auto sample = *repetition.gpu;
    sample.graph_seconds = 1.4e-3;
    repetition.gpu = std::make_shared<record::GpuSample>(sample);
  }
  EXPECT_DOUBLE_EQ(Overhead(record).value(), 6e-4);
  record.timed = record::timed::kDevice;  // in which the host has no part
  EXPECT_FALSE(Overhead(record));
}

TEST(GpuTimes, WarmBytesThatFitL2AreNotOnTheDramRoof) {
  const auto gpu = Gpu();
  auto record = Timed(record::timed::kDevice);
  const auto warm = Place(record, &gpu);
  ASSERT_EQ(warm.classic.size(), 1);
  EXPECT_EQ(warm.classic[0].level, Level::kL2);
  EXPECT_DOUBLE_EQ(warm.time->memory_seconds.at(Level::kL2), 1e7 / 4e11);
  EXPECT_FALSE(warm.time->memory_seconds.contains(Level::kDram));
  EXPECT_TRUE(Place(record, &gpu, {.levels = {Level::kDram}}).classic.empty());
  EXPECT_THAT(warm.asides, Contains(HasSubstr("fit L2, which is warm")));
  record.cache = "cold";
  EXPECT_EQ(Place(record, &gpu).classic.at(0).level, Level::kDram);
  record.cache = "warm";
  record.work[Provenance::kModelled].bytes[Level::kDram] = 3e7;  // more than L2
  EXPECT_EQ(Place(record, &gpu).classic.at(0).level, Level::kDram);
  record.work[Provenance::kModelled].bytes[Level::kDram] = 1e7;
  record.work[Provenance::kMeasured].bytes[Level::kDram] = 2e6;  // counted
  EXPECT_EQ(Place(record, &gpu).classic.at(0).bytes_from, Provenance::kMeasured);
}

TEST(GpuTimes, ASteadyCallIsJudgedBySustainedRoofs) {
  const auto gpu = Gpu();
  auto record = Timed(record::timed::kDevice);
  EXPECT_DOUBLE_EQ(Place(record, &gpu).time->compute_seconds, 1e-3);
  for (auto& repetition : record.repetitions) {
    auto sample = *repetition.gpu;
    sample.steady_seconds = 3.5;
    repetition.gpu = std::make_shared<record::GpuSample>(sample);
  }
  EXPECT_DOUBLE_EQ(Place(record, &gpu).time->compute_seconds, 1.25e-3);
}

}  // namespace
}  // namespace dlroof::roofline
