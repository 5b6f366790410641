#include "bench/runner/bench_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/runner/run_context.h"
#include "tests/fakes/refusal.h"

namespace dlroof::runner {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string Refusal(const std::vector<std::string>& args) {
  BenchFlags flags;
  return fakes::RefusalOf([&] { ReadOwnFlags(args, flags); });
}

TEST(OwnFlags, AreReadAndAnythingElseIsRefusedByName) {
  BenchFlags flags;
  ReadOwnFlags(
      {"--dlroof_threads=3", "--dlroof_suite=a.txt", "--dlroof_suite=b.txt", "--dlroof_seed=9"},
      flags);
  EXPECT_EQ(flags.threads, 3);
  EXPECT_EQ(flags.seed, 9);
  EXPECT_THAT(flags.suites, testing::ElementsAre("a.txt", "b.txt"));
  EXPECT_EQ(Refusal({"--dlroof_thread=3"}),
            "unknown flag '--dlroof_thread'; did you mean '--dlroof_threads'? dlroof_bench --help "
            "lists all");
  EXPECT_THAT(Refusal({"--threads", "3"}), HasSubstr("did you mean '--dlroof_threads'?"));
  EXPECT_EQ(Refusal({"--dlroof_xyz"}),
            "unknown flag '--dlroof_xyz'; dlroof_bench --help lists all");
  EXPECT_THAT(Refusal({"stray"}), HasSubstr("stray"));
  EXPECT_THAT(Refusal({"--dlroof_threads=0"}), HasSubstr("4096"));
  EXPECT_THAT(Refusal({"--dlroof_cache=tepid"}), HasSubstr("tepid"));
  EXPECT_EQ(flags.cache, workload::CacheState::kWarm);
  ReadOwnFlags({"--dlroof_cache=cold-weights"}, flags);
  EXPECT_EQ(flags.cache, workload::CacheState::kColdWeights);
  EXPECT_EQ(flags.counters, "auto");
  ReadOwnFlags({"--dlroof_counters=simulate"}, flags);
  EXPECT_EQ(flags.counters, "simulate");
  EXPECT_THAT(Refusal({"--dlroof_counters=papi"}), HasSubstr("papi"));
  EXPECT_FALSE(flags.explain_seconds);
  ReadOwnFlags({"--dlroof_explain", "--dlroof_explain_seconds=25"}, flags);
  EXPECT_EQ(flags.explain_seconds, 25);
  EXPECT_THAT(Refusal({"--dlroof_explain_seconds=0"}), HasSubstr("0"));
}

TEST(BenchmarkFlags, LastMentionCountsAsInGoogleBenchmark) {
  BenchFlags flags;
  ReadBenchmarkFlags({"x", "--benchmark_format=csv", "--benchmark_format=json", "--benchmark_out=f",
                      "--benchmark_out_format=csv"},
                     flags);
  EXPECT_EQ(flags.display, OutputFormat::kJson);
  EXPECT_EQ(flags.out_file, "f");
  EXPECT_EQ(flags.out_format, OutputFormat::kCsv);
}

TEST(BenchmarkFlags, AMinimalTimeIsInSecondsOrInIterations) {
  const auto read = [](const std::string& arg) {
    BenchFlags flags;
    ReadBenchmarkFlags({"x", "--benchmark_min_time=" + arg}, flags);
    return flags.min_seconds;
  };
  EXPECT_EQ(read("0.03"), 0.03);
  EXPECT_EQ(read("0.5s"), 0.5);
  EXPECT_FALSE(read("10x"));
  EXPECT_FALSE(read(""));
}

TEST(BenchmarkFlags, UnitsAreForGoogleBenchmark18AndNewer) {
  std::vector<std::string> args = {"x", "--benchmark_min_time=1.5s"};
  AdaptMinTime(args, "1.8.3");
  EXPECT_EQ(args.back(), "--benchmark_min_time=1.5s");
  AdaptMinTime(args, "1.7.1");
  EXPECT_EQ(args, (std::vector<std::string>{"x", "--benchmark_min_time=1.5"}));
  args = {"x", "--benchmark_min_time=10x"};
  AdaptMinTime(args, "1.9.1");
  EXPECT_THAT(fakes::RefusalOf([&] { AdaptMinTime(args, "1.7.1"); }),
              testing::HasSubstr("Google Benchmark 1.7.1"));
}

TEST(BenchmarkFlags, UnknownOnesAreRefusedWithTheVersion) {
  const auto refusal = [](const std::string& arg) {
    return fakes::RefusalOf([&] { RefuseBenchmarkFlags({arg}, "1.7.1"); });
  };
  EXPECT_EQ(refusal("--dlroof_x"), "accepted");
  EXPECT_THAT(refusal("--benchmark_dry_run=true"),
              testing::HasSubstr("1.7.1, with which this program is built, does not know this flag "
                                 "(1.9.1 and newer do)"));
  EXPECT_THAT(refusal("--benchmark_filtre=x"),
              testing::HasSubstr("did you mean '--benchmark_filter'?"));
  EXPECT_THAT(refusal("--benchmark_min_time=soon"),
              testing::HasSubstr("does not accept this value"));
  EXPECT_EQ(OwnArguments({"x", "--benchmark_filter=a", "--v=1", "--dlroof_seed=2"}),
            std::vector<std::string>{"--dlroof_seed=2"});
}

TEST(DefaultFlags, YieldToTheUsers) {
  std::vector<std::string> none = {"x"};
  AddDefaultFlags(none);
  EXPECT_THAT(none, Contains("--benchmark_repetitions=9"));
  std::vector<std::string> own = {"x", "--benchmark_repetitions=2", "--benchmark_min_time=1"};
  AddDefaultFlags(own);
  EXPECT_EQ(own.size(), 3);
  std::vector<std::string> gpu = {"x", "--dlroof_device=gpu1"};
  AddDefaultFlags(gpu);
  EXPECT_THAT(gpu, Contains(testing::StartsWith("--benchmark_min_time=0.005")));
}

std::optional<runner::StoppingRule> Rule(const std::vector<std::string>& own,
                                         const std::string& asked) {
  BenchFlags flags;
  ReadBenchmarkFlags({"x", "--benchmark_repetitions=" + asked}, flags);
  ReadOwnFlags(own, flags);
  return RuleFrom(flags);
}

TEST(RuleFrom, HoldsForMoreThanOneRepetitionUnlessItIsSwitchedOff) {
  const auto rule = Rule({"--dlroof_max_noise=2.5", "--dlroof_max_seconds=7"}, "4").value();
  EXPECT_EQ(rule.repetitions, 4);
  EXPECT_EQ(rule.max_noise, 0.025);
  EXPECT_EQ(rule.max_seconds, 7);
  EXPECT_FALSE(Rule({}, "1"));
  EXPECT_FALSE(Rule({"--dlroof_max_seconds=0"}, "9"));
  EXPECT_FALSE(Rule({"--dlroof_turns=3,4"}, "9"));
  EXPECT_THAT(Refusal({"--dlroof_max_noise=0"}), HasSubstr("dlroof_max_noise"));
  EXPECT_THAT(Refusal({"--dlroof_max_seconds=-1"}), HasSubstr("dlroof_max_seconds"));
  EXPECT_THAT(Refusal({"--dlroof_disturbed=drop"}), HasSubstr("dlroof_disturbed"));
}

TEST(OfferedRepetitions, FillTheTime) {
  BenchFlags flags;
  flags.min_seconds = 0.1;
  EXPECT_EQ(OfferedRepetitions({.repetitions = 9, .max_seconds = 2}, flags), 9 + 20);
  flags.min_seconds.reset();
  EXPECT_EQ(OfferedRepetitions({.repetitions = 9, .max_seconds = 2}, flags), 9 + 1000);
}

TEST(KeptByFilter, ReadsItAsGoogleBenchmarkDoesButHidesItsSettings) {
  const std::string name = "Conv2D/gpu/cudnn/fwd/f32/n1/manual_time";
  for (const char* filter : {"", "all", ".", "gpu", "^Conv2D/.*/f32", "cpu|gpu", "-cpu", "n1/",
                             "n1$", "n2$|n1$", "n1/manual_time$", "-n2$"})
    EXPECT_TRUE(KeptByFilter(filter, name)) << filter;
  for (const char* filter : {"cpu", "^gpu", "-gpu", "-n1$", "1\\$", "n1[$]", "f32$", "-", "f{2}"})
    EXPECT_FALSE(KeptByFilter(filter, name)) << filter;
  EXPECT_THROW(KeptByFilter("(", "x"), BadInput);
}

TEST(CommandLine, IsWhatAShellTakesAgain) {
  EXPECT_EQ(CommandLine({"./a", "--filter=LSTM", "it's", "a b", ""}),
            R"(./a --filter=LSTM 'it'\''s' 'a b' '')");
}

}  // namespace
}  // namespace dlroof::runner
