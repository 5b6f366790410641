#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "bench/runner/bench_flags.h"
#include "bench/runner/command.h"
#include "bench/runner/parts_of_run.h"
#include "bench/runner/run_context.h"
#include "tests/fakes/refusal.h"

namespace dlroof::runner {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::MatchesRegex,
    testing::AllOf, testing::StartsWith;

// A program with a command that takes options of each kind, and a command below a command.
struct Example {
  Command Program() {
    return {
        .name = "program",
        .about = "a program",
        .commands = {
            {.name = "measure", .about = "measures", .options = Options(), .run = [] { return 7; }},
            {.name = "cluster",
             .about = "many nodes",
             .commands = {{.name = "report",
                           .about = "a report",
                           .options = {{"FILE", &file, "a file", {.required = true}}},
                           .run = [] { return 8; }}}}}};
  }

  std::vector<Option> Options() {
    return {{"FILES", &files, "files", {.required = true}},
            {"ARGUMENTS", &arguments, "after --", {.type = kFlag}},
            {"-q,--quick", &quick, "look briefly", {.excludes = {"--threads"}}},
            {"--threads", &threads, "number of threads", {.limits = Range{1, 8}}},
            {"--clock", &clock, "clock", {.limits = Range{0.5, 2}}},
            {"--check", &check, "check first"},
            {"--levels", &levels, "levels", {.one_each = true, .comma = true}},
            {"--form", &form, "form", {.choices = {"table", "json"}}},
            {"--ab", &ab, "two", {.one_each = true, .words = 2}},
            {"--budget", &budget, "seconds", {.limits = AtLeastZero{}}}};
  }

  int Run(std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return runner::Run(Program(), "1.2.3", static_cast<int>(argv.size()), argv.data());
  }

  bool quick = false;
  std::optional<bool> check;
  std::optional<int> threads;
  double clock = 1, budget = 5;
  std::string file, form = "table";
  std::vector<std::string> files, arguments, levels, ab;
};

TEST(Run, RunsTheNamedCommandWithItsValuesAndTheWordsAfterDashes) {
  Example example;
  EXPECT_EQ(example.Run({"measure", "a", "b", "--threads", "3", "--clock=1.5", "--check=false",
                         "--levels=l1,l2", "--levels", "dram", "--form=json", "--ab", "x", "y",
                         "--budget=0"}),
            7);
  EXPECT_THAT(example.files, ElementsAre("a", "b"));
  EXPECT_EQ(example.threads, 3);
  EXPECT_EQ(example.clock, 1.5);
  EXPECT_EQ(example.check, false);
  EXPECT_THAT(example.levels, ElementsAre("l1", "l2", "dram"));
  EXPECT_EQ(example.form, "json");
  EXPECT_THAT(example.ab, ElementsAre("x", "y"));
  EXPECT_EQ(example.budget, 0);
  EXPECT_EQ(example.Run({"cluster", "report", "c.json"}), 8);
  EXPECT_EQ(example.file, "c.json");
  Example dashes;
  EXPECT_EQ(dashes.Run({"measure", "a", "--ab", "x", "y", "--", "b", "--quick", "--", "c"}), 7);
  EXPECT_THAT(dashes.files, ElementsAre("a"));
  EXPECT_THAT(dashes.arguments, ElementsAre("b", "--quick", "--", "c"));
  EXPECT_FALSE(dashes.quick);
  // A command without such an option takes them as arguments.
  EXPECT_EQ(dashes.Run({"cluster", "report", "--", "-odd.json"}), 8);
  EXPECT_EQ(dashes.file, "-odd.json");
}

TEST(Run, RefusesWhatBreaksARule) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"measure", "a", "--threads=9"},
        {"measure", "a", "--clock=0.1"},
        {"measure", "a", "--form=xml"},
        {"measure", "a", "--budget=-1"},
        {"measure", "a", "--threads"},
        {"measure", "a", "--quick", "--threads=1"},
        {"measure", "a", "--slow"},
        {"cluster", "report"},
        {"cluster"},
        {}}) {
    Example example;
    testing::internal::CaptureStderr();
    EXPECT_EQ(example.Run(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                MatchesRegex("program: .+ \\(program --help lists commands and flags\\)\n"));
  }
}

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
  EXPECT_THAT(flags.suites, ElementsAre("a.txt", "b.txt"));
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
  EXPECT_FALSE(flags.explain_seconds);
  ReadOwnFlags({"--dlroof_explain", "--dlroof_explain_seconds=25"}, flags);
  EXPECT_EQ(flags.explain_seconds, 25);
  EXPECT_THAT(Refusal({"--dlroof_explain_seconds=0"}), HasSubstr("0"));
}

TEST(BenchmarkFlags, LastMentionCountsAsInGoogleBenchmarkAndAMinimalTimeIsInSecondsOrInIterations) {
  BenchFlags flags;
  ReadBenchmarkFlags({"x", "--benchmark_format=csv", "--benchmark_format=json", "--benchmark_out=f",
                      "--benchmark_out_format=csv"},
                     flags);
  EXPECT_EQ(flags.display, OutputFormat::kJson);
  EXPECT_EQ(flags.out_file, "f");
  EXPECT_EQ(flags.out_format, OutputFormat::kCsv);
  const auto read = [](const std::string& arg) {
    BenchFlags timed;
    ReadBenchmarkFlags({"x", "--benchmark_min_time=" + arg}, timed);
    return timed.min_seconds;
  };
  EXPECT_EQ(read("0.03"), 0.03);
  EXPECT_EQ(read("0.5s"), 0.5);
  EXPECT_FALSE(read("10x"));
  EXPECT_FALSE(read(""));
}

TEST(BenchmarkFlags, UnitsAreForGoogleBenchmark18AndNewerAndUnknownOnesAreRefusedWithTheVersion) {
  std::vector<std::string> args = {"x", "--benchmark_min_time=1.5s"};
  AdaptMinTime(args, "1.8.3");
  EXPECT_EQ(args.back(), "--benchmark_min_time=1.5s");
  AdaptMinTime(args, "1.7.1");
  EXPECT_EQ(args, (std::vector<std::string>{"x", "--benchmark_min_time=1.5"}));
  args = {"x", "--benchmark_min_time=10x"};
  AdaptMinTime(args, "1.9.1");
  EXPECT_THAT(fakes::RefusalOf([&] { AdaptMinTime(args, "1.7.1"); }),
              HasSubstr("Google Benchmark 1.7.1"));
  const auto refusal = [](const std::string& arg) {
    return fakes::RefusalOf([&] { RefuseBenchmarkFlags({arg}, "1.7.1"); });
  };
  EXPECT_EQ(refusal("--dlroof_x"), "accepted");
  EXPECT_THAT(refusal("--benchmark_dry_run=true"),
              HasSubstr("1.7.1, with which this program is built, does not know this flag "
                        "(1.9.1 and newer do)"));
  EXPECT_THAT(refusal("--benchmark_filtre=x"), HasSubstr("did you mean '--benchmark_filter'?"));
  EXPECT_THAT(refusal("--benchmark_min_time=soon"), HasSubstr("does not accept this value"));
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
  EXPECT_THAT(gpu, Contains(StartsWith("--benchmark_min_time=0.005")));
}

std::optional<runner::StoppingRule> Rule(const std::vector<std::string>& own,
                                         const std::string& asked) {
  BenchFlags flags;
  ReadBenchmarkFlags({"x", "--benchmark_repetitions=" + asked}, flags);
  ReadOwnFlags(own, flags);
  return RuleFrom(flags);
}

TEST(RuleFrom, HoldsForMoreThanOneRepetitionUnlessItIsSwitchedOffAndFillsTheTime) {
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

nlohmann::json Counters(const std::string& choice) {
  return RunContext("dlroof_bench", {.cpus = {0}, .counters = choice}).at("counters");
}

// A record made under `auto` shows modelled bytes. The context has the reason of a silent source.
TEST(RunContext, HasTheReasonOfASourceThatCannotCountAndAsksNoOther) {
  static const bool registered =
      RegisterCounterSource({"locked", "cpu", Provenance::kMeasured,
                             [] { return Reason{"the fake keeps its counters to root"}; },
                             [](const CountRequest&) { return Counted{}; }});
  ASSERT_TRUE(registered);
  const auto counters = Counters("auto");
  EXPECT_EQ(counters.at("asked"), "auto");
  EXPECT_EQ(counters.at("unavailable").at("locked"), "the fake keeps its counters to root");
  EXPECT_EQ(Counters("model").dump(), R"({"asked":"model"})");
  EXPECT_EQ(Counters("off").dump(), R"({"asked":"off"})");
  const auto perf = Counters("perf");
  const auto silent = perf.value("unavailable", nlohmann::json::object());
  for (const auto& [source, why] : silent.items()) EXPECT_EQ(source, "perf") << why;
}

// Readers of the file need no names of ops.
TEST(RunContext, HasWhatReportsNeedToKnowOfTheOps) {
  const auto context = RunContext("dlroof_bench", {.cpus = {0}});
  EXPECT_EQ(context.at("ops").at("Conv2D").at("noun"), "convolution");
  EXPECT_EQ(context.at("ops").at("LSTM").at("sweep").at(1).dump(), R"({"key":"t","name":"steps"})");
  for (const auto* key : {"flops.conv2d", "flops.fma", "flops.lstm"})
    EXPECT_TRUE(context.at("conventions").contains(key)) << key;
}

using Pipes = std::set<std::string>;

TEST(NeededPipes, AreThoseOfTheTypesOfElementwisePartsAndOfAConversion) {
  const std::pair<const char*, Pipes> cases[] = {
      {"f32", {"fp32.vector"}},
      {"bf16", {"bf16.matrix", "bf16.vector", "fp32.vector"}},
      {"f16", {"fp16.matrix", "fp16.vector", "fp32.vector"}},
      {"f64", {"fp64.matrix", "fp64.vector", "fp32.vector"}},
      {"int8", {"int8.matrix", "int8.vector", "fp32.vector"}},
      {"s8s8f32", {"int8.matrix", "int8.vector", "fp32.vector"}},
      {"u8u8u8u8", {"int8.matrix", "int8.vector", "fp32.vector"}},
      {"bf16f16f32", {"bf16.matrix", "bf16.vector", "fp16.matrix", "fp16.vector", "fp32.vector"}}};
  for (const auto& [type, pipes] : cases) EXPECT_EQ(NeededPipes(type, ""), pipes) << type;
  const auto converted = NeededPipes("f32", "fpmath=bf16");
  EXPECT_TRUE(converted.contains("bf16.matrix") && converted.contains("fp32.vector"));
}

cpu::Environment OneVariable(const std::string& name, const std::string& value) {
  return [=](const std::string& variable) {
    return variable == name ? std::optional(value) : std::nullopt;
  };
}

TEST(RefusePinning, NamesTheVariableAndAThreadLimitMayBeThatOfTheRun) {
  EXPECT_NO_THROW(RefusePinning(OneVariable("OMP_NUM_THREADS", "2")));
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    EXPECT_THAT(fakes::RefusalOf(RefusePinning, OneVariable(name, "x")), StartsWith(name));
  EXPECT_NO_THROW(RefuseThreadLimit(2, OneVariable("OMP_THREAD_LIMIT", "2")));
  EXPECT_NO_THROW(RefuseThreadLimit(8, OneVariable("OMP_NUM_THREADS", "2")));
}

TEST(QuotaWatch, SaysHowOftenTheQuotaStoppedTheProcessIfItWasRead) {
  const auto stat = std::make_shared<std::string>("nr_periods 10\nnr_throttled 4\n");
  const cpu::CpuQuota quota{.cpus = 0.5, .file = "/g/cpu.max", .stat = "/g/cpu.stat"};
  const QuotaWatch watch(quota, [stat](const std::filesystem::path& path) {
    return path == "/g/cpu.stat" ? *stat : "";
  });
  EXPECT_EQ(watch.Stopped(watch.Read()), std::nullopt);
  *stat = "nr_periods 30\nnr_throttled 11\n";
  EXPECT_THAT(watch.Stopped(watch.Read()).value().text,
              AllOf(HasSubstr("the CPU quota of 0.5 CPUs (/g/cpu.max) stopped this "
                              "process in 7 of 20 periods"),
                    HasSubstr("no waiting ends that")));
  stat->clear();
  EXPECT_EQ(watch.Stopped({}), std::nullopt);
  // The counts of the control group before the run are not the run's.
  std::string late;
  const QuotaWatch blind({.cpus = 0.5, .file = "/g/cpu.max", .stat = "/g/cpu.stat"},
                         [&late](const std::filesystem::path&) { return late; });
  late = "nr_periods 3000\nnr_throttled 400\n";
  EXPECT_EQ(blind.Stopped(blind.Read()), std::nullopt);
}

}  // namespace
}  // namespace dlroof::runner
