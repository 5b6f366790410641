#include "bench/tune/command_trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "baselines/tune/tune.h"
#include "bench/tune/knob_file.h"
#include "bench/tune/tune_command.h"
#include "tests/fakes/refusal.h"

namespace dlroof::tune {
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
  EXPECT_EQ(result.failed, "");
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
  EXPECT_EQ(ResultOf({3, 0}, 1, "", "Traceback:\nValueError: no\n\n", {}).failed,
            "exit code 3: ValueError: no");
  EXPECT_EQ(ResultOf({0, 11}, 1, "", "", {}).failed, "signal 11 (Segmentation fault)");
  EXPECT_EQ(ResultOf(well, 1, "none", "", {"t=([0-9]+)"}).failed,
            "no number in its output matches 't=([0-9]+)'");
  EXPECT_EQ(ResultOf(well, 1, "t=0", "", {"t=([0-9]+)"}).failed,
            "'t=([0-9]+)' read 0, expected a number above 0");
}

TEST(CommandTrial, RunsTheProgramUnderItsSetting) {
  const auto trial =
      CommandTrial({{"sh", "-c", "echo t=$DLROOF_T; test \"$DLROOF_T\" != 3"}, {"t=([0-9]+)"}});
  EXPECT_EQ(Seconds(*trial({{"DLROOF_T", "7"}}, 60)), 7);
  EXPECT_EQ(trial({{"DLROOF_T", "3"}}, 60)->failed, "exit code 1");
  EXPECT_EQ(trial({{"DLROOF_T", "x"}}, 60)->failed, "no number in its output matches 't=([0-9]+)'");
  EXPECT_EQ(CommandTrial({{"sleep", "100"}})({}, 0.01)->failed, "still running after 0.01 s");
  EXPECT_EQ(fakes::RefusalOf([] { CommandTrial({{"dlroof-no-such-program"}})({}, 1); }),
            "dlroof-no-such-program: cannot be started: No such file or directory");
}

// A program of 3 s on a machine whose speed drifts, and which is disturbed now and then.
class MadeUpCommand {
 public:
  MadeUpCommand(tuning::Setting fast, double ratio, unsigned seed)
      : fast_(std::move(fast)), ratio_(ratio), engine_(seed) {}

  tuning::Tuning Tuned(std::uint64_t seed) {
    // All sets, as on a machine with every library.
    const KnobPlace place{8, 4, [](const std::string& name) { return "/lib/" + name; },
                          [](const std::string&) { return false; }};
    tuning::TuningPlan plan{.subject = "app", .budget_seconds = 6000, .seed = seed};
    plan.coordinates =
        KnobsOf({"allocator", "onednn", "openmp", "pytorch", "tensorflow"}, place, true)
            .coordinates;
    const tuning::Trial trial = [this](const tuning::Setting& setting, double) { return Run(setting); };
    return tuning::Tune(plan, {}, {tuning::ByTurns(trial, 1, 600, [this] { return now_; })});
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
    return {{{.seconds = seconds, .iterations = 1}}, "", false};
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
    EXPECT_NE(tuning.state, tuning::TuningState::kConfirmed) << seed << ": " << tuning::Words(tuning.best);
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
}  // namespace dlroof::tune
