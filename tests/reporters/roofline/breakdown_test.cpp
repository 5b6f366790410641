#include "reporters/roofline/breakdown.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "reporters/document/tables.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/gpu_samples.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"

namespace dlroof::roofline {
namespace {

using enum ComponentKind;
using testing::HasSubstr, testing::Not;

// Returns all components with their times [s], e.g. "roof 30, functions 4".
std::string Split(const Breakdown& breakdown) {
  std::string text;
  for (const auto& component : breakdown.components)
    text +=
        fmt::format("{}{} {:g}", text.empty() ? "" : ", ", Key(component.kind), component.seconds);
  return text;
}

double Sum(const Breakdown& breakdown) {
  double sum = 0;
  for (const auto& component : breakdown.components) sum += component.seconds;
  return sum;
}

// 100 s on two threads, 60 s of it in ten regions, in which the slowest threads work 50 s and both
// together 80 s.
BreakdownFacts TwoThreads() {
  return {.seconds = 100,
          .roof_seconds = 30,
          .roof = "arithmetic",
          .call_seconds = 4,
          .parallel = {.mean = {100, {10, 60, 50, 80}, 3},
                       .threads = 2,
                       .calls = 7,
                       .parts = {.functions = 8},
                       .source = "a test"}};
}

TEST(Breakdown, SplitsTheTimeByTheParallelRegions) {
  const auto breakdown = MakeBreakdown(TwoThreads());
  // One of two threads works for the 40 s outside of regions without the 4 s of calls; in regions
  // the slowest threads work 50 s, the mean thread 40 s.
  EXPECT_EQ(Split(breakdown),
            "roof 30, functions 4, unexplained 24, imbalance 7, fork_join 10, serial 18, call 4, "
            "stolen 3");
  EXPECT_EQ(breakdown.Largest()->kind, kUnexplained);
  ASSERT_TRUE(breakdown.efficiencies);
  EXPECT_DOUBLE_EQ(breakdown.efficiencies->parallel, 0.58);
}

// The unexplained rest is a difference from the roof's time.
TEST(Breakdown, GivesTheRestTheRoofsProvenanceAndScalesThePassesToTheTime) {
  auto facts = TwoThreads();
  for (const auto from : {Provenance::kMeasured, Provenance::kModelled}) {
    facts.roof_from = from;
    const auto breakdown = MakeBreakdown(facts);
    EXPECT_EQ(breakdown.Find(kRoof)->from, from);
    EXPECT_EQ(breakdown.Find(kUnexplained)->from, from);
    EXPECT_EQ(breakdown.Find(kForkJoin)->from, Provenance::kMeasured);
  }
  auto passes = TwoThreads();
  passes.parallel.mean.run_delay_seconds.reset();
  passes.seconds = 50;
  passes.roof_seconds = 15;
  passes.call_seconds = 2;
  auto breakdown = MakeBreakdown(passes);
  EXPECT_EQ(Split(breakdown),
            "roof 15, functions 4, unexplained 10, imbalance 5, fork_join 5, serial 9, call 2");
  // The call takes 90 s. The passes took 100 s, because threads waited 12 s in regions: 10 s of
  // these are left out, 2 s belong to the call. The slowest threads worked 50 s and the mean
  // thread 37.5 s, which leaves 0.5 s of imbalance.
  passes = TwoThreads();
  passes.seconds = 90;
  passes.parallel.mean = {100, {10, 60, 50, 75}, 12};
  breakdown = MakeBreakdown(passes);
  EXPECT_EQ(Split(breakdown),
            "roof 30, functions 4, unexplained 21.5, imbalance 0.5, fork_join 10, serial 18, call "
            "4, stolen 2");
}

TEST(Breakdown, OfOneThreadHasNoWaitsAndNeverExceedsTheTime) {
  BreakdownFacts facts{.seconds = 10, .roof_seconds = 6, .roof = "DRAM", .call_seconds = 1};
  facts.parallel = {.mean = {.seconds = 10}, .threads = 1, .calls = 1};
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(Split(breakdown), "roof 6, unexplained 3, call 1");
  EXPECT_FALSE(breakdown.efficiencies);
  // A roof above the busy time takes all of the busy time and no more.
  facts = TwoThreads();
  facts.roof_seconds = 1000;
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 58, imbalance 7, fork_join 10, serial 18, call 4, stolen 3");
}

TEST(Breakdown, OfAnyFactsIsASumOfPositiveComponentsAndItsEfficienciesMultiply) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 2);
  for (int i = 0; i < 1000; ++i) {
    BreakdownFacts facts{.seconds = 0.1 + any(random), .roof_seconds = any(random)};
    facts.call_seconds = any(random);
    facts.parallel = {
        .mean = {0.1 + any(random), {3, any(random), any(random), any(random)}, any(random)},
        .threads = 1 + i % 8,
        .calls = 1,
        .parts = {any(random), any(random)},
        .single_thread_seconds = any(random),
        .near_seconds = any(random),
        .far_seconds = any(random),
        .executed_over_useful = 1 + any(random),
        .instructions = InstructionCount{.all = any(random), .per_second = 1}};
    facts.arithmetic = i % 3 != 0;
    facts.single_thread_roof_seconds = facts.single_thread_compute_seconds = any(random);
    facts.levels = {{"L2", any(random), Provenance::kModelled}};
    const auto breakdown = MakeBreakdown(facts);
    EXPECT_NEAR(Sum(breakdown), facts.seconds, 1e-4 * facts.seconds);
    for (const auto& one : breakdown.components) EXPECT_GT(one.seconds, 0);
    if (!breakdown.efficiencies) continue;
    const auto& found = *breakdown.efficiencies;
    EXPECT_NEAR(found.load_balance * found.serialisation * found.transfer, found.parallel, 1e-9);
  }
}

// 100 s in one region, with 40 s of busy time per thread and 10 s at the roof.
BreakdownFacts TwoBusyThreads() {
  return {.seconds = 100,
          .roof_seconds = 10,
          .roof = "arithmetic",
          .call_seconds = 0,
          .single_thread_roof_seconds = 20,
          .single_thread_compute_seconds = 20,
          .parallel = {.mean = {100, {1, 100, 40, 80}, {}}, .threads = 2, .calls = 1}};
}

struct BusyThreads : testing::Test {
  BreakdownFacts facts = TwoBusyThreads();
};

// Per thread: functions 6 / 2, products (30 - 20 of the roof) / 2, sharing (80 - 62) / 2.
TEST_F(BusyThreads, SplitsTheBusyTimeByTheComponentsMeasuredSeparatelyAndCountsFixedCodePerThread) {
  facts.parallel.parts = {.functions = 6, .products = 30};
  facts.parallel.single_thread_seconds = 62;
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(Split(breakdown),
            "roof 10, functions 3, products 5, sharing 9, unexplained 13, fork_join 60");
  EXPECT_DOUBLE_EQ(breakdown.efficiencies->computation.value(), 62 / 80.0);
  // Both threads run the fixed code; the second thread's is not counted as sharing.
  facts = TwoBusyThreads();
  facts.call_seconds = 1;
  facts.parallel.single_thread_seconds = 63;
  facts.parallel.smallest_seconds = 6;
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, fixed 5, sharing 6.5, unexplained 18.5, fork_join 60");
}

// A roof that gets slower itself (a bandwidth that two threads share) explains a part of the
// growth.
TEST_F(BusyThreads, SharingExcludesTheGrowthOfTheRoof) {
  facts.parallel.single_thread_seconds = 62;
  facts.single_thread_roof_seconds = 10;
  EXPECT_EQ(Split(MakeBreakdown(facts)), "roof 10, sharing 4, unexplained 26, fork_join 60");
  facts.parallel.single_thread_seconds = 90;  // two threads have two caches
  EXPECT_EQ(MakeBreakdown(facts).Find(kSharing), nullptr);
}

// 120 instructions take at least 60 s; the roof's arithmetic on one thread takes 20 s of these.
TEST_F(BusyThreads, InstructionsTakeTheirIssueTime) {
  facts.parallel.instructions = {.all = 120, .per_second = 2};
  EXPECT_EQ(Split(MakeBreakdown(facts)), "roof 10, instructions 20, unexplained 10, fork_join 60");
  EXPECT_EQ(MakeBreakdown(facts).Find(kInstructions)->from, Provenance::kMeasured);
  facts.parallel.instructions->all = 40;
  EXPECT_EQ(MakeBreakdown(facts).Find(kInstructions), nullptr) << "as fast as the roof";
  facts.parallel.instructions = {.all = 1e9, .per_second = 2};
  EXPECT_EQ(Split(MakeBreakdown(facts)), "roof 10, instructions 30, fork_join 60")
      << "all of the time that is left";
  facts.parallel.instructions->per_second.reset();
  EXPECT_EQ(MakeBreakdown(facts).Find(kInstructions), nullptr) << "no rate is known";
}

// Functions, products and fixed code are components of their own: (60 - 2 - 4 - 25) / 2 are left.
TEST_F(BusyThreads, InstructionsExcludeThoseOfOtherComponents) {
  facts.parallel.instructions = {.all = 120, .smallest = 4, .per_second = 2};
  facts.parallel.parts = {
      .functions = 6, .products = 22, .function_instructions = 8, .product_instructions = 50};
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, functions 3, products 1, instructions 14.5, unexplained 11.5, fork_join 60");
  facts.parallel.parts.function_instructions.reset();
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, functions 3, products 1, instructions 13.5, unexplained 12.5, fork_join 60")
      << "all of an uncounted component's time is subtracted";
}

// The near kernel spends 8 s per thread beyond its multiply-adds, 2.5 s of these on idle lanes.
TEST_F(BusyThreads, InstructionsShareTheNearKernelWithLanes) {
  facts.parallel.near_seconds = 36;
  facts.parallel.far_seconds = 50;
  facts.parallel.executed_over_useful = 1.25;
  facts.parallel.instructions = {.all = 29, .per_second = 1};
  EXPECT_EQ(
      Split(MakeBreakdown(facts)),
      "roof 10, lanes 2.5, instructions 2, kernel 3.5, distance 7, unexplained 15, fork_join 60");
}

TEST_F(BusyThreads, WithModelledLanesAndLevelsHasAModelledRest) {
  facts.roof_from = Provenance::kMeasured;
  facts.parallel.executed_over_useful = 1.25;
  facts.levels = {{"L2", 4, Provenance::kModelled}, {"DRAM", 3, Provenance::kSimulated}};
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(Split(breakdown), "roof 10, lanes 2.5, levels 7, unexplained 20.5, fork_join 60");
  EXPECT_EQ(*breakdown.Find(kLevels),
            (Component{kLevels, 7, Provenance::kModelled,
                       "at most, without overlap: L2 4.00 s, DRAM 3.00 s"}));
  EXPECT_EQ(breakdown.Find(kUnexplained)->from, Provenance::kModelled);
  facts.levels = {{"L2", 400, Provenance::kModelled}};
  EXPECT_EQ(Split(MakeBreakdown(facts)), "roof 10, lanes 2.5, levels 27.5, fork_join 60");
}

// On one thread the multiply-adds take 20 s; with near tensors the kernel takes 36 s.
BreakdownFacts TimedNearAndFar() {
  auto facts = TwoBusyThreads();
  facts.single_thread_compute_seconds = 20;
  facts.parallel.near_seconds = 36;
  facts.parallel.far_seconds = 50;
  return facts;
}

TEST(Breakdown, SplitsTheNearKernelsTimeByModelsAndAMeasuredDistanceReplacesModelledLevels) {
  auto facts = TimedNearAndFar();
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, kernel 8, distance 7, unexplained 15, fork_join 60");
  EXPECT_EQ(MakeBreakdown(facts).Find(kKernel)->from, Provenance::kMeasured);
  facts.parallel.executed_over_useful = 1.25;
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, lanes 2.5, kernel 5.5, distance 7, unexplained 15, fork_join 60");
  facts.parallel.executed_over_useful = 11;
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, lanes 8, distance 7, unexplained 15, fork_join 60")
      << "no more idle lanes than measured";
  facts.parallel.near_seconds = 19;
  EXPECT_EQ(MakeBreakdown(facts).Find(kLanes), nullptr)
      << "the measured kernel leaves no time for idle lanes";
  facts = TimedNearAndFar();
  facts.levels = {{"L2", 4, Provenance::kModelled}};
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(*breakdown.Find(kDistance),
            (Component{kDistance, 7, Provenance::kMeasured,
                       "additional time on tensors whose pages do not repeat; by the bandwidths "
                       "L2 4.00 s"}));
  EXPECT_EQ(breakdown.Find(kLevels), nullptr);
  EXPECT_EQ(breakdown.Find(kUnexplained)->from, Provenance::kModelled) << "as the roof";
  facts.parallel.far_seconds = 30;
  EXPECT_EQ(MakeBreakdown(facts).Find(kDistance), nullptr) << "far tensors were faster";
  facts.parallel.far_seconds.reset();
  EXPECT_EQ(MakeBreakdown(facts).Find(kKernel), nullptr) << "the comparison lacks its far half";
  EXPECT_EQ(MakeBreakdown(facts).Find(kLevels)->seconds, 4);
}

// A memory roof is subtracted first from the distance, then from the near kernel.
TEST(Breakdown, AMemoryRoofReducesTheDistanceFirst) {
  auto facts = TimedNearAndFar();
  facts.arithmetic = false;
  facts.single_thread_roof_seconds = 10;
  EXPECT_EQ(Split(MakeBreakdown(facts)),
            "roof 10, kernel 18, distance 2, unexplained 10, fork_join 60");
  facts.single_thread_roof_seconds = 20;
  EXPECT_EQ(Split(MakeBreakdown(facts)), "roof 10, kernel 15, unexplained 15, fork_join 60");
  facts.single_thread_roof_seconds.reset();
  EXPECT_EQ(MakeBreakdown(facts).Find(kKernel), nullptr)
      << "the roof's single-threaded time is not known";
}

// Products include their idle lanes; a memory roof hides both.
TEST_F(BusyThreads, NeverCountsProductsAndLanesTwice) {
  facts.parallel.executed_over_useful = 1.25;
  facts.parallel.parts.products = 30;
  EXPECT_EQ(MakeBreakdown(facts).Find(kLanes), nullptr);
  facts.arithmetic = false;
  EXPECT_EQ(MakeBreakdown(facts).Find(kProducts), nullptr);
  facts.parallel.parts.products.reset();
  EXPECT_EQ(MakeBreakdown(facts).Find(kLanes), nullptr);
}

TEST_F(BusyThreads, HasIntervalsFromSixPassesOn) {
  for (const double longest : {50, 46, 44, 42, 41})
    facts.parallel.passes.push_back({100, {1, 100, longest, 80}, {}});
  EXPECT_FALSE(MakeBreakdown(facts).Find(kForkJoin)->ci95);
  facts.parallel.passes.push_back({200, {1, 200, 104, 160}, {}});
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(breakdown.Find(kForkJoin)->ci95, std::pair(48.0, 60.0));
  EXPECT_EQ(breakdown.Find(kRoof)->ci95, std::pair(10.0, 10.0));
  EXPECT_EQ(breakdown.noise_seconds, 6);
}

TEST(BreakdownAdvice, NamesTheLargestComponentWithItsNumber) {
  const std::tuple<const char*, RegionSums, ComponentKind, const char*> cases[] = {
      {"forks", {33, 95, 30, 240}, kForkJoin, "33 parallel regions cost 65 %"},
      {"one thread works", {1, 10, 10, 80}, kSerial, "for 75 % of the time"},
      {"a slow thread", {1, 95, 95, 112}, kImbalance, "81 % of the time passes until"},
      {"busy threads", {1, 95, 95, 760}, kUnexplained, "no measurement explains it"}};
  for (const auto& [what, regions, largest, words] : cases) {
    SCOPED_TRACE(what);
    BreakdownFacts facts{.seconds = 100, .roof_seconds = 1, .call_seconds = 4};
    facts.parallel = {.mean = {100, regions, {}}, .threads = 8, .calls = 1};
    const auto breakdown = MakeBreakdown(facts);
    ASSERT_NE(breakdown.Largest(), nullptr);
    EXPECT_EQ(breakdown.Largest()->kind, largest);
    fakes::ExpectHas(BreakdownAdvice(breakdown).value(), {words});
  }
}

// Components below the noise cannot be told apart in another run.
TEST(BarOf, HasOneLineOfAllThatIsInTheNoise) {
  auto breakdown = MakeBreakdown(TwoThreads());
  const auto rows = document::BarOf(breakdown).parts.size();
  breakdown.noise_seconds = 5;
  const auto bar = document::BarOf(breakdown);
  const auto small = std::ranges::count_if(
      breakdown.components, [](const Component& component) { return component.seconds <= 5; });
  ASSERT_GT(breakdown.Find(kRoof)->seconds, 5);
  ASSERT_GT(small, 1);
  EXPECT_EQ(bar.parts.size(), rows - static_cast<std::size_t>(small) + 1);
  EXPECT_EQ(bar.parts.back().label.find("within the noise of 5.00 s: "), 0U);
  breakdown.noise_seconds = 100;
  EXPECT_FALSE(BreakdownAdvice(breakdown));
}

LaunchedKernel Kernel(double seconds, double waves, int launches = 1) {
  return {"kernel", launches, seconds, KernelFacts{.blocks = 1, .waves = waves}};
}

// A call of 100 s in which two kernels run for 80 s: 60 s in 1.5 waves, 20 s in 2 waves.
struct GpuCall {
  BreakdownFacts facts = {.seconds = 100,
                          .roof_seconds = 30,
                          .roof = "arithmetic",
                          .call_seconds = 4,
                          .levels = {{"DRAM", 10, Provenance::kMeasured}}};
  std::vector<LaunchedKernel> kernels = {Kernel(60, 1.5), Kernel(20, 2)};

  std::optional<Breakdown> Made() const { return MakeGpuBreakdown(facts, kernels); }
};

TEST(GpuBreakdown, SplitsTheTimeByItsTracedKernelsOrTheCostOfALaunch) {
  const auto breakdown = GpuCall().Made().value();
  EXPECT_EQ(Split(breakdown), "roof 30, tail 15, levels 10, unexplained 25, launch 8, idle 12");
  EXPECT_EQ(breakdown.starts, 2);
  // Without traced times, what the launches leave is the kernels'.
  GpuCall call;
  call.kernels[1].seconds.reset();
  EXPECT_EQ(Split(*call.Made()), "roof 30, levels 10, unexplained 52, launch 8")
      << "no tail of two unlike kernels";
  call.kernels = {{"one", 2, std::nullopt, KernelFacts{.blocks = 1, .waves = 0.5}}};
  EXPECT_EQ(Split(*call.Made()), "roof 30, tail 46, levels 10, unexplained 6, launch 8");
  call.facts.call_seconds.reset();
  EXPECT_FALSE(call.Made());
  call.kernels.clear();
  EXPECT_FALSE(call.Made());
  // Tracing lengthens short kernels.
  call = {};
  call.facts.seconds = 40;
  call.facts.roof_seconds = 0;
  call.facts.levels.clear();
  EXPECT_EQ(Split(*call.Made()), "tail 7.5, unexplained 32.5");
}

TEST(GpuBreakdown, OfAnyFactsIsASumOfPositiveComponentsAndNamesThePlantedCause) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 2);
  for (int i = 0; i < 1000; ++i) {
    GpuCall call{{.seconds = 0.1 + any(random), .roof_seconds = any(random)}, {}};
    call.facts.call_seconds = any(random);
    call.facts.levels = {{"L2", any(random), Provenance::kModelled}};
    for (int kernel = 0; kernel <= i % 3; ++kernel)
      call.kernels.push_back(Kernel(0.01 + any(random), 3 * any(random), 1 + i % 2));
    const auto breakdown = call.Made().value();
    EXPECT_NEAR(Sum(breakdown), call.facts.seconds, 1e-4 * call.facts.seconds);
    for (const auto& one : breakdown.components) EXPECT_GT(one.seconds, 0);
  }
  // Each planted cause becomes the largest component and gets its own advice.
  GpuCall tail;
  tail.kernels = {Kernel(90, 1.05)};
  EXPECT_NE(BreakdownAdvice(*tail.Made())->find("last wave"), std::string::npos);
  GpuCall idle;
  idle.kernels = {Kernel(35, 1)};
  EXPECT_NE(BreakdownAdvice(*idle.Made())->find("no kernel runs for 61 %"), std::string::npos);
  GpuCall launch;
  launch.facts.call_seconds = 1;
  launch.kernels = {Kernel(35, 1, 70)};
  EXPECT_NE(BreakdownAdvice(*launch.Made())->find("starting kernels costs 65 %"),
            std::string::npos);
}

// Placement of a GPU's times: of queued calls, of calls with their launch, in graphs, of kernels.

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
  all.bytes[Level::kDram] = fakes::Validated(1e11);
  all.bytes[Level::kL2] = fakes::Validated(4e11);
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

TEST(GpuTimes, ALaunchCostsWhatItCostsInThatKindOfTimeWhichIsNamed) {
  EXPECT_DOUBLE_EQ(Overhead(Timed(record::timed::kCall)).value(), 40e-6);
  EXPECT_DOUBLE_EQ(Overhead(Timed(record::timed::kDevice)).value(), 20e-6);
  EXPECT_DOUBLE_EQ(Overhead(Timed(record::timed::kGraph)).value(), 10e-6);
  EXPECT_FALSE(Overhead(Timed(record::timed::kKernels)));
  // 2 ms and 10 gaps of at most 1 us.
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
    EXPECT_LT(placed.time->times_over_roof, 1.001 * queued.time->times_over_roof);
    EXPECT_GE(placed.time->times_over_roof, 1);
    EXPECT_NE(placed.time->bound, Bound::kOverhead);
    launch_bound += queued.time->bound == Bound::kOverhead ? 1 : 0;
  }
  EXPECT_EQ(launch_bound, 3);
}

TEST(GpuTimes, UnknownLaunchesCostWhatAGraphSaves) {
  auto record = Timed(record::timed::kCall);
  record.work.erase(Provenance::kMeasured);
  EXPECT_FALSE(Overhead(record));
  fakes::ChangeSamples(record, [](auto& sample) { sample.graph_seconds = 1.4e-3; });
  EXPECT_DOUBLE_EQ(Overhead(record).value(), 6e-4);
  record.timed = record::timed::kDevice;  // in which the host has no part
  EXPECT_FALSE(Overhead(record));
}

TEST(GpuTimes, WarmBytesThatFitL2AreNotOnTheDramRoofAndASteadyCallsIsSustained) {
  const auto gpu = Gpu();
  const auto warm = Place(Timed(record::timed::kDevice), &gpu);
  ASSERT_EQ(warm.classic.size(), 1);
  EXPECT_EQ(warm.classic[0].level, Level::kL2);
  EXPECT_THAT(warm.asides, testing::Contains(HasSubstr("fit L2, which is warm")));
  auto steady = Timed(record::timed::kDevice);
  EXPECT_DOUBLE_EQ(Place(steady, &gpu).time->compute_seconds, 1e-3);
  fakes::ChangeSamples(steady, [](auto& sample) { sample.steady_seconds = 3.5; });
  EXPECT_DOUBLE_EQ(Place(steady, &gpu).time->compute_seconds, 1.25e-3);
}

}  // namespace
}  // namespace dlroof::roofline
