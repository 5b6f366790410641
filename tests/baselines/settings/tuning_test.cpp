#include "baselines/settings/tuning.h"

#include <gtest/gtest.h>

#include "tests/baselines/settings/made_up_program.h"
#include "tests/fakes/refusal.h"

namespace dlroof::settings {
namespace {

TuningFile Written() {
  const auto seconds = [](const Setting& setting) {
    return ValueOf(setting, "a") == "1" ? 0.5 : 1.0;
  };
  MadeUpProgram program(seconds, {.noisy = 0.05}, 1);
  program.failures[{{"b", "1"}}] = program.failures[{{"a", "1"}, {"b", "1"}}] = "it crashed";
  const TuningPlan plan{.subject = "made up",
                        .coordinates = {Knob("a", {"1", "2"}), Knob("b", {"1"})},
                        .budget_seconds = 1e6,
                        .seed = 7};
  return {{{"command", "dlroof tune"}}, {Tune(plan, {}, {program.Measure()})}};
}

TEST(TuningFile, ReadsWhatItWrites) {
  const auto file = Written();
  ASSERT_EQ(file.tunings[0].state, TuningState::kConfirmed);
  const auto json = ToJson(file);
  const auto read = ParseTuningFile(json.dump(), "tune.json");
  EXPECT_EQ(ToJson(read), json);
  EXPECT_EQ(read.tunings[0].best, (Setting{{"a", "1"}}));
  EXPECT_EQ(read.tunings[0].plan.coordinates, file.tunings[0].plan.coordinates);
}

TEST(TuningFile, TheReadBlocksLeadToTheSameEnd) {
  const auto read = ParseTuningFile(ToJson(Written()).dump(), "tune.json").tunings[0];
  const auto measure = [](TrialBlock&, std::uint64_t) { return false; };
  const auto again = Tune(read.plan, read.blocks, {measure});
  EXPECT_EQ(ToJson(again), ToJson(read));
}

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { ParseTuningFile(text, "tune.json"); });
}

TEST(TuningFile, RefusesAnythingElseInOneSentence) {
  EXPECT_EQ(Refusal("{}"), "tune.json: expected a file of dlroof tune");
  EXPECT_NE(Refusal("half a fi").find("tune.json: not JSON"), std::string::npos);
  auto json = ToJson(Written());
  json["tunings"][0]["blocks"][0]["results"].erase(0);
  EXPECT_EQ(Refusal(json.dump()),
            "tune.json: tunings[0]: blocks[0]: 'results': expected as many as settings, at least "
            "one, got array");
  json = ToJson(Written());
  json["tunings"][0]["state"] = "won";
  EXPECT_NE(Refusal(json.dump()).find("'state'"), std::string::npos);
  json["about"]["program"] = {"train.py"};
  EXPECT_EQ(Refusal(json.dump()),
            "tune.json: a tuning of a program, made by dlroof 1; expected one of benchmarks");
  json["dlroof_tunings"] = 2;
  EXPECT_EQ(Refusal(json.dump()), "tune.json: a file of tunings of version 2, expected 1");
}

}  // namespace
}  // namespace dlroof::settings
