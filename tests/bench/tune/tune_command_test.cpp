#include "bench/tune/tune_command.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dlroof::tune {
namespace {

tuning::Tuning Won() {
  tuning::Tuning tuning{.plan = {.subject = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32"}};
  tuning.state = tuning::TuningState::kConfirmed;
  tuning.best = {{"threads", "1"}};
  // 1 / 0.8 = 1.25; 1 / 0.84 = 1.190 and 1 / 0.76 = 1.316.
  const tuning::Effect effect{0.8, {0.76, 0.84}, 14, true};
  tuning.steps = {{"threads", {{"threads", "1"}}, "no fork, no join, no waiting", effect}};
  tuning.total = effect;
  tuning.default_seconds = 4e-5;
  tuning.tried = {{"instruction set", {{"ONEDNN_MAX_CPU_ISA", "AVX2"}}, 2, 2.68, false, "slower"}};
  return tuning;
}

std::string Written(const tuning::Tuning& tuning) {
  std::ostringstream out;
  WriteTuning(tuning, "dlroof_bench", out);
  return out.str();
}

TEST(TuningReport, IsAWaterfallWithTheSettingsToCopy) {
  EXPECT_EQ(Written(Won()),
            R"(LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32
  |##############################|    40.0 µs  default
  |########################      |    32.0 µs  threads=1: 1.25x as fast (1.190x to 1.316x)
                                               no fork, no join, no waiting
  best: 1.25x as fast (1.190x to 1.316x), confirmed by 14 blocks of new processes
  tried ONEDNN_MAX_CPU_ISA=AVX2: slower (about 2.68 of the time, 2 blocks)
  settings:
    export OMP_NUM_THREADS=1
    dlroof_bench --dlroof_suite=<(echo LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32/threads1) --benchmark_filter='^LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32/threads1/(real|manual)_time$'

)");
}

TEST(TuningReport, NothingToWinIsSaidOnlyOfChoicesThatHaveTimes) {
  auto tuning = Won();
  tuning.state = tuning::TuningState::kNothingWon;
  EXPECT_NE(Written(tuning).find("nothing to win"), std::string::npos);
  tuning.tried.front().ratio.reset();
  EXPECT_EQ(Written(tuning).find("nothing to win"), std::string::npos);
  EXPECT_NE(Written(tuning).find("1 of 1 choices"), std::string::npos);
}

TEST(TuningReport, WithoutAValidationThereIsNoRatio) {
  for (const auto state : {tuning::TuningState::kNothingWon, tuning::TuningState::kNotConfirmed,
                           tuning::TuningState::kFailed, tuning::TuningState::kUnfinished}) {
    auto tuning = Won();
    tuning.state = state;
    tuning.total.reset();
    EXPECT_EQ(Written(tuning).find("as fast ("), std::string::npos) << tuning::Key(state);
    EXPECT_EQ(Written(tuning).find("export"), std::string::npos) << tuning::Key(state);
  }
}

}  // namespace
}  // namespace dlroof::tune
