#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 100 and 1000 flop/s, 10, 50, 100 and 200 byte/s: simple numbers of seconds.
machine::Machine MachineOfRules() {
  machine::Machine machine{.device = "gpu"};
  machine::CeilingSet& all = machine.by_threads[2];
  all.flops["fp32.vector"] = {.per_second = 100, .status = machine::CeilingStatus::kValidated};
  all.flops["fp16.matrix"] = {.per_second = 1000, .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kDram] = {.per_second = 10, .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kL3] = {.per_second = 50, .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kL2] = {.per_second = 100, .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kL1] = {.per_second = 200, .status = machine::CeilingStatus::kValidated};
  all.mixes["dram.copy.avx2"] = {.per_second = 7, .status = machine::CeilingStatus::kValidated};
  all.mixes["dram.copy-nt.avx2"] = {.per_second = 8, .status = machine::CeilingStatus::kValidated};
  all.mixes["dram.update.avx2"] = {.per_second = 10, .status = machine::CeilingStatus::kValidated};
  all.mixes["l3.copy.avx2"] = {.per_second = 49};
  all.launch_seconds = 0.5;
  return machine;
}

// A convolution of 100 flop and 10 compulsory bytes: 1 s each.
record::Record Convolution(double seconds, const std::string& type = "f32") {
  record::Record record{.op = "Conv2D",
                        .device = "gpu",
                        .library = "cudnn",
                        .type = type,
                        .algorithm = "tuned",
                        .threads = 2,
                        .cache = "cold"};
  record.repetitions = {{.seconds = seconds}};
  Work& work = record.work[Provenance::kModelled];
  work.flops["fp32.vector"] = 100;
  work.bytes[Level::kDram] = 10;
  work.launches = 1;
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

TEST(AdviceRules, LaunchesThatCostMostOfTheTime) {
  record::Record record = Convolution(10);
  record.work[Provenance::kModelled].launches = 17.4;  // 8.7 s, more than 1 s of work
  EXPECT_EQ(Evidence("overhead", record), "launches cost 87 % of the time");
  EXPECT_THAT(Advice(record), AllOf(HasSubstr("Bound by the cost of starting it"),
                                    HasSubstr("87 % of the time: put more work into one call")));
  record.repetitions = {{.seconds = 100}};  // 8.7 %: something else takes the time
  EXPECT_EQ(Evidence("overhead", record), "-");
  EXPECT_EQ(Evidence("overhead", Convolution(10)), "-");
}

// 300 launches of 333 ms. Starting them costs 500 ms each, which is not in their durations.
TEST(AdviceRules, KernelsThatEndSoonerThanTheNextCanBeLaunched) {
  record::Record record = Convolution(100);
  record.work[Provenance::kMeasured] = {.flops = {{"fp32.vector", 100}}, .launches = 300};
  EXPECT_EQ(Evidence("short-kernel", record), "-");
  EXPECT_EQ(Evidence("overhead", record), "launches cost 100 % of the time");
  record.timed = "kernels";
  EXPECT_EQ(Evidence("short-kernel", record),
            "it runs for 333 ms per launch, less than a launch costs (500 ms)");
  EXPECT_EQ(Evidence("overhead", record), "-");
  EXPECT_THAT(Advice(record),
              AllOf(HasSubstr("the time that its arithmetic roof allows; it runs for"),
                    HasSubstr(": put more work into one launch")));
  record.work[Provenance::kMeasured].launches = 200;
  EXPECT_EQ(Evidence("short-kernel", record), "-");
}

TEST(AdviceRules, TheReferenceImplementation) {
  record::Record record = Convolution(4);
  record.algorithm = "ref:any";
  EXPECT_THAT(Advice(record),
              HasSubstr("Takes 4.0x the time that its arithmetic roof allows; the library used its "
                        "reference implementation: a type or library version"));
  record.library = "reference";  // our own plain loops
  EXPECT_EQ(Evidence("reference", record), "-");
  EXPECT_EQ(Evidence("reference", Convolution(4)), "-");
}

TEST(AdviceRules, NoTensorCoreFlopsInAnFp16Convolution) {
  record::Record record = Convolution(4, "f16");
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 100}, {"fp16.matrix", 0}};
  EXPECT_EQ(Evidence("no-matrix", record), "no tensor-core FLOPs in an fp16 convolution");
  EXPECT_EQ(Evidence("few-matrix", record), "-");
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 67}, {"fp16.matrix", 33}};
  EXPECT_EQ(Evidence("no-matrix", record), "-");
  EXPECT_EQ(Evidence("few-matrix", record), "only 33 % tensor-core FLOPs in an fp16 convolution");
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 1}, {"fp16.matrix", 99}};
  EXPECT_EQ(Evidence("few-matrix", record), "-");
  record.work.erase(Provenance::kMeasured);  // a model does not know the executed FLOPs
  EXPECT_EQ(Evidence("no-matrix", record), "-");
  record::Record f32 = Convolution(4);
  f32.work[Provenance::kMeasured].flops = {{"fp32.vector", 100}};
  EXPECT_EQ(Evidence("no-matrix", f32), "-");
}

TEST(AdviceRules, ANarrowTypeThatIsEmulated) {
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

TEST(AdviceRules, RepeatedReadsFromACache) {
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
}

TEST(AdviceRules, RegisterLoadsAreNoRepeatedReads) {
  record::Record record = Convolution(20);
  record.work[Provenance::kModelled].bytes[Level::kL1] = 2000;  // 10 s: it binds
  EXPECT_THAT(Advice(record), HasSubstr("Takes 2.0x the time that its L1 bandwidth roof allows: "));
  EXPECT_EQ(Evidence("re-read", record), "-");
  record.work[Provenance::kModelled].bytes = {{Level::kDram, 10}, {Level::kL2, 1000}};
  EXPECT_EQ(Evidence("re-read", record), "L2 moves 100 times the bytes of all tensors");
}

// DRAM bytes by a model of the kernel include repeated reads and are not compulsory bytes.
TEST(AdviceRules, OnlyClosedFormsAreCompulsory) {
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
}

// On a CPU the model does not change the DRAM bytes, which are the closed form.
TEST(AdviceRules, ACpusModelLeavesTheCompulsoryBytes) {
  record::Record record = Convolution(20);
  record.device = "cpu";
  record.work[Provenance::kModelled].bytes[Level::kL2] = 1000;
  record.counting = {{"model", Provenance::kModelled, "4 rows in registers"}};
  EXPECT_EQ(Evidence("re-read", record), "L2 moves 100 times the bytes of all tensors");
}

TEST(AdviceRules, MoreDramTrafficThanCompulsory) {
  record::Record record = Convolution(8);
  record.work[Provenance::kMeasured].bytes[Level::kDram] = 23;
  EXPECT_EQ(Evidence("dram-traffic", record), "2.3 times the compulsory bytes go through DRAM");
  record.work[Provenance::kMeasured].bytes[Level::kDram] = 12;
  EXPECT_EQ(Evidence("dram-traffic", record), "-");
}

TEST(AdviceRules, MemoryAtItsRoof) {
  record::Record record = Convolution(4);
  record.work[Provenance::kModelled].bytes[Level::kDram] = 36;  // 3.6 s of 4
  EXPECT_EQ(Evidence("memory-roof", record), "DRAM transfers take 90 % of the time");
  EXPECT_THAT(Advice(record), HasSubstr("At 90 % of its DRAM bandwidth roof; DRAM transfers"));
  record.repetitions = {{.seconds = 10}};
  EXPECT_EQ(Evidence("memory-roof", record), "-");
}

TEST(AdviceRules, ACallThatWritesAsMuchAsItReadsHasTheRoofOfACopy) {
  record::Record record = Convolution(5);
  record.work[Provenance::kModelled].bytes[Level::kDram] = 36;  // 3.6 s of 5
  EXPECT_EQ(Evidence("mix", record), "-") << "its mix is unknown";
  record.op = "Softmax";
  EXPECT_EQ(Evidence("mix", record),
            "it writes as much as it reads, which allows 80 % of that roof (dram.copy-nt.avx2, "
            "8.00 B/s)");
  EXPECT_THAT(Advice(record),
              HasSubstr("Takes 1.4x the time that its DRAM bandwidth roof allows; it writes"));
  record.repetitions = {{.seconds = 10}};
  EXPECT_EQ(Evidence("mix", record), "-") << "something else bounds it";
}

TEST(Advice, IsTheBoundWithoutEvidenceAndNothingForAnUncertainTime) {
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
}

// 4 s of two threads, 3.9 s in 33 regions that kept each busy for 1.2 s.
TEST(Advice, UsesTheProposalOfTheBreakdown) {
  record::Record watched = Convolution(4);
  watched.device = "cpu";
  watched.parallel = {.mean = {4, {33, 3.9, 1.2, 2.4}, {}}, .threads = 2, .calls = 1};
  EXPECT_THAT(Advice(watched),
              testing::StartsWith(
                  "Takes 4.0x the time that its arithmetic roof allows: 33 parallel regions "
                  "cost 68 % of the time: give each region more to do"));
  watched.parallel->mean.regions = {1, 3.9, 3.9, 7.8};
  EXPECT_EQ(Advice(watched), Advice(Convolution(4)));  // not explained
}

// 100 measured flop at 100 flop/s, 30 simulated bytes at 10 byte/s.
TEST(PlaceWritten, HasABreakdownWithTheLongerRoofTimeAndItsProvenance) {
  record::Record watched = Convolution(4);
  watched.device = "cpu";
  watched.parallel = {.mean = {4, {1, 4, 4, 8}, {}}, .threads = 2, .calls = 1};
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

TEST(Advice, AtMostTwoClausesOfEvidence) {
  record::Record record = Convolution(40, "f16");
  record.algorithm = "ref";
  record.work[Provenance::kMeasured].flops = {{"fp32.vector", 400}, {"fp16.matrix", 0}};
  const auto advice = Advice(record);
  EXPECT_THAT(advice, AllOf(HasSubstr("reference implementation; no tensor-core FLOPs"),
                            testing::Not(HasSubstr("useful FLOPs"))));
  EXPECT_EQ(advice.back(), '.');
}

// What happened to f32 bwd_data with unequal padding on an H200: 160 times its roof.
TEST(ProblemRemedy, UnequalPaddingFarAboveTheRoofIsAddedByACopy) {
  auto record = Convolution(160);
  record.problem = "n32c64h112w112k64r3s3_s2p0:1x0:1";
  EXPECT_THAT(
      Advice(record),
      AllOf(HasSubstr("Takes 160.0x the time that its arithmetic roof allows; its padding differs "
                      "at the two ends: add the padding by a copy first"),
            HasSubstr("option padded"), HasSubstr("explain --try")));
}

TEST(ProblemRemedy, IsForThoseCallsAlone) {
  const auto applies = [](const record::Record& record) {
    return Advice(record).find("padding") != std::string::npos;
  };
  auto record = Convolution(160);
  record.problem = "n32c64h112w112k64r3s3_s2p0:1x0:1";
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

}  // namespace
}  // namespace dlroof::roofline
