#include "counters/perf/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace dlroof {
namespace {

using testing::HasSubstr;

TEST(PerfSentence, TellsTheCauseFromTheAnswerNotFromTheErrnoAlone) {
  EXPECT_THAT(PerfSentence({0, true, 2}), HasSubstr("can be read"));
  EXPECT_THAT(PerfSentence({ENOENT, false, 2}), HasSubstr("sees no PMU"));
  EXPECT_THAT(PerfSentence({EACCES, true, 3}), HasSubstr("perf_event_paranoid is 3"));
  EXPECT_THAT(PerfSentence({EPERM, true, std::nullopt}),
              HasSubstr("perf_event_paranoid is not readable"));
  EXPECT_THAT(PerfSentence({ENOSYS, true, std::nullopt}), HasSubstr("built without perf events"));
  EXPECT_THAT(PerfSentence({EBUSY, true, 2}), HasSubstr("NMI watchdog"));
  EXPECT_THAT(PerfSentence({ENOENT, true, 2}), HasSubstr("errno 2"));
}

TEST(AskPerf, AgreesWithItself) {
  const auto answer = AskPerf();
  if (!answer.has_pmu) {
    EXPECT_NE(answer.error, 0);  // a counter cannot open without a PMU
  }
}

}  // namespace
}  // namespace dlroof
