#include "counters/perf/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// A cycle counter opened by hand gets the same answer.
TEST(AskPerf, AnswersAsTheKernelDoes) {
  perf_event_attr cycles = {};
  cycles.size = sizeof cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  cycles.disabled = cycles.exclude_kernel = cycles.exclude_hv = 1;
  const auto opened = syscall(SYS_perf_event_open, &cycles, 0, -1, -1, 0UL);
  const int error = opened < 0 ? errno : 0;
  if (opened >= 0) close(static_cast<int>(opened));
  EXPECT_EQ(AskPerf().error, error);
}

}  // namespace
}  // namespace dlroof
