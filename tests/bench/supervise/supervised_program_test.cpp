#include "bench/supervise/supervised_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::supervise {
namespace {

using testing::ElementsAre;

TEST(SupervisedProgram, AFilterKeepsTheOneName) {
  EXPECT_EQ(ExactFilter("LSTM/cpu/t1n2_p0:1x0:1/real_time"), "^LSTM/cpu/t1n2_p0:1x0:1/real_time$");
  EXPECT_EQ(ExactFilter("BM<int, 2>(a+b).*[x]"), "^BM<int, 2>\\(a\\+b\\)\\.\\*\\[x\\]$");
}

TEST(SupervisedProgram, TheLastMentionOfAFlagCounts) {
  EXPECT_EQ(FlagValue({"--a=1", "--b=2", "--a=3"}, "a"), "3");
  EXPECT_EQ(FlagValue({"--ab=1"}, "a"), std::nullopt);
}

TEST(SupervisedProgram, CeilingsAreNeededAtTheThreadCountsOfRunAndNames) {
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/real_time"}, {}, 8), ElementsAre(1, 8));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads4/cold/manual_time", "LSTM/n1"}, {}, 8),
              ElementsAre(1, 4, 8));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads4/real_time"}, {"--dlroof_threads=2"}, 8),
              ElementsAre(1, 2, 4));
  // Refused by its name, not measured.
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads16/real_time"}, {}, 8), ElementsAre(1, 8));
}

TEST(SupervisedProgram, WhereResultsGoIsNotForTheProgramsArguments) {
  EXPECT_THROW(CheckArguments({"--benchmark_out=x"}), BadInput);
  EXPECT_THROW(CheckArguments({"--dlroof_turns=3,4"}), BadInput);
  EXPECT_NO_THROW(CheckArguments({"--benchmark_filter=x", "--benchmark_repetitions=3"}));
}

TEST(SupervisedProgram, TheCommandReplacesFilterAndCeilings) {
  const ProcessPaths paths = {"run.json", "out", "err"};
  EXPECT_THAT(
      CommandFor("bench", {"--benchmark_filter=x", "--dlroof_seed=3"}, "n1", "m.json", paths),
      ElementsAre("bench", "--dlroof_seed=3", "--benchmark_filter=^n1$", "--benchmark_out=run.json",
                  "--dlroof_live_check=false", "--dlroof_machine=m.json"));
  // A program without dlroof gets Google Benchmark's flags.
  EXPECT_THAT(CommandFor("bench", {"--benchmark_filter=x"}, "BM_A/8", "m.json", paths, true),
              ElementsAre("bench", "--benchmark_filter=^BM_A/8$", "--benchmark_out=run.json",
                          "--benchmark_repetitions=9"));
}

// Lines of oneDNN 3.2 and 3.6 (shortened), between other output.
constexpr const char* kOld =
    "onednn_verbose,info,oneDNN v3.2.0 (commit a1)\n"
    "onednn_verbose,info,prim_template:operation,engine,primitive,implementation,prop_kind,"
    "memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
    "onednn_verbose,create:cache_miss,cpu,convolution,jit:avx2,forward_inference,"
    "src_f32::blocked:aBcd8b:f0 wei_f32::blocked:ABcd8b8a:f0 bia_undef::undef::: "
    "dst_f32::blocked:aBcd8b:f0,,alg:convolution_direct,mb1_ic16oc32,0.5\n"
    "Benchmark   Time\n"
    "onednn_verbose,create:cache_miss,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 "
    "dst_f32::blocked:aBcd8b:f0,,,1x16x14x14,0.1\n";
constexpr const char* kNew =
    "onednn_verbose,v1,info,template:operation,engine,primitive,implementation,prop_kind,"
    "memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,convolution,brgconv:avx2,forward_inference,"
    "src:f32::blocked:acdb::f0 wei:f32::blocked:Acdb24a::f0 bia:undef::undef::: "
    "dst:f32::blocked:acdb::f0,,alg:convolution_direct,mb1_ic16oc32,0.5\n"
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,reorder,jit:uni,undef,"
    "src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0,,,1x16x14x14,0.1\n";

TEST(PrimitiveChoice, IsTheImplementationAndTheLayoutOfEachTensor) {
  const auto choice = ChoiceIn(kOld).value();
  EXPECT_EQ(choice["implementation"], "jit:avx2");
  EXPECT_EQ(choice["layouts"].dump(),
            R"({"dst":"f32 aBcd8b","src":"f32 aBcd8b","wei":"f32 ABcd8b8a"})");
}

TEST(PrimitiveChoice, OfTwoVersionsIsComparedTensorByTensor) {
  EXPECT_THAT(
      ChangesBetween(ChoiceIn(kOld).value(), ChoiceIn(kNew).value()),
      ElementsAre("implementation: jit:avx2 -> brgconv:avx2",
                  "layout of dst: f32 aBcd8b -> f32 acdb", "layout of src: f32 aBcd8b -> f32 acdb",
                  "layout of wei: f32 ABcd8b8a -> f32 Acdb24a"));
  EXPECT_THAT(ChangesBetween(ChoiceIn(kNew).value(), ChoiceIn(kNew).value()), ElementsAre());
}

TEST(PrimitiveChoice, ATensorOfOneVersionOnlyIsAChange) {
  const nlohmann::json base = {{"implementation", "ref"}, {"layouts", {{"src", "f32 ab"}}}};
  auto contender = base;
  contender["layouts"]["scratchpad"] = "u8 a";
  EXPECT_THAT(ChangesBetween(base, contender), ElementsAre("layout of scratchpad: none -> u8 a"));
}

std::string Created(const std::string& kind, const std::string& implementation) {
  return "onednn_verbose,create:cache_miss,cpu," + kind + "," + implementation +
         ",backward,src_f32::blocked:ab:f0,,,1,0.1\n";
}

// A backward LSTM needs a forward primitive; what an explanation times comes later.
TEST(PrimitiveChoice, IsTheLastOneOfTheFirstKind) {
  const auto log = Created("reorder", "r") + Created("rnn", "forward") +
                   Created("rnn", "backward") + Created("eltwise", "e") + Created("reorder", "r");
  EXPECT_EQ(ChoiceIn(log).value()["implementation"], "backward");
}

TEST(PrimitiveChoice, IsUnknownWithoutAPrimitive) {
  EXPECT_FALSE(ChoiceIn(""));
  EXPECT_FALSE(ChoiceIn("Benchmark   Time\n" + Created("reorder", "r")));
}

}  // namespace
}  // namespace dlroof::supervise
