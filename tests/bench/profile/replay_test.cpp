#include "bench/profile/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/profile/program_run.h"
#include "tests/fakes/primitives/logs.h"

namespace dlroof::profile {
namespace {

constexpr const char* kConvolution = "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1";

programs::ProgramSummary Program() {
  programs::ProgramSummary summary;
  summary.primitives.resize(4);
  for (std::size_t i = 0; i < 4; ++i) {
    summary.primitives[i].record = "record" + std::to_string(i);
    summary.primitives[i].seconds = static_cast<double>(10 - i);
  }
  summary.primitives[1].benchmark = kConvolution;
  summary.primitives[2].benchmark = "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1/bias";
  summary.primitives[3].benchmark = "Conv2D/cpu/onednn/fwd/f32/nonsense";
  return summary;
}

TEST(ChooseReplayed, TheLongestThatHaveABenchmark) {
  auto summary = Program();
  EXPECT_EQ(ChooseReplayed(1, summary), std::vector<std::size_t>{1});
  EXPECT_EQ(summary.primitives[0].not_replayed, Reason{"dlroof has no benchmark of this call"});
  EXPECT_FALSE(summary.primitives[2].not_replayed) << "it takes less time than the chosen one";
  EXPECT_EQ(ChooseReplayed(9, summary), (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(summary.primitives[3].not_replayed) << "a name that cannot be run";
}

TEST(ChooseReplayed, TheTimeOfAStepDecides) {
  auto summary = Program();
  summary.steps.count = 3;
  summary.primitives[2].step_seconds = 1;
  EXPECT_EQ(ChooseReplayed(2, summary), std::vector<std::size_t>{2});
}

// PyTorch's BERT: with oneDNN's fusion, and with products by another library (one kind of call).
TEST(ChooseReplayed, BertsLongestPrimitivesAreBenchmarks) {
  const auto replayed = [](const std::string& log) {
    std::ostringstream warnings;
    auto summary =
        programs::ProgramOf(ProgramRun(fakes::LogPath(log), {}, std::nullopt, warnings).context);
    std::vector<std::string> names;
    for (const auto i : ChooseReplayed(5, summary.value()))
      names.push_back(summary->primitives[i].benchmark);
    for (const auto& one : summary->primitives) EXPECT_FALSE(one.not_replayed) << one.record;
    return names;
  };
  EXPECT_THAT(replayed("pt_bert_graph_inf.onednn.log"),
              testing::ElementsAre("Matmul/cpu/onednn/fwd/f32/m512n3072k768/bias/gelu_erf/any",
                                   "Matmul/cpu/onednn/fwd/f32/m512n768k3072/bias/sum/any",
                                   "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/sum/any",
                                   "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/any",
                                   "LayerNorm/cpu/onednn/fwd/f32/m512n768/scale/shift"));
  EXPECT_THAT(replayed("pt_bert_inf.onednn.log"),
              testing::ElementsAre("Eltwise/cpu/onednn/fwd/f32/m512n3072/training/gelu_erf"));
}

record::Record Timed(const std::string& name, double seconds) {
  record::Record record{.name = name, .algorithm = "jit"};
  for (int i = 0; i < 9; ++i) record.repetitions.push_back({.seconds = seconds, .iterations = 1});
  return record;
}

TEST(AddStandaloneTimes, PutsBothTimesBesideTheProgram) {
  auto summary = Program();
  record::RunFile program;
  program.records = {Timed("record1", 3e-3), Timed("record2", 3e-3)};
  AddStandaloneTimes(
      program, {1, 2},
      {Timed(kConvolution, 2e-3), Timed(std::string(kConvolution) + "/cold", 2.5e-3)}, summary);
  const auto& alone = summary.primitives[1].standalone;
  ASSERT_TRUE(alone);
  EXPECT_DOUBLE_EQ(alone->ratio, 1.5);
  EXPECT_DOUBLE_EQ(*alone->cold_seconds, 2.5e-3);
  EXPECT_DOUBLE_EQ(alone->program_seconds, 3e-3);
  EXPECT_TRUE(alone->ratio_ci95);
  EXPECT_FALSE(summary.primitives[2].standalone);
  EXPECT_EQ(summary.primitives[2].not_replayed, Reason{"dlroof_bench did not measure it"});
}

TEST(AddStandaloneTimes, AFailureIsAReason) {
  auto summary = Program();
  record::Record failed{
      .name = kConvolution, .status = record::Status::kUnsupported, .reason = "no such type"};
  record::RunFile program;
  program.records = {Timed("record1", 3e-3)};
  AddStandaloneTimes(program, {1}, {failed}, summary);
  EXPECT_FALSE(summary.primitives[1].standalone);
  EXPECT_EQ(summary.primitives[1].not_replayed, Reason{"unsupported: no such type"});
}

}  // namespace
}  // namespace dlroof::profile
