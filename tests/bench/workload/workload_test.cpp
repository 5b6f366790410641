#include "bench/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"

namespace dlroof::workload {
namespace {

using testing::HasSubstr;

constexpr const char* kName = "Conv2D/cpu/reference/fwd/f64/n1c1h8w8k1r3s3";  // 43 characters

std::string Refusal(const std::string& name) {
  return fakes::RefusalOf([&] { MakeWorkload(name); });
}

TEST(MakeWorkload, ReadsTheOptionsThatEveryBackendHas) {
  const auto plain = MakeWorkload(kName);
  EXPECT_FALSE(plain.threads);
  EXPECT_EQ(plain.cache, CacheState::kWarm);
  const auto both = MakeWorkload(std::string(kName) + "/bias/threads2/cold");
  EXPECT_EQ(both.threads, 2);
  EXPECT_EQ(both.cache, CacheState::kCold);
  EXPECT_EQ(ToText(both.name), std::string(kName) + "/bias/threads2/cold");
  EXPECT_EQ(MakeWorkload(std::string(kName) + "/cold-weights").cache, CacheState::kColdWeights);
}

TEST(MakeWorkload, OneBenchmarkHasOneName) {
  const std::string name = kName;
  EXPECT_THAT(Refusal(name + "/cold/threads2"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/threads2/threads2"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/cold/cold"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/relu/bias"),
              HasSubstr("column 50: 'bias' cannot come after 'relu'"));
  EXPECT_THAT(Refusal(name + "/nhwc"), HasSubstr("has no option 'nhwc' (bias relu)"));
  for (const std::string bad :
       {"/threads0", "/threads02", "/threads5000", "/threads", "/threads2x"})
    EXPECT_THAT(Refusal(name + bad), HasSubstr("column ")) << bad;
}

TEST(RegisterBackend, ALibraryCompletesTheBackendThatItsOpRegistered) {
  constexpr const char* kBenchmark = "Made/cpu/up/fwd/f32/n1/threads2";
  const auto read = [](const BenchmarkName& name) {
    if (name.problem != "n1") throw BadInput("column 21: no such problem");
    return Workload{.repro = "made up"};
  };
  RegisterBackend({"Made", "cpu", "up", read, "a future library"});
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { MakeWorkload(kBenchmark).prepare({}); }),
            "this build of dlroof was made without a future library");
  EXPECT_THAT(Refusal("Made/cpu/up/fwd/f32/n2"), HasSubstr("no such problem"));

  const auto prepare = [](const BenchmarkName& name, const RunSettings&) {
    return PreparedCall{.algorithm = ToText(name)};
  };
  RegisterBackend({.op = "Made", .device = "cpu", .library = "up", .prepare = prepare});
  const auto workload = MakeWorkload(kBenchmark);
  EXPECT_EQ(workload.prepare({}).algorithm, "Made/cpu/up/fwd/f32/n1");
  EXPECT_EQ(workload.repro, "made up");
  EXPECT_EQ(workload.threads, 2);
  EXPECT_THAT(Refusal("Made/cpu/up/fwd/f32/n2"), HasSubstr("no such problem"));
}

std::string NameRefusal(const std::string& text) {
  return fakes::RefusalOf([&] { ParseBenchmarkName(text); });
}

TEST(BenchmarkName, TextAndPartsAreInverse) {
  for (const std::string text : {"Conv2D/cpu/onednn/fwd/f32/n16c64h112w112k64r3s3_s2p1",
                                 "LSTM/gpu/cudnn/fwd_training/bf16/t16n16i32h64/cold/nhwc"})
    EXPECT_EQ(ToText(ParseBenchmarkName(text)), text);
  const auto name = ParseBenchmarkName("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/cold");
  EXPECT_EQ(name.direction, "bwd");
  EXPECT_THAT(name.options, testing::ElementsAre("cold"));
}

TEST(BenchmarkName, RefusalsNameTheColumn) {
  EXPECT_THAT(NameRefusal("LSTM/cpu/onednn"), HasSubstr("column 16"));
  EXPECT_THAT(NameRefusal("LSTM//onednn/bwd/f32/t1"), HasSubstr("column 6"));
  EXPECT_THAT(NameRefusal("LSTM/cpu/onednn/bwd/f32/"), HasSubstr("column 25"));
  EXPECT_THAT(NameRefusal("LSTM/c pu/onednn/bwd/f32/t1"), HasSubstr("column 7"));
}

constexpr const char* kConv = "Conv2D/cpu/onednn/fwd/f32/n16c8h12w12k16r3s3_p1";
constexpr const char* kLstm = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32";

TEST(WithSize, IsTheNameOfTheOtherProblem) {
  EXPECT_EQ(WithSize(kConv, "batch", 4), "Conv2D/cpu/onednn/fwd/f32/n4c8h12w12k16r3s3_p1");
  EXPECT_EQ(WithSize(kConv, "image", 24), "Conv2D/cpu/onednn/fwd/f32/n16c8h24w24k16r3s3_p1");
  EXPECT_EQ(WithSize(kConv, "stride", 2), "Conv2D/cpu/onednn/fwd/f32/n16c8h12w12k16r3s3_s2p1");
  EXPECT_EQ(WithSize(kLstm, "layers", 2), "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32l2");
  EXPECT_EQ(WithSize(std::string(kLstm) + "l2", "layers", 1), kLstm);
  EXPECT_EQ(WithSize(std::string(kLstm) + "/threads1/cold", "hidden", 64),
            "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h64/threads1/cold");
}

TEST(WithSize, RefusesWhatCannotBe) {
  EXPECT_THAT(fakes::RefusalOf([] { WithSize(kConv, "hidden", 4); }),
              HasSubstr("--sweep=hidden: Conv2D has no such parameter; it has batch, filters"));
  EXPECT_THAT(fakes::RefusalOf([] { WithSize(kConv, "kernel", 99); }),
              HasSubstr("kernel 99: Conv2D/cpu/onednn/fwd/f32/n16c8h12w12k16r99s99_p1: "));
  EXPECT_THAT(fakes::RefusalOf([] { WithSize("Conv2D/cpu/onednn/fwd/f32/n16q", "batch", 4); }),
              HasSubstr("column"));
  EXPECT_THAT(fakes::RefusalOf([] { WithSize("Sort/cpu/a/fwd/f32/n16", "batch", 4); }),
              HasSubstr("no benchmark Sort"));
}

TEST(SizeOf, IsTheNamesOwnValue) {
  EXPECT_EQ(SizeOf(kConv, "batch"), 16);
  EXPECT_EQ(SizeOf(kLstm, "layers"), 1) << "left out";
  EXPECT_THAT(fakes::RefusalOf([] { SizeOf(kConv, "layers"); }), HasSubstr("no such parameter"));
}

TEST(WithThreads, StandsBeforeTheCachesState) {
  EXPECT_EQ(WithThreads(kConv, 2), std::string(kConv) + "/threads2");
  EXPECT_EQ(WithThreads(std::string(kConv) + "/relu/cold", 2),
            std::string(kConv) + "/relu/threads2/cold");
}

TEST(WithThreads, RefusesASecondNumberAndAnotherDevice) {
  EXPECT_THAT(fakes::RefusalOf([] { WithThreads(std::string(kConv) + "/threads1", 2); }),
              HasSubstr("the name already fixes the number of threads; remove threads1"));
  EXPECT_THAT(
      fakes::RefusalOf([] { WithThreads("Conv2D/gpu/cudnn/fwd/f32/n16c8h12w12k16r3s3_p1", 2); }),
      HasSubstr("only benchmarks on the CPU have a number of threads to sweep"));
}

// Reads a run file with one record of this name and work. Returns the warnings.
std::string WarningsOf(const std::string& name, const Work& work) {
  const record::RunFile run{.records = {{.name = name, .work = {{Provenance::kModelled, work}}}}};
  std::ostringstream warnings;
  record::ParseRunFile(roofline::ToJson(run).dump(), "run.json", warnings);
  return warnings.str();
}

TEST(FlopsOfName, OfEveryOperatorAreThoseThatFilesMayState) {
  const char* const names[] = {"Attention/cpu/reference/fwd/f64/b2h4q5k7d3_kv2w3tl",
                               "Conv2D/cpu/reference/bwd_data/f64/n1c2h6w5k4r3s3_p1",
                               "Conv3D/cpu/onednn/fwd/f32/n1c2d3h4w5k4t3r3s3/bias",
                               "Eltwise/cpu/reference/fwd/f64/m3n4/gelu_tanh",
                               "GroupedMatmul/cpu/reference/fwd/f64/g2m4n3k5",
                               "LSTM/cpu/reference/fwd_training/f64/t2n3i4h5l2p3bi",
                               "LayerNorm/cpu/reference/fwd/f64/m3n4/scale/shift",
                               "Matmul/cpu/reference/bwd_weights/f64/b2m3n4k5",
                               "RmsNorm/cpu/reference/fwd/f64/m3n4/scale",
                               "Softmax/cpu/reference/fwd/f64/m3n4",
                               "SwiGlu/cpu/reference/fwd/f64/m3n4"};
  std::set<std::string> ops;
  for (const std::string name : names) {
    ops.insert(name.substr(0, name.find('/')));
    const Work work = MakeWorkload(name).prepare({}).modelled;
    EXPECT_EQ(WarningsOf(name, work), "");
    for (const double factor : {100.0, 1.5, 0.01, 0.0}) {
      Work wrong = work, without_parts = work;
      for (auto& [pipe, flops] : wrong.flops) flops *= factor;
      EXPECT_THAT(WarningsOf(name, wrong), HasSubstr("times those of its name: left out"))
          << name << " x " << factor;
      for (auto& [part, flops] : wrong.parts) flops *= factor;
      EXPECT_THAT(WarningsOf(name, wrong), HasSubstr("times those of its name: left out"))
          << name << " x " << factor;
      if (factor == 1.5) continue;
      without_parts.flops = wrong.flops;
      without_parts.parts.clear();
      EXPECT_THAT(WarningsOf(name, without_parts), HasSubstr("times those of its name: left out"));
    }
  }
  for (const auto* op : AllOps()) EXPECT_TRUE(ops.contains(op->name)) << op->name;
}

}  // namespace
}  // namespace dlroof::workload
