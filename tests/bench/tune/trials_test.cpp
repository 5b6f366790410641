#include "bench/tune/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "baselines/tuning/tune.h"
#include "bench/tune/knob_file.h"
#include "bench/tune/space.h"
#include "bench/tune/tune_command.h"
#include "tests/fakes/refusal.h"

namespace dlroof::tune {
namespace {

TEST(SystemLoad, ReadsTheFirstLineOfProcStat) {
  // 100 ticks a second: user 100 + nice 20 + system 30 + irq 5 + softirq 5, idle 700 + wait 40.
  const auto use = ParseCpuUse("cpu  100 20 30 700 40 5 5 60 9 9\ncpu0 1 1 1 1 1 1 1 1\n", 100);
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->busy, 1.6);
  EXPECT_DOUBLE_EQ(use->idle, 7.4);
  EXPECT_DOUBLE_EQ(use->stolen, 0.6);
  EXPECT_FALSE(ParseCpuUse("cpu 1 2 3", 100));
  EXPECT_FALSE(ParseCpuUse("", 100));
}

TEST(SystemLoad, OurOwnTimeIsNobodyElses) {
  // 20 s in all: 12 busy, 10 of them ours; 1 of the host.
  EXPECT_EQ(SystemLoadText({1, 1, 1}, {13, 8, 2}, 10),
            "other programs used 10 % of the CPUs' time, the host 5 %");
  EXPECT_EQ(SystemLoadText({1, 1, 1}, {13, 9, 1}, 13),
            "other programs used 0 % of the CPUs' time, the host 0 %");
  EXPECT_EQ(SystemLoadText({1, 1, 1}, {1, 1, 1}, 0), std::nullopt);
}

}  // namespace
namespace {

breakdown::Breakdown BreakdownOf(breakdown::ComponentKind largest) {
  return {{{breakdown::ComponentKind::kRoof, 5, Provenance::kModelled, ""},
           {largest, 3, Provenance::kMeasured, ""},
           {breakdown::ComponentKind::kCall, 1, Provenance::kMeasured, ""}},
          9,
          1,
          std::nullopt};
}

TEST(ProposalOf, IsOneThreadWhereThreadsCostTheMost) {
  for (const auto kind : {breakdown::ComponentKind::kForkJoin, breakdown::ComponentKind::kImbalance,
                          breakdown::ComponentKind::kSerial, breakdown::ComponentKind::kSharing,
                          breakdown::ComponentKind::kStolen}) {
    const auto proposal = ProposalOf(BreakdownOf(kind), 2);
    ASSERT_TRUE(proposal) << breakdown::Key(kind);
    EXPECT_EQ(proposal->setting, (tuning::Setting{{"threads", "1"}}));
  }
}

TEST(ProposalOf, IsAbsentWhereNoSettingHelps) {
  EXPECT_FALSE(ProposalOf(BreakdownOf(breakdown::ComponentKind::kForkJoin), 1));
  for (const auto kind : {breakdown::ComponentKind::kFunctions, breakdown::ComponentKind::kProducts,
                          breakdown::ComponentKind::kLevels, breakdown::ComponentKind::kUnexplained,
                          breakdown::ComponentKind::kCall})
    EXPECT_FALSE(ProposalOf(BreakdownOf(kind), 2)) << breakdown::Key(kind);
}

}  // namespace
namespace {

TEST(CommandUnder, ASettingIsVariablesArgumentsAndOneListOfLibraries) {
  const auto tuned = CommandUnder({"app", "-v"}, {{"--fast", ""},
                                                  {"--size", "3"},
                                                  {"LD_PRELOAD:allocator", "/a.so"},
                                                  {"LD_PRELOAD:waiting", "/b.so"},
                                                  {"OMP_NUM_THREADS", "2"}});
  EXPECT_EQ(tuned.command, (std::vector<std::string>{"app", "-v", "--fast", "--size=3"}));
  EXPECT_EQ(tuned.environment,
            (Variables{{"LD_PRELOAD", "/a.so:/b.so"}, {"OMP_NUM_THREADS", "2"}}));
  EXPECT_EQ(ShellCommand(tuned), "LD_PRELOAD=/a.so:/b.so OMP_NUM_THREADS=2 app -v --fast --size=3");
  EXPECT_EQ(ExportLines({"app"}, {{"A", "it's 1 2"}, {"--fast", ""}}),
            "export A='it'\\''s 1 2'\n# and the argument --fast\n");
}

double Seconds(const tuning::TrialResult& result) {
  EXPECT_FALSE(result.failure);
  return result.windows.at(0).seconds;
}

TEST(ResultOf, IsTheWallTimeTheMedianReadOrOneOverARate) {
  const ProcessEnd well;
  EXPECT_EQ(Seconds(ResultOf(well, 2.5, "", "", {})), 2.5);
  EXPECT_EQ(Seconds(ResultOf(well, 9, "step 5 ms\nstep 3 ms\nstep 4 ms", "", {"step ([0-9]+)"})),
            4);
  EXPECT_EQ(Seconds(ResultOf(well, 9, "images/s: 8\n", "", {"images/s: ([0-9]+)", true})), 0.125);
}

TEST(ResultOf, AFailureHasItsReason) {
  const ProcessEnd well;
  EXPECT_EQ(ResultOf({3, 0}, 1, "", "Traceback:\nValueError: no\n\n", {}).failure->text,
            "exit code 3: ValueError: no");
  EXPECT_EQ(ResultOf({0, 11}, 1, "", "", {}).failure->text, "signal 11 (Segmentation fault)");
  EXPECT_EQ(ResultOf(well, 1, "none", "", {"t=([0-9]+)"}).failure->text,
            "no number in its output matches 't=([0-9]+)'");
  EXPECT_EQ(ResultOf(well, 1, "t=0", "", {"t=([0-9]+)"}).failure->text,
            "'t=([0-9]+)' read 0, expected a number above 0");
}

TEST(CommandTrial, RunsTheProgramUnderItsSetting) {
  const auto trial =
      CommandTrial({{"sh", "-c", "echo t=$DLROOF_T; test \"$DLROOF_T\" != 3"}, {"t=([0-9]+)"}});
  EXPECT_EQ(Seconds(*trial({{"DLROOF_T", "7"}}, 60)), 7);
  EXPECT_EQ(trial({{"DLROOF_T", "3"}}, 60)->failure->text, "exit code 1");
  EXPECT_EQ(trial({{"DLROOF_T", "x"}}, 60)->failure->text,
            "no number in its output matches 't=([0-9]+)'");
  EXPECT_EQ(CommandTrial({{"sleep", "100"}})({}, 0.01)->failure->text,
            "still running after 0.01 s");
  EXPECT_EQ(fakes::RefusalOf([] { CommandTrial({{"dlroof-no-such-program"}})({}, 1); }),
            "dlroof-no-such-program: cannot be started: No such file or directory");
}

// A program of 3 s on a machine whose speed drifts, and which is noisy now and then.
class MadeUpCommand {
 public:
  MadeUpCommand(tuning::Setting fast, double ratio, unsigned seed)
      : fast_(std::move(fast)), ratio_(ratio), engine_(seed) {}

  tuning::Tuning Tuned(std::uint64_t seed) {
    // All sets, as on a machine with every library.
    const KnobPlace place{8,
                          4,
                          [](const std::string& name) { return "/lib/" + name; },
                          [](const std::string&) { return false; },
                          {"avx512f", "avx512_vnni", "huge_pages_on_request"}};
    tuning::TuningPlan plan{.subject = "app", .budget_seconds = 6000, .seed = seed};
    plan.coordinates =
        KnobsOf({"allocator", "onednn", "openmp", "pytorch", "tensorflow"}, place, true)
            .coordinates;
    const tuning::Trial trial = [this](const tuning::Setting& setting, double) {
      return Run(setting);
    };
    return tuning::Tune(plan, {}, {tuning::Interleaved(trial, 1, 600, [this] { return now_; })});
  }

 private:
  tuning::TrialResult Run(const tuning::Setting& setting) {
    drift_ += 0.01 * normal_(engine_);
    double seconds = 3 * std::exp(drift_ + 0.02 * normal_(engine_));
    if (engine_() % 20 == 0) seconds *= 1.5;
    bool fast = !fast_.empty();
    for (const auto& [knob, value] : fast_)
      fast = fast && setting.count(knob) > 0 && setting.at(knob) == value;
    if (fast) seconds *= ratio_;
    now_ += seconds;
    return {{{.seconds = seconds, .iterations = 1}}, std::nullopt, false};
  }

  tuning::Setting fast_;
  double ratio_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  double drift_ = 0, now_ = 0;
};

TEST(TuneCommand, TwentyProgramsWithNothingToWinWinNothing) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto tuning = MadeUpCommand({}, 1, seed).Tuned(seed);
    EXPECT_NE(tuning.state, tuning::TuningState::kConfirmed)
        << seed << ": " << tuning::SettingText(tuning.best);
    EXPECT_TRUE(tuning.best.empty());
    EXPECT_GT(tuning.blocks.size(), 50U);
  }
}

TEST(TuneCommand, AKnobThatMattersIsFoundAmongAll) {
  int found = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const auto tuning = MadeUpCommand({{"OMP_WAIT_POLICY", "passive"}}, 0.8, seed).Tuned(seed);
    found += tuning.state == tuning::TuningState::kConfirmed && tuning.steps.size() == 1 &&
                     tuning.best == tuning::Setting{{"OMP_WAIT_POLICY", "passive"}} &&
                     tuning.total->interval.first < 0.8 && 0.8 < tuning.total->interval.second
                 ? 1
                 : 0;
  }
  EXPECT_GE(found, 9);
}

}  // namespace
namespace {

using testing::ElementsAre;
using Kind = programs::ProgramComponentKind;

std::vector<tuning::Coordinate> Named(std::initializer_list<const char*> names) {
  std::vector<tuning::Coordinate> all;
  for (const auto* name : names) all.push_back({name, "why", {}});
  return all;
}

std::vector<std::string> NamesOf(const std::vector<tuning::Coordinate>& coordinates) {
  std::vector<std::string> names;
  for (const auto& one : coordinates) names.push_back(one.name);
  return names;
}

TEST(TrialOrder, KnobsThatActOnMostOfAProgramComeFirst) {
  const programs::ProgramBreakdown breakdown{
      .of_step = true,
      .seconds = 10,
      .components = {{Kind::kRoof, "roof", 1},
                     {Kind::kSlowdown, "above the roof: convolution", 1},
                     {Kind::kSlowdown, "above the roof: matmul", 0.5},
                     {Kind::kMoves, "moves", 2},
                     {Kind::kOutside, "outside", 5.5}}};
  const ActsOn acts_on = {{"cache", {Kind::kCreation}},
                          {"isa", {Kind::kRoof, Kind::kSlowdown, Kind::kNoRoof}},
                          {"allocator", {Kind::kOutside}},
                          {"layout", {Kind::kMoves, Kind::kSlowdown}}};
  auto coordinates = Named({"cache", "isa", "layout", "allocator", "own"});
  SortByProgram(breakdown, acts_on, coordinates);
  EXPECT_THAT(NamesOf(coordinates), ElementsAre("own", "allocator", "layout", "isa", "cache"));
  EXPECT_EQ(coordinates[0].reason, "why");  // it does not say on what it acts
  EXPECT_EQ(coordinates[1].reason, "why; it acts on 55 % of the step");
  EXPECT_EQ(coordinates[2].reason, "why; it acts on 35 % of the step");
  EXPECT_EQ(coordinates[4].reason, "why; it acts on 0 % of the step");
}

TEST(TrialOrder, EqualSharesKeepTheOrderOfTheFiles) {
  const programs::ProgramBreakdown breakdown{.seconds = 4,
                                             .components = {{Kind::kOutside, "outside", 4}}};
  auto coordinates = Named({"b", "a", "c"});
  SortByProgram(breakdown, {{"a", {Kind::kOutside}}, {"b", {Kind::kOutside}}}, coordinates);
  EXPECT_THAT(NamesOf(coordinates), ElementsAre("b", "a", "c"));
  EXPECT_EQ(coordinates[0].reason, "why; it acts on 100 % of the program's time");
}

TEST(TrialOrder, WithoutATimeNothingMoves) {
  auto coordinates = Named({"b", "a"});
  SortByProgram({}, {{"b", {Kind::kCreation}}}, coordinates);
  EXPECT_THAT(NamesOf(coordinates), ElementsAre("b", "a"));
  EXPECT_EQ(coordinates[0].reason, "why");
}

breakdown::Breakdown BreakdownOf(double fork_join, double unexplained) {
  return {.components = {{breakdown::ComponentKind::kUnexplained, unexplained},
                         {breakdown::ComponentKind::kForkJoin, fork_join}},
          .seconds = unexplained + fork_join};
}

TEST(SortByBreakdown, TheLargestPartComesFirst) {
  const auto all = Named({kIsaCoordinate, kPagesCoordinate, kThreadsCoordinate});
  auto sorted = all;
  SortByBreakdown(BreakdownOf(8e-6, 2e-6), false, sorted);
  EXPECT_THAT(NamesOf(sorted), ElementsAre("threads", "instruction set", "huge pages"));
  EXPECT_EQ(sorted[0].reason,
            "80 % of the default's time is fork, join, waiting, sharing and serial code");
  sorted = all;
  SortByBreakdown(BreakdownOf(1e-6, 9e-6), false, sorted);
  EXPECT_THAT(NamesOf(sorted), ElementsAre("instruction set", "huge pages", "threads"));
  sorted = all;
  SortByBreakdown(BreakdownOf(1e-6, 9e-6), true, sorted);
  EXPECT_THAT(NamesOf(sorted), ElementsAre("threads", "huge pages", "instruction set"));
}

record::Repetition OnGpu(double seconds, std::optional<double> in_graph) {
  record::Repetition repetition{.seconds = seconds};
  repetition.gpu = std::make_shared<record::GpuSample>(
      record::GpuSample{.throughput_seconds = 2, .graph_seconds = in_graph, .call_seconds = 4});
  return repetition;
}

TEST(DeviceSeconds, AreAQueuedCallOrAGraph) {
  EXPECT_EQ(DeviceSeconds(OnGpu(3, 1), false), 3);
  EXPECT_EQ(DeviceSeconds(OnGpu(3, 1), true), 1);
  EXPECT_EQ(DeviceSeconds(OnGpu(3, {}), true), std::nullopt);
  EXPECT_EQ(DeviceSeconds({.seconds = 3}, true), std::nullopt);
}

std::vector<std::string> ProposedFor(const std::string& name) {
  std::vector<std::string> texts;
  for (const auto& proposal : GpuProposals(workload::ParseBenchmarkName(name))) {
    texts.push_back(proposal.text);
    UnderSetting(workload::ParseBenchmarkName(name), proposal.setting);
  }
  return texts;
}

TEST(GpuProposals, AreTheOtherOptionsOfTheName) {
  using testing::ElementsAre;
  EXPECT_THAT(ProposedFor("Conv2D/gpu/cudnn/bwd_data/f32/n2c8h8w8k8r3s3_s2p0:1x0:1/nchw"),
              ElementsAre("without nchw", "best", "padded"));
  EXPECT_THAT(ProposedFor("Conv2D/gpu/cudnn/fwd/f16/n2c8h8w8k8r3s3"), ElementsAre("nchw", "best"));
  EXPECT_THAT(ProposedFor("LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8"),
              ElementsAre("persist-static", "persist-small-h", "persist-dynamic"));
}

record::Record GpuRecord(const std::vector<double>& queued) {
  record::Record record{.algorithm = "engine 1"};
  for (const double seconds : queued) record.repetitions.push_back(OnGpu(seconds, {}));
  return record;
}

TEST(ComparedText, SaysTheDevicesTimesAndWhetherTheyDiffer) {
  const Proposal proposal{{{"padding", "padded"}}, "padded"};
  const auto before = GpuRecord({14.4e-3, 14.3e-3, 14.5e-3});
  EXPECT_EQ(ComparedText(proposal, before, GpuRecord({225e-6, 226e-6, 224e-6})),
            "tried padded: 225 µs on the device instead of 14.4 ms, 64.00x as fast; engine 1");
  EXPECT_EQ(ComparedText(proposal, before, GpuRecord({14.3e-3, 14.2e-3, 14.4e-3})),
            "tried padded: 14.3 ms on the device instead of 14.4 ms, no difference beyond the "
            "noise; engine 1");
  auto refused = GpuRecord({});
  refused.status = record::Status::kUnsupported;
  refused.reason = "no engine";
  EXPECT_EQ(ComparedText(proposal, before, refused), "tried padded: unsupported: no engine");
  EXPECT_EQ(ComparedText(proposal, refused, before),
            "tried padded: the default is unsupported: no engine");
}

}  // namespace
}  // namespace dlroof::tune
