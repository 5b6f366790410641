#include <gmock/gmock.h>

#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "reporters/roofline/trajectory.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_roofline.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof::roofline {
namespace {

using testing::AllOf, testing::HasSubstr;

// 100 and 1000 flop/s, 10, 50, 100 and 200 byte/s: simple numbers of seconds.
machine::Machine MachineOfRules() {
  machine::Machine machine{.device = "gpu"};
  machine::CeilingSet& all = machine.by_threads[2];
  all.flops = {{"fp32.vector", fakes::Validated(100)}, {"fp16.matrix", fakes::Validated(1000)}};
  for (const auto& [level, rate] :
       {std::pair(Level::kDram, 10), {Level::kL3, 50}, {Level::kL2, 100}, {Level::kL1, 200}})
    all.bytes[level] = fakes::Validated(rate);
  for (const auto& [mix, rate] :
       {std::pair("copy", 7), {"copy-nt", 8}, {"triad", 9}, {"update", 10}, {"load", 5}})
    all.mixes[std::string("dram.") + mix + ".avx2"] = fakes::Validated(rate);
  all.mixes["l3.copy.avx2"] = {.per_second = 49};
  all.launch_seconds = 0.5;
  return machine;
}

// A convolution of 100 flop and 10 compulsory bytes: 1 s each.
record::Record Convolution(double seconds, const std::string& type = "f32") {
  auto record = fakes::Measured(seconds, 100, 10);
  record.op = "Conv2D";
  record.device = "gpu";
  record.library = "cudnn";
  record.type = type;
  record.algorithm = "tuned";
  record.cache = "cold";
  return record;
}

// Returns the evidence of one rule on a record, or "-".
std::string Evidence(const std::string& rule, const record::Record& record) {
  const machine::Machine machine = MachineOfRules();
  const auto placed = Place(record, &machine);
  if (!placed.time) return "no time";
  for (const AdviceRule& row : AdviceRules())
    if (row.name == rule)
      return row.evidence({record, *placed.time, machine.by_threads.at(2), NounOf(record.op, {})})
          .value_or("-");
  return "no such rule";
}

std::string Advice(const record::Record& record) {
  const machine::Machine machine = MachineOfRules();
  return PlaceWritten(record, &machine).placement.advice;
}

TEST(AdviceRules, LaunchesThatCostMostOfTheTimeAndKernelsShorterThanTheirLaunch) {
  record::Record record = Convolution(10);
  record.work[Provenance::kModelled].launches = 17.4;  // 8.7 s, more than 1 s of work
  EXPECT_EQ(Evidence("overhead", record), "launches cost 87 % of the time");
  fakes::ExpectHas(Advice(record), {"Bound by the cost of starting it",
                                    "87 % of the time: put more work into one call"});
  record.repetitions = {{.seconds = 100}};  // 8.7 %: something else takes the time
  EXPECT_EQ(Evidence("overhead", record), "-");
  EXPECT_EQ(Evidence("overhead", Convolution(10)), "-");
  // 300 launches of 333 ms. Starting them costs 500 ms each, which is not in their durations.
  record::Record kernels = Convolution(100);
  kernels.work[Provenance::kMeasured] = {.flops = {{"fp32.vector", 100}}, .launches = 300};
  EXPECT_EQ(Evidence("short-kernel", kernels), "-");
  EXPECT_EQ(Evidence("overhead", kernels), "launches cost 100 % of the time");
  kernels.timed = "kernels";
  EXPECT_EQ(Evidence("short-kernel", kernels),
            "it runs for 333 ms per launch, less than a launch costs (500 ms)");
  EXPECT_EQ(Evidence("overhead", kernels), "-");
  fakes::ExpectHas(Advice(kernels), {"the time that its arithmetic roof allows; it runs for",
                                     ": put more work into one launch"});
  kernels.work[Provenance::kMeasured].launches = 200;
  EXPECT_EQ(Evidence("short-kernel", kernels), "-");
}

TEST(AdviceRules, TheReferenceImplementationNoTensorCoreFlopsAndEmulation) {
  record::Record record = Convolution(4);
  record.algorithm = "ref:any";
  EXPECT_THAT(Advice(record),
              HasSubstr("Takes 4.0x the time that its arithmetic roof allows; the library used its "
                        "reference implementation: a type or library version"));
  record.library = "reference";  // our own plain loops
  EXPECT_EQ(Evidence("reference", record), "-");
  EXPECT_EQ(Evidence("reference", Convolution(4)), "-");
  record::Record narrow = Convolution(4, "f16");
  narrow.work[Provenance::kMeasured].flops = {{"fp32.vector", 100}, {"fp16.matrix", 0}};
  EXPECT_EQ(Evidence("no-matrix", narrow), "no tensor-core FLOPs in an fp16 convolution");
  EXPECT_EQ(Evidence("few-matrix", narrow), "-");
  narrow.work[Provenance::kMeasured].flops = {{"fp32.vector", 67}, {"fp16.matrix", 33}};
  EXPECT_EQ(Evidence("no-matrix", narrow), "-");
  EXPECT_EQ(Evidence("few-matrix", narrow), "only 33 % tensor-core FLOPs in an fp16 convolution");
  narrow.work[Provenance::kMeasured].flops = {{"fp32.vector", 1}, {"fp16.matrix", 99}};
  EXPECT_EQ(Evidence("few-matrix", narrow), "-");
  narrow.work.erase(Provenance::kMeasured);  // a model does not know the executed FLOPs
  EXPECT_EQ(Evidence("no-matrix", narrow), "-");
  record::Record f32 = Convolution(4);
  f32.work[Provenance::kMeasured].flops = {{"fp32.vector", 100}};
  EXPECT_EQ(Evidence("no-matrix", f32), "-");
  EXPECT_EQ(Evidence("emulated", Convolution(4, "bf16")), "bf16 is emulated in fp32");
  EXPECT_EQ(Evidence("emulated", Convolution(4)), "-");
}

TEST(AdviceRules, FewerOrMoreFlopsThanTheDefinition) {
  record::Record record = Convolution(4);
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 44}};
  EXPECT_EQ(Evidence("fewer-flops", record), "the algorithm executes 0.44 of the FLOPs");
  record.algorithm = "jit_wino";
  EXPECT_EQ(Evidence("fewer-flops", record), "Winograd executes 0.44 of the FLOPs");
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 400}};
  EXPECT_EQ(Evidence("more-flops", record), "it executes 4.0 times the useful FLOPs");
  EXPECT_EQ(Evidence("fewer-flops", record), "-");
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 105}};
  EXPECT_EQ(Evidence("more-flops", record), "-");
}

TEST(AdviceRules, RepeatedReadsFromACacheButNotRegisterLoads) {
  record::Record record = Convolution(20);
  record.op = "LSTM";
  record.work[Provenance::kSimulated].bytes[Level::kL3] = 250;  // 5 s: it binds
  EXPECT_EQ(Evidence("re-read", record), "L3 moves 25 times the bytes of all tensors");
  EXPECT_THAT(
      Advice(record),
      HasSubstr("Takes 4.0x the time that its L3 bandwidth roof allows; L3 moves 25 times the "
                "bytes of all tensors: block for the next nearer cache"));
  record.work[Provenance::kSimulated].bytes[Level::kL3] = 40;  // 0.8 s: it does not bind
  EXPECT_EQ(Evidence("re-read", record), "-");
  record::Record of_registers = Convolution(20);
  of_registers.work[Provenance::kModelled].bytes[Level::kL1] = 2000;  // 10 s: it binds
  EXPECT_THAT(Advice(of_registers),
              HasSubstr("Takes 2.0x the time that its L1 bandwidth roof allows: "));
  EXPECT_EQ(Evidence("re-read", of_registers), "-");
  of_registers.work[Provenance::kModelled].bytes = {{Level::kDram, 10}, {Level::kL2, 1000}};
  EXPECT_EQ(Evidence("re-read", of_registers), "L2 moves 100 times the bytes of all tensors");
}

// DRAM bytes by a model of the kernel include repeated reads and are not compulsory bytes.
TEST(AdviceRules, OnlyClosedFormsAreCompulsoryAndMoreDramTrafficIsAFinding) {
  record::Record record = Convolution(20);
  record.work[Provenance::kMeasured].bytes = {{Level::kL2, 1000}, {Level::kDram, 23}};
  EXPECT_EQ(Evidence("re-read", record), "L2 moves 100 times the bytes of all tensors");
  EXPECT_EQ(Evidence("dram-traffic", record), "2.3 times the compulsory bytes go through DRAM");
  const CountingNote counted{"cupti", Provenance::kMeasured, "CUPTI"};
  record.counting = {counted, {"model", Provenance::kModelled, "DeLTA-style model of v100"}};
  EXPECT_EQ(Evidence("re-read", record), "-");
  EXPECT_EQ(Evidence("dram-traffic", record), "-");
  record.counting = {counted, {"model", {}, "modelled: a word of a text decides nothing"}};
  EXPECT_EQ(Evidence("re-read", record), "L2 moves 100 times the bytes of all tensors");
  // On a CPU the model does not change the DRAM bytes, which are the closed form.
  record::Record on_cpu = Convolution(20);
  on_cpu.device = "cpu";
  on_cpu.work[Provenance::kModelled].bytes[Level::kL2] = 1000;
  on_cpu.counting = {{"model", Provenance::kModelled, "4 rows in registers"}};
  EXPECT_EQ(Evidence("re-read", on_cpu), "L2 moves 100 times the bytes of all tensors");
  record::Record traffic = Convolution(8);
  traffic.work[Provenance::kMeasured].bytes[Level::kDram] = 23;
  EXPECT_EQ(Evidence("dram-traffic", traffic), "2.3 times the compulsory bytes go through DRAM");
  traffic.work[Provenance::kMeasured].bytes[Level::kDram] = 12;
  EXPECT_EQ(Evidence("dram-traffic", traffic), "-");
}

TEST(AdviceRules, MemoryAtItsRoofOrThatOfACopyIfItWritesAsMuch) {
  record::Record record = Convolution(4);
  record.work[Provenance::kModelled].bytes[Level::kDram] = 36;  // 3.6 s of 4
  EXPECT_EQ(Evidence("memory-roof", record), "DRAM transfers take 90 % of the time");
  EXPECT_THAT(Advice(record), HasSubstr("At 90 % of its DRAM bandwidth roof; DRAM transfers"));
  record.repetitions = {{.seconds = 10}};
  EXPECT_EQ(Evidence("memory-roof", record), "-");
  record::Record copy = Convolution(5);
  copy.work[Provenance::kModelled].bytes[Level::kDram] = 36;  // 3.6 s of 5
  EXPECT_EQ(Evidence("mix", copy), "-") << "its mix is unknown";
  auto& written = copy.work[Provenance::kModelled].written;
  written = 18;
  EXPECT_EQ(
      Evidence("mix", copy),
      "it writes about as much as it reads, which allows 80 % of that roof (dram.copy-nt.avx2, "
      "8.00 B/s)");
  EXPECT_THAT(Advice(copy),
              HasSubstr("Takes 1.4x the time that its DRAM bandwidth roof allows; it writes"));
  written = 12;
  EXPECT_THAT(Evidence("mix", copy), HasSubstr("twice as much as it writes, which allows 90 %"));
  written = 1;
  copy.repetitions = {{.seconds = 8}};
  EXPECT_EQ(Evidence("mix", copy),
            "it reads nearly all that it moves, which allows 50 % of that roof (dram.load.avx2, "
            "5.00 B/s)");
  written = 18;
  EXPECT_EQ(Evidence("mix", copy), "-") << "something else bounds it";
}

TEST(Advice, IsTheBoundOrTheBreakdownsProposalOrTwoClausesOfEvidence) {
  EXPECT_EQ(
      Advice(Convolution(4)),
      "Takes 4.0x the time that its arithmetic roof allows: dlroof explain measures where its time "
      "goes.");
  EXPECT_EQ(Advice(Convolution(1.1)),
            "At 91 % of its arithmetic roof: only less work, a narrower type or a faster machine "
            "helps.");
  record::Record wide = Convolution(4);
  // The interval of six repetitions is from the least to the greatest, 2 to 6 s.
  wide.repetitions = {{.seconds = 2}, {.seconds = 4}, {.seconds = 4},
                      {.seconds = 4}, {.seconds = 4}, {.seconds = 6}};
  EXPECT_EQ(Advice(wide), "");
  // 4 s of two threads, 3.9 s in 33 regions that kept each busy for 1.2 s.
  record::Record watched = Convolution(4);
  watched.device = "cpu";
  watched.parallel = ParallelTime{.mean = {4, {33, 3.9, 1.2, 2.4}, {}}, .threads = 2, .calls = 1};
  EXPECT_THAT(Advice(watched),
              testing::StartsWith(
                  "Takes 4.0x the time that its arithmetic roof allows: 33 parallel regions "
                  "cost 68 % of the time: give each region more to do"));
  watched.parallel->mean.regions = {1, 3.9, 3.9, 7.8};
  EXPECT_EQ(Advice(watched), Advice(Convolution(4)));  // not explained
  record::Record record = Convolution(40, "f16");
  record.algorithm = "ref";
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 400}, {"fp16.matrix", 0}};
  const auto advice = Advice(record);
  EXPECT_THAT(advice, AllOf(HasSubstr("reference implementation; no tensor-core FLOPs"),
                            testing::Not(HasSubstr("useful FLOPs"))));
  EXPECT_EQ(advice.back(), '.');
}

// 100 measured flop at 100 flop/s, 30 simulated bytes at 10 byte/s.
TEST(PlaceWritten, HasABreakdownWithTheLongerRoofTimeAndItsProvenance) {
  record::Record watched = Convolution(4);
  watched.device = "cpu";
  watched.parallel = ParallelTime{.mean = {4, {1, 4, 4, 8}, {}}, .threads = 2, .calls = 1};
  watched.work.clear();
  watched.work[Provenance::kMeasured].flops["fp32.vector"] = 100;
  watched.work[Provenance::kSimulated].bytes[Level::kDram] = 30;
  const machine::Machine machine = MachineOfRules();
  const auto roof = *PlaceWritten(watched, &machine).breakdown.value().Find(ComponentKind::kRoof);
  EXPECT_EQ(roof, (Component{ComponentKind::kRoof, 3, Provenance::kSimulated, "DRAM"}));
  watched.work[Provenance::kSimulated].bytes[Level::kDram] = 5;
  const auto other = *PlaceWritten(watched, &machine).breakdown.value().Find(ComponentKind::kRoof);
  EXPECT_EQ(other, (Component{ComponentKind::kRoof, 1, Provenance::kMeasured, "arithmetic"}));
}

// 30 compulsory bytes at 10 byte/s, in 16 s. On one thread near tensors take 1 s, far ones 40 s.
TEST(PlaceWritten, TensorsThatPassEveryCacheOnceAreAdvisedToBeFewerBytes) {
  record::Record watched = Convolution(16);
  watched.device = "cpu";
  watched.parallel = ParallelTime{.mean = {16, {1, 16, 16, 32}, {}},
                                  .threads = 2,
                                  .calls = 1,
                                  .near_seconds = 1,
                                  .far_seconds = 40};
  watched.work = {
      {Provenance::kModelled, {.flops = {{"fp32.vector", 100}}, .bytes = {{Level::kDram, 30}}}}};
  machine::Machine machine = MachineOfRules();
  machine.by_threads[1] = machine.by_threads.at(2);
  const auto advice = [&] {
    return BreakdownAdvice(PlaceWritten(watched, &machine).breakdown.value()).value();
  };
  constexpr const char* kFewer = "fewer bytes help, by a narrower type";
  constexpr const char* kNearer = "fuse the call with those beside it";
  EXPECT_THAT(advice(), HasSubstr(kNearer)) << "no size of a cache is known";
  machine.cache_bytes = {{Level::kL2, 10}, {Level::kL3, 29}};
  EXPECT_THAT(advice(), HasSubstr(kFewer));
  watched.work[Provenance::kMeasured].bytes[Level::kDram] = 59;
  EXPECT_THAT(advice(), HasSubstr(kFewer));
  watched.work[Provenance::kMeasured].bytes[Level::kDram] = 60;
  EXPECT_THAT(advice(), HasSubstr(kNearer)) << "read twice";
  watched.work.erase(Provenance::kMeasured);
  machine.cache_bytes[Level::kL3] = 30;
  EXPECT_THAT(advice(), HasSubstr(kNearer));
}

// What happened to f32 bwd_data with unequal padding on an H200: 160 times its roof.
TEST(ProblemRemedy, UnequalPaddingFarAboveTheRoofAloneIsAddedByACopy) {
  auto record = Convolution(160);
  record.problem = "n32c64h112w112k64r3s3_s2p0:1x0:1";
  fakes::ExpectHas(Advice(record),
                   {"Takes 160.0x the time that its arithmetic roof allows; its padding differs "
                    "at the two ends: add the padding by a copy first",
                    "option padded", "dlroof tune"});
  const auto applies = [](const record::Record& call) {
    return Advice(call).find("padding") != std::string::npos;
  };
  EXPECT_TRUE(applies(record));
  auto equal = record;
  equal.problem = "n32c64h112w112k64r3s3_s2p1";
  EXPECT_FALSE(applies(equal));
  auto padded = record;
  padded.options = {"nchw", "padded"};
  EXPECT_FALSE(applies(padded));
  auto near = record;
  near.repetitions = {{.seconds = 3}};
  EXPECT_FALSE(applies(near));
  auto other = record;
  other.op = "Unknown";
  EXPECT_FALSE(applies(other));
}

TEST(WrongEngines, AreRemarks) {
  auto record = Convolution(4);
  record.wrong_engines = {{"engine 20", "error 6.78e+03, allowed 1"}};
  const machine::Machine machine = MachineOfRules();
  EXPECT_THAT(PlaceWritten(record, &machine).placement.remarks,
              testing::Contains("not timed, because its result is wrong: engine 20 (error "
                                "6.78e+03, allowed 1)"));
}

// The largest cause between the first point and the last one.
struct Case {
  const char* name;
  std::vector<fakes::PointSpec> points;
  Cause cause;
  double of_points = 0;  // [percentage points] worked by hand, negative for a gain
  const char* along = "threads";
};

using fakes::Batch, fakes::kMemoryOne, fakes::kOne, fakes::MemoryTwo, fakes::Two, fakes::Unwatched,
    fakes::Watched, fakes::WithoutBytes;

std::vector<Case> Cases() {
  return {
      // 42 s of thread time in place of 22, all of it waits for bytes: 20 of 42.
      {"bandwidth shared", {kMemoryOne, MemoryTwo(21, 200, 10)}, Cause::kBandwidth, 47.6},
      {"cache lost", {kMemoryOne, MemoryTwo(21, 400, 20)}, Cause::kIntensity, 47.6},
      // 100 / 14 s x 2 = 14.29 s in place of 10, of 16.4.
      {"clock lowered",
       {kOne, {.threads = 2, .seconds = 8.2, .flops_rate = 14, .bytes_rate = 20}},
       Cause::kArithmetic,
       26.1},
      // Each second of 9 counts for two threads: 2 x 3 of 18.
      {"fork and join", {kOne, Watched(Two(9), {.fork_join = 3})}, Cause::kOverhead, 33.3},
      {"one thread works", {kOne, Watched(Two(9), {.serial = 3})}, Cause::kOverhead, 33.3},
      {"imbalance", {kOne, Watched(Two(9), {.imbalance = 3})}, Cause::kImbalance, 33.3},
      {"stolen", {kOne, Watched(Two(9), {.stolen = 3})}, Cause::kStolen, 33.3},
      // The second thread idles through all of 12 s: 12 of 24.
      {"one of two works", {kOne, Watched(Two(12), {.team = 1})}, Cause::kIdle, 50},
      // On one thread the call is busy for 12 s, on two threads for 18 s in all.
      {"threads slow each other", {kOne, Watched(Two(9), {.alone = 12})}, Cause::kSharing, 33.3},
      // 2 x 4 s in place of 2, of 2 x 10.
      {"functions",
       {Watched({.threads = 1, .seconds = 14}, {.functions = 2}),
        Watched(Two(10), {.functions = 4})},
       Cause::kFunctions,
       30},
      {"busy time grows", {kOne, Two(9)}, Cause::kUnexplained, 33.3},
      {"one point unwatched",
       {Unwatched(kOne), Watched(Two(9), {.fork_join = 3})},
       Cause::kUnexplained,
       33.3},
      {"no bytes at one point",
       {WithoutBytes(kMemoryOne), MemoryTwo(21, 200, 10)},
       Cause::kUnexplained,
       47.6},
      // 2 of 18 are fork and join, 4 are unexplained.
      {"more is unexplained", {kOne, Watched(Two(9), {.fork_join = 1})}, Cause::kUnexplained, 22.2},
      // Bytes 200 -> 400, a byte 0.1 -> 0.125 thread seconds: 22.5 by bytes, 7.5 by rate, of 52.
      {"more bytes than rate", {kMemoryOne, MemoryTwo(26, 400, 16)}, Cause::kIntensity, 43.3},
      // 200 -> 240 byte, 0.1 -> 0.2 s: 6 by bytes, 22 by rate, of 50.
      {"more rate than bytes", {kMemoryOne, MemoryTwo(25, 240, 10)}, Cause::kBandwidth, 44},
      // Arithmetic binds one thread (10 s) and bytes four (5 s, 20 of thread time): 10 of 22.
      {"bytes bind four",
       {{.threads = 1, .seconds = 10.5, .bytes = 100, .bytes_rate = 20},
        {.threads = 4, .seconds = 5.5, .bytes = 100, .flops_rate = 40, .bytes_rate = 20}},
       Cause::kBandwidth,
       45.5},
      // 400 byte at one thread, 200 at two: 20 of 42 s of thread time are gained.
      {"more cache in all",
       {{.threads = 1, .seconds = 42, .bytes = 400}, MemoryTwo(11, 200, 20)},
       Cause::kIntensity,
       -47.6},
      // Each batch of 1 waits 5 s; a batch of 4 does so once: 3.75 of 10 s for 100 flop.
      {"overhead amortised",
       {Batch(1, 10, 100, 2, {.fork_join = 5}), Batch(4, 25, 400, 8, {.fork_join = 5})},
       Cause::kOverhead,
       -37.5,
       "batch"},
      // 400 byte (20 s) for 100 flop, then 640 byte (32 s) for 1600 (80 s): 20 -> 5 s for 100 flop.
      {"weights reused",
       {Batch(1, 21, 100, 400), Batch(16, 96, 1600, 640)},
       Cause::kIntensity,
       -71.4,
       "batch"},
      // Arithmetic takes 5 s and bytes 2 s of 10 s for 100 flop, then arithmetic all of 5 s.
      {"bytes of a level that does not bind",
       {Batch(1, 10, 100, 40), Batch(4, 20, 400, 40)},
       Cause::kUnexplained,
       -30,
       "batch"},
  };
}

Trajectory TrajectoryOf(const std::vector<fakes::PointSpec>& points, const char* along) {
  return Trajectories(fakes::RunOf(points), along, 1).at(0);
}

TEST(Loss, NamesTheLargestCauseWithItsNumber) {
  for (const auto& [name, points, cause, of_points, along] : Cases()) {
    const auto trajectory = TrajectoryOf(points, along);
    const auto loss = StepOf(trajectory, trajectory.points.front(), trajectory.points.back()).loss;
    EXPECT_EQ(Key(loss.Largest()), Key(cause)) << name;
    EXPECT_NEAR(100 * loss.Share(loss.by.at(cause)), of_points, 0.06) << name;
  }
}

}  // namespace
}  // namespace dlroof::roofline
