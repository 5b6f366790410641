#include "reporters/roofline/roofline.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

using nlohmann::json;
using testing::Contains, testing::ElementsAre, testing::SizeIs, testing::HasSubstr, testing::AllOf,
    testing::StartsWith, testing::Not;

const OpVocabulary kWords = {{"A", {"first", {{"batch", "n"}, {"image", "h", "w _p"}}}},
                             {"B", {"second", {{"batch", "n"}, {"image", "i"}}}}};

TEST(OpWords, ShareAParameterWithTheSameLettersAndOfAFileAreAddedBehindThoseOfThisProgram) {
  const auto parameters = SweepParameters(kWords);
  ASSERT_THAT(parameters, SizeIs(3));
  EXPECT_THAT(parameters[0].ops, ElementsAre("A", "B"));
  EXPECT_THAT(parameters[1].ops, ElementsAre("A"));
  EXPECT_THAT(parameters[2].ops, ElementsAre("B"));
  EXPECT_THAT(SweepNames(kWords), ElementsAre("batch", "image"));
  // The file of a program with other ops.
  PlacedRun run;
  run.file.context = {{"dlroof", {{"ops", ToJson(kWords)}}}};
  for (const char* problem : {"n1h3w3_p1", "n1h5w5_p2"}) {
    run.file.records.push_back({.op = "A", .problem = problem});
    run.places.emplace_back().placement.time = TimePoint{};
  }
  EXPECT_THAT(SweepLines(run, "image").at(0).values, ElementsAre(3, 5));
  EXPECT_EQ(NounOf("B", WordsOf(run.file.context)), "second");
  EXPECT_EQ(NounOf("C", WordsOf(run.file.context)), "call");
  const json context = {{"dlroof", {{"ops", {{"Conv2D", {{"noun", "nonsense"}}}}}}}};
  EXPECT_EQ(NounOf("Conv2D", WordsOf(context)), "convolution");
  EXPECT_EQ(NounOf("Conv2D", {}), "convolution");
  EXPECT_THAT(SweepNames(WordsOf(context)), Contains("hidden"));
  for (const char* text :
       {"null", "1", R"({"dlroof": {"ops": [1]}})",
        R"({"dlroof": {"ops": {"X": 1, "Y": {"sweep": [null, {"name": 1}, {"key": "k"}]}}}})"})
    EXPECT_THAT(SweepNames(WordsOf(json::parse(text))), Contains("batch")) << text;
}

constexpr const char* kConv = "n16c64h56w56k64r3s3_s2p0:1x0:1";

TEST(ProblemParts, AreKeysWithTheirValuesAndPlaces) {
  const auto parts = ProblemParts(kConv);
  ASSERT_EQ(parts.size(), 9u);
  EXPECT_EQ(parts[0].key, "n");
  EXPECT_EQ(parts[0].value, "16");
  EXPECT_EQ(parts[7].key, "_s");
  EXPECT_EQ(parts[8].key, "_p");
  EXPECT_EQ(parts[8].value, "0:1x0:1");
  EXPECT_EQ(std::string(kConv).substr(parts[2].value_begin, parts[2].end - parts[2].value_begin),
            "56");
}

TEST(WithValue, ReplacesTheValueKeepsASquareSquareAndKnowsOmittedKeys) {
  EXPECT_THAT(WithValue(kConv, {"batch", "n"}, "4"), ElementsAre("n4c64h56w56k64r3s3_s2p0:1x0:1"));
  EXPECT_THAT(WithValue(kConv, {"stride", "_s", "_p"}, "4"),
              ElementsAre("n16c64h56w56k64r3s3_s4p0:1x0:1"));
  EXPECT_THAT(WithValue("n1c3h3w3k3r3s3_p3", {"image", "h", "w _p"}, "9"),
              ElementsAre("n1c3h9w9k3r3s3_p3"));
  EXPECT_THAT(WithValue("n1c3h3w7k3r3s3", {"image", "h", "w _p"}, "9"),
              ElementsAre("n1c3h9w7k3r3s3"))
      << "the image was not square";
  EXPECT_THAT(WithValue("t1n1i8h8l2", {"layers", "l"}, "1"), ElementsAre("t1n1i8h8l1", "t1n1i8h8"));
  EXPECT_THAT(WithValue("r3s3_s2", {"stride", "_s", "_p"}, "1"), Contains("r3s3"));
  EXPECT_THAT(WithValue("t1n1i8h8bi", {"layers", "l"}, "2"), Contains("t1n1i8h8l2bi"));
  EXPECT_THAT(WithValue("r3s3", {"stride", "_s", "_p"}, "2"), ElementsAre("r3s3_s2"));
  EXPECT_THAT(WithValue("r3s3_p1", {"stride", "_s", "_p"}, "2"), Contains("r3s3_s2p1"));
  EXPECT_THAT(WithValue("r3s3", {"stride", "_s", "_p"}, "1"), ElementsAre("r3s3"));
}

const machine::Machine kMachine = fakes::MachineWithRidge();

TEST(PlaceClassic, LeftOfTheRidgeTheBandwidthBindsAndRightOfTheRidgeTheComputeRoofBinds) {
  // 200 flop, 100 byte: intensity 2, bandwidth roof 2 x 10 = 20 flop/s. 200 flop in 20 s are 10
  // flop/s, half the roof.
  auto point = Place(fakes::Measured(20, 200, 100), &kMachine).classic.at(0);
  EXPECT_DOUBLE_EQ(point.intensity, 2);
  EXPECT_DOUBLE_EQ(point.flops_per_second, 10);
  EXPECT_DOUBLE_EQ(point.roof, 20);
  EXPECT_DOUBLE_EQ(point.share.value, 0.5);
  EXPECT_TRUE(point.memory_bound);
  // 8000 flop, 100 byte: intensity 80, flat roof 100 flop/s; 8000 flop in 100 s = 80 flop/s.
  point = Place(fakes::Measured(100, 8000, 100), &kMachine).classic.at(0);
  EXPECT_DOUBLE_EQ(point.roof, 100);
  EXPECT_DOUBLE_EQ(point.share.value, 0.8);
  EXPECT_FALSE(point.memory_bound);
}

TEST(PlaceInTime, IsBoundByOverheadOrTheLargestRoofTime) {
  const auto bound = [&](double flops, double bytes) {
    return Place(fakes::Measured(1000, flops, bytes), &kMachine).time->bound;
  };
  EXPECT_EQ(bound(49, 4.9), Bound::kOverhead);  // 0.49 s and 0.49 s, both inside the box of 0.5 s
  EXPECT_EQ(bound(51, 4.9), Bound::kCompute);   // 0.51 s outside
  EXPECT_EQ(bound(49, 5.1), Bound::kMemory);
  const auto time = Place(fakes::Measured(1000, 100, 20), &kMachine).time.value();  // 1 s, 2 s
  EXPECT_EQ(time.bound_level, Level::kDram);
  EXPECT_DOUBLE_EQ(time.times_over_roof, 500);
  EXPECT_DOUBLE_EQ(time.overhead_seconds.value(), 0.5);
}

TEST(PlaceInTime, UnderTensorBalanceUsesTheMatrixCeilingForEveryFlop) {
  record::Record record = fakes::Measured(10, 100, 20);        // 1 s on fp32.vector, 2 s of DRAM
  record.work[Provenance::kModelled].bytes[Level::kL2] = 200;  // 4 s
  const auto usual = Place(record, &kMachine).time.value();
  EXPECT_EQ(usual.bound_level, Level::kL2);
  const auto paper = Place(record, &kMachine, {{Level::kDram}, true}).time.value();
  EXPECT_DOUBLE_EQ(paper.compute_seconds, 0.1);  // 100 of 1000 flop/s
  EXPECT_EQ(paper.compute_roofs.at("fp32.vector"), "bf16.matrix");
  EXPECT_DOUBLE_EQ(paper.pipe_seconds.at("fp32.vector"), 1);
  EXPECT_EQ(paper.bound_level, Level::kDram);
  EXPECT_EQ(paper.memory_seconds.size(), 1U) << "no other level counts";
  EXPECT_DOUBLE_EQ(paper.times_over_roof, 5);
  machine::Machine without = kMachine;
  without.by_threads[2].flops.erase("bf16.matrix");
  const auto placed = Place(record, &without, {{}, true});
  EXPECT_FALSE(placed.time.has_value());
  EXPECT_THAT(placed.remarks, ElementsAre(HasSubstr("no matrix ceiling")));
}

TEST(RecordJson, HasPipeTimesUnlessTheyRepeatTheComputeTime) {
  record::Record record = fakes::Measured(10, 100, 20);
  const auto written = ToJson(record, &kMachine)["time"];
  EXPECT_FALSE(written.contains("pipe_seconds"));
  EXPECT_FALSE(written.contains("unproved_levels")) << "all levels are validated";
  EXPECT_EQ(ToJson(record, &kMachine, {{}, true})["time"]["pipe_seconds"]["fp32.vector"], 1.0);
  record.work[Provenance::kModelled].flops["bf16.matrix"] = 3000;
  EXPECT_EQ(ToJson(record, &kMachine)["time"]["pipe_seconds"]["bf16.matrix"], 3.0);
}

TEST(Place, TakesFlopsAndEachLevelsBytesFromTheBestAndReportsMissingFacts) {
  record::Record record = fakes::Measured(1000, 100, 20);
  record.work[Provenance::kMeasured].flops["bf16.matrix"] = 500;
  record.work[Provenance::kSimulated].bytes[Level::kL2] = 40;
  const auto placed = Place(record, &kMachine);
  EXPECT_DOUBLE_EQ(placed.time->compute_seconds,
                   0.5);  // 500 / 1000 and nothing of the modelled 100
  for (const auto& point : placed.classic) {
    EXPECT_EQ(point.flops_from, Provenance::kMeasured);
    EXPECT_EQ(point.bytes_from,
              point.level == Level::kL2 ? Provenance::kSimulated : Provenance::kModelled);
  }
  record::Record missing = fakes::Measured(1, 1, 1);
  missing.threads = 3;
  EXPECT_THAT(Place(missing, &kMachine).remarks,
              ElementsAre("no ceilings measured with 3 threads"));
  missing.threads.reset();
  EXPECT_THAT(Place(missing, &kMachine).remarks,
              ElementsAre(HasSubstr("number of threads is not known")));
  EXPECT_THAT(Place(fakes::Measured(1, 1, 1), nullptr).remarks,
              ElementsAre(HasSubstr("no ceilings of this device")));
  missing = fakes::Measured(1000, 1, 1);
  missing.work[Provenance::kModelled].flops = {{"int8.vector", 5}};
  const auto unplaced = Place(missing, &kMachine);
  EXPECT_TRUE(unplaced.classic.empty());
  EXPECT_FALSE(unplaced.time.has_value());
  EXPECT_THAT(unplaced.remarks, ElementsAre("the machine has no measured int8.vector ceiling"));
  missing.status = record::Status::kWrong;
  EXPECT_TRUE(Place(missing, &kMachine).remarks.empty());
}

// Returns the placement with findings.
Placement Found(const record::Record& record, const machine::Machine& machine) {
  return PlaceWritten(record, &machine).placement;
}

TEST(Binding, IsTheLowestRoofOrTheFarthestOfEqualOnes) {
  Placement placement;
  EXPECT_EQ(Binding(placement), nullptr);
  placement.classic = {{.level = Level::kL1, .roof = 3},
                       {.level = Level::kL2, .roof = 2},
                       {.level = Level::kDram, .roof = 2},
                       {.level = Level::kHost, .roof = 5}};
  EXPECT_EQ(Binding(placement)->level, Level::kDram);
}

TEST(Place, LeavesOutCacheBytesThatTheTimeRefutesAndReportsTheLibrarysReferenceImplementation) {
  // 500 byte / 50 byte/s = 10 s at the L2 roof, measured 5 s: a model's count is then wrong.
  for (const auto from : {Provenance::kModelled, Provenance::kSimulated}) {
    record::Record record = fakes::Measured(5, 1, 1);
    record.work[from].bytes[Level::kL2] = 500;
    const auto placed = Place(record, &kMachine);
    ASSERT_EQ(placed.classic.size(), 1);
    EXPECT_EQ(placed.classic[0].level, Level::kDram);
    EXPECT_THAT(placed.remarks, ElementsAre(AllOf(HasSubstr("left out at l2"),
                                                  HasSubstr("2 times as long as the call"))));
  }
  // Modelled bytes that the call had time for give a point.
  record::Record slow = fakes::Measured(20, 1, 1);
  slow.work[Provenance::kModelled].bytes[Level::kL2] = 500;
  EXPECT_EQ(Place(slow, &kMachine).time->bound_level, Level::kL2);
  record::Record record = fakes::Measured(1000, 100, 20);
  record.library = "onednn";
  record.algorithm = "ref:any";
  EXPECT_THAT(Found(record, kMachine).remarks,
              ElementsAre(HasSubstr("reference implementation (ref:any)")));
  record.algorithm = "jit:avx2";
  EXPECT_TRUE(Found(record, kMachine).remarks.empty());
}

// A library restricted to AVX2 is not slow because the CPU has AVX-512.
TEST(Place, UsesTheBestRowThatTheIsaAllows) {
  machine::Machine machine = fakes::MachineWithRidge();
  auto& flops = machine.by_threads[2].flops;
  const double best = flops.at("fp32.vector").per_second;
  for (const auto& [row, rate] :
       {std::pair("fp32.vector.avx512", best), std::pair("fp32.vector.avx2", best / 2),
        std::pair("fp32.vector.avx", best / 4)}) {
    flops[row] = flops.at("fp32.vector");
    flops[row].per_second = rate;
  }
  record::Record record = fakes::Measured(1000, 100, 20);
  const auto judged = [&](const std::string& algorithm, const std::string& isa = "") {
    record.algorithm = algorithm;
    record.isa = isa;
    return Place(record, &machine);
  };
  const auto free = judged("jit:avx512_core", "avx512_core");
  EXPECT_EQ(free.time->compute_roofs.at("fp32.vector"), "fp32.vector.avx512");
  EXPECT_TRUE(free.remarks.empty());
  const auto capped = judged("jit:avx2", "avx2");
  EXPECT_EQ(capped.time->compute_roofs.at("fp32.vector"), "fp32.vector.avx2");
  EXPECT_DOUBLE_EQ(capped.time->compute_seconds, 2 * free.time->compute_seconds);
  EXPECT_THAT(capped.remarks, ElementsAre(HasSubstr("judged by fp32.vector.avx2")));
  // The allowed instruction set decides, not the library's choice.
  EXPECT_EQ(judged("jit:avx2", "avx512_core").time->compute_roofs, free.time->compute_roofs);
  // The plain roof if the ISA is not known (a text does not count) or allows no row.
  EXPECT_EQ(judged("loops; isa avx2").time->compute_roofs.at("fp32.vector"), "fp32.vector");
  EXPECT_EQ(judged("jit", "sse41").time->compute_roofs.at("fp32.vector"), "fp32.vector");
  flops["fp32.vector.avx2"].status = machine::CeilingStatus::kNotValidated;
  record.work[Provenance::kModelled].bytes[Level::kDram] = 10;  // compute binds
  EXPECT_FALSE(judged("jit:avx512_core", "avx512_core").time->at_least);
  EXPECT_TRUE(judged("jit:avx2", "avx2").time->at_least);
  EXPECT_EQ(ToJson(record, &machine)["time"]["compute_roofs"]["fp32.vector"], "fp32.vector.avx2");
}

// The remark is about the library's choice: the CPU may have instructions for the type.
TEST(Place, ReportsANarrowTypeOnTheFp32PipeAsEmulated) {
  record::Record record = fakes::Measured(1000, 100, 20);
  for (const char* type : {"bf16", "f16"}) {
    record.type = type;
    EXPECT_THAT(Found(record, kMachine).remarks,
                ElementsAre(AllOf(
                    StartsWith(std::string(type) + " is emulated in fp32: the implementation"),
                    Not(HasSubstr("CPU")), Not(HasSubstr("instructions")))));
  }
  record.type = "bf16";
  record.work[Provenance::kModelled].flops["bf16.matrix"] =
      50;  // an LSTM's elementwise part stays in fp32
  EXPECT_TRUE(Found(record, kMachine).remarks.empty());
}

TEST(HoldingCache, IsTheNearestThatTheTensorsOfAWarmCallFit) {
  const std::tuple<const char*, std::optional<std::string>, std::optional<int>, double,
                   std::optional<Level>>
      cases[] = {{"cpu", "warm", 1, 48e3, Level::kL1},
                 {"cpu", "warm", 1, 98e3, Level::kL2},
                 {"cpu", "warm", 1, 30e6, Level::kL3},
                 {"cpu", "warm", 1, 31e6, {}},
                 {"cpu", "warm", {}, 98e3, Level::kL2},
                 {"cpu", "warm", 4, 190e3, Level::kL1},  // L1 and L2 of all threads
                 {"cpu", "warm", 4, 4e6, Level::kL2},
                 {"cpu", "warm", 4, 31e6, {}},  // one L3
                 {"cpu", "cold", 1, 1, {}},
                 {"cpu", "cold-weights", 1, 1, {}},
                 {"cpu", {}, 1, 1, {}},
                 {"gpu", "warm", 108, 40e3, Level::kL2},
                 {"gpu", "warm", 108, 2e6, {}}};
  for (const auto& [device, cache, threads, bytes, holds] : cases) {
    const machine::Machine machine{
        .device = device,
        .cache_bytes = {{Level::kL1, 48e3}, {Level::kL2, 1e6}, {Level::kL3, 30e6}}};
    record::Record record{.device = device, .threads = threads, .cache = cache};
    EXPECT_EQ(HoldingCache(record, machine, bytes), holds) << device << bytes;
    EXPECT_EQ(HoldingCache(record, {}, bytes), std::nullopt) << "unknown caches";
  }
}

// 98 KB at 50 byte/s of L2 take 1960 s, at 10 byte/s of DRAM they would take 9800 s and bind.
TEST(HoldingCache, ChoosesWhereModelledBytesStandUnlessThoseOfThatCacheAreKnown) {
  auto machine = fakes::MachineWithRidge();
  machine.cache_bytes = {{Level::kL1, 48e3}, {Level::kL2, 1e6}};
  auto record = fakes::Measured(20000, 300000, 98e3);  // arithmetic 3000 s
  record.cache = "cold";
  EXPECT_EQ(Place(record, &machine).time->bound_level, Level::kDram);
  record.cache = "warm";
  const auto warm = Place(record, &machine);
  EXPECT_EQ(warm.time->bound, Bound::kCompute);
  EXPECT_FALSE(warm.time->memory_seconds.contains(Level::kDram));
  EXPECT_EQ(warm.classic.at(0).level, Level::kL2);
  EXPECT_THAT(warm.asides, Contains(HasSubstr("its tensors fit L2")));
  EXPECT_EQ(PlaceTime(record, 20000, machine)->bound, Bound::kCompute);
  record.work[Provenance::kMeasured].bytes[Level::kDram] = 98e3;  // counted: not moved
  EXPECT_EQ(Place(record, &machine).time->bound_level, Level::kDram);
  // The bytes of the cache that a model of the loops knows are not replaced.
  auto with_l2 = fakes::MachineWithRidge();
  with_l2.cache_bytes = {{Level::kL2, 1e6}};
  auto known = fakes::Measured(20000, 1, 98e3);
  known.work[Provenance::kModelled].bytes[Level::kL2] = 5e5;
  EXPECT_DOUBLE_EQ(Place(known, &with_l2).time->memory_seconds.at(Level::kL2), 5e5 / 50);
}

// Properties that hold for every work on every machine, on random ones.

// Random works on several pipes and levels of a random machine.
struct RandomCase {
  machine::Machine machine = fakes::MachineWithRidge();
  record::Record record = fakes::Measured(1, 1, 1);
};

RandomCase MakeRandomCase(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(-3, 6);
  const auto any = [&] { return std::pow(10, exponent(random)); };
  RandomCase made;
  machine::CeilingSet& all = made.machine.by_threads[2];
  for (auto& [pipe, ceiling] : all.flops) ceiling.per_second = any();
  for (auto& [level, ceiling] : all.bytes) ceiling.per_second = any();
  all.launch_seconds = any();
  made.record = fakes::Measured(any(), any(), any());
  Work& work = made.record.work[Provenance::kModelled];
  work.flops["bf16.matrix"] = any();
  work.bytes[Level::kL2] = any();
  work.launches = any();
  return made;
}

TEST(PlaceTime, IsTheTimePointOfPlace) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 500; ++i) {
    auto [machine, record] = MakeRandomCase(random);
    machine.by_threads[2].bytes[Level::kDram].status =
        i % 3 != 0 ? machine::CeilingStatus::kValidated : machine::CeilingStatus::kNotValidated;
    if (i % 5 == 0) record.work[Provenance::kModelled].flops.clear();
    if (i % 7 == 0) record.threads = 3;  // without ceilings
    for (const PlaceView& view : {PlaceView{}, PlaceView{{Level::kDram}, true}}) {
      const auto all = Place(record, &machine, view).time;
      const auto time = PlaceTime(record, record.repetitions[0].seconds, machine, view);
      ASSERT_EQ(time.has_value(), all.has_value());
      if (!all) continue;
      EXPECT_EQ(time->seconds, all->seconds);
      EXPECT_EQ(time->compute_seconds, all->compute_seconds);
      EXPECT_EQ(time->memory_seconds, all->memory_seconds);
      EXPECT_EQ(time->times_over_roof, all->times_over_roof);
      EXPECT_EQ(time->at_least, all->at_least);
      EXPECT_EQ(time->bound, all->bound);
    }
  }
}

template <class Visit>
void EachCeiling(machine::Machine& machine, const Visit& visit) {
  for (auto& [pipe, ceiling] : machine.by_threads[2].flops) visit(ceiling);
  for (auto& [level, ceiling] : machine.by_threads[2].bytes) visit(ceiling);
}

// Returns the times over the roof if the true rate of every ceiling that is not validated were
// `factor` times the measured one.
double TrueTimesOverRoof(const record::Record& record, double seconds, machine::Machine machine,
                         double factor) {
  EachCeiling(machine, [&](machine::Ceiling& ceiling) {
    if (!ceiling.IsValidated()) ceiling.per_second *= factor;
    ceiling.status = machine::CeilingStatus::kValidated;
  });
  return PlaceTime(record, seconds, machine)->times_over_roof;
}

// The distance to the roof is exact if it is the same for all true rates, from the measured ones
// on, of the ceilings that are not validated. If not, no true rate makes it smaller.
TEST(PlaceTime, HasAnExactDistanceIfNoTrueRateOfACeilingWouldChangeIt) {
  std::mt19937_64 random(14);
  int certain = 0, uncertain = 0;
  for (int i = 0; i < 2000; ++i) {
    auto [machine, record] = MakeRandomCase(random);
    bool any = false;
    EachCeiling(machine, [&](machine::Ceiling& ceiling) {
      ceiling.status = random() % 3 != 0 ? machine::CeilingStatus::kValidated
                                         : machine::CeilingStatus::kNotValidated;
      any = any || !ceiling.IsValidated();
    });
    constexpr double kLong = 1e15;  // [s] no level is refuted
    const auto placed = PlaceTime(record, kLong, machine).value();
    const double pipes =
        placed.pipe_seconds.at("fp32.vector") / placed.pipe_seconds.at("bf16.matrix");
    if (std::abs(std::log10(pipes)) > 12) continue;  // the sum rounds one of them away
    const double times_over_roof = TrueTimesOverRoof(record, kLong, machine, 1);
    const bool same = TrueTimesOverRoof(record, kLong, machine, 1e12) == times_over_roof;
    EXPECT_EQ(placed.at_least, !same) << i;
    EXPECT_EQ(placed.times_over_roof, times_over_roof);
    for (const double factor : {1.1, 2.0, 1e12})
      EXPECT_GE(TrueTimesOverRoof(record, kLong, machine, factor), placed.times_over_roof);
    certain += same && any ? 1 : 0;
    uncertain += same ? 0 : 1;
  }
  EXPECT_GT(certain, 200);
  EXPECT_GT(uncertain, 200);
}

TEST(PlaceInTime, SatisfiesItsIdentitiesOnRandomWorks) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    const auto [machine, record] = MakeRandomCase(random);
    const double flops = TotalFlops(record.work.at(Provenance::kModelled)).value();
    for (const PlaceView& view : {PlaceView{}, PlaceView{{Level::kDram}, true}}) {
      const auto placed = Place(record, &machine, view);
      const auto& time = placed.time.value();
      double roof = time.compute_seconds;
      for (const auto& [level, seconds] : time.memory_seconds) roof = std::max(roof, seconds);
      // The classic and the time-based view of a level agree.
      for (const auto& point : placed.classic) {
        const double level_seconds = record.work.at(Provenance::kModelled).bytes.at(point.level) /
                                     machine.by_threads.at(2).bytes.at(point.level).per_second;
        const double level_roof = std::max(time.compute_seconds, level_seconds);
        // A level binds only if the call had time for its bytes.
        EXPECT_EQ(time.above_roof.contains(point.level), level_seconds > 1.02 * time.seconds);
        EXPECT_EQ(time.memory_seconds.contains(point.level), level_seconds <= 1.02 * time.seconds);
        EXPECT_NEAR(flops / point.roof / level_roof, 1, 1e-12);
        EXPECT_NEAR(point.share.value * time.seconds / level_roof, 1, 1e-12);
      }
      // The times over the roof scale the largest roof time to the run time.
      EXPECT_NEAR(time.times_over_roof * roof / time.seconds, 1, 1e-12);
      const bool in_box = roof < *time.overhead_seconds;
      EXPECT_EQ(time.bound == Bound::kOverhead, in_box);
      if (!in_box) {
        EXPECT_EQ(time.bound == Bound::kCompute, roof == time.compute_seconds);
        EXPECT_EQ(time.bound_level.has_value(), time.bound == Bound::kMemory);
      }
      if (time.bound_level) {
        EXPECT_EQ(time.memory_seconds.at(*time.bound_level), roof);
      }
      EXPECT_DOUBLE_EQ(*time.overhead_seconds, *record.work.at(Provenance::kModelled).launches *
                                                   *machine.by_threads.at(2).launch_seconds);
      double pipes = 0;
      for (const auto& [pipe, seconds] : time.pipe_seconds) {
        EXPECT_NEAR(seconds * machine.by_threads.at(2).flops.at(pipe).per_second /
                        record.work.at(Provenance::kModelled).flops.at(pipe),
                    1, 1e-12);
        pipes += seconds;
      }
      if (!view.tensor_balance) {
        EXPECT_NEAR(pipes / time.compute_seconds, 1, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace dlroof::roofline
