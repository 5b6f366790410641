#include "bench/runner/process_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace dlroof::runner {
namespace {

using testing::HasSubstr;

cpu::Environment OneVariable(const std::string& name, const std::string& value) {
  return [=](const std::string& variable) {
    return variable == name ? std::optional(value) : std::nullopt;
  };
}

TEST(RefusePinning, NamesTheVariable) {
  EXPECT_NO_THROW(RefusePinning(OneVariable("OMP_NUM_THREADS", "2")));
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) try {
      RefusePinning(OneVariable(name, "x"));
      FAIL() << name;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(name));
    }
}

TEST(RefuseThreadLimit, RefusesMoreThreadsThanTheLimit) {
  const auto two = OneVariable("OMP_THREAD_LIMIT", "2");
  EXPECT_NO_THROW(RefuseThreadLimit(2, two));
  EXPECT_NO_THROW(RefuseThreadLimit(8, OneVariable("OMP_NUM_THREADS", "2")));
  try {
    RefuseThreadLimit(3, two);
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("OMP_THREAD_LIMIT=2 allows fewer threads than the 3"));
  }
}

TEST(LimitsContext, HasARowPerLimit) {
  EXPECT_TRUE(LimitsContext({}).is_null());
  EXPECT_EQ(LimitsContext({{cpu::LimitKind::kPriority, "nice 5", "waits"}}).dump(),
            R"([{"effect":"waits","found":"nice 5","limit":"priority"}])");
}

TEST(QuotaWatch, SaysHowOftenTheQuotaStoppedTheProcess) {
  const auto stat = std::make_shared<std::string>("nr_periods 10\nnr_throttled 4\n");
  const cpu::CpuQuota quota{.cpus = 0.5, .file = "/g/cpu.max", .stat = "/g/cpu.stat"};
  const QuotaWatch watch(quota, [stat](const std::filesystem::path& path) {
    return path == "/g/cpu.stat" ? *stat : "";
  });
  EXPECT_EQ(watch.Stopped(watch.Read()), std::nullopt);
  *stat = "nr_periods 30\nnr_throttled 11\n";
  EXPECT_THAT(watch.Stopped(watch.Read()).value().text,
              testing::AllOf(HasSubstr("the CPU quota of 0.5 CPUs (/g/cpu.max) stopped this "
                                       "process in 7 of 20 periods"),
                             HasSubstr("no waiting ends that")));
  stat->clear();
  EXPECT_EQ(watch.Stopped({}), std::nullopt);
}

// The counts of the control group before the run are not the run's.
TEST(QuotaWatch, SaysNothingIfTheCountsCouldNotBeReadAtFirst) {
  std::string stat;
  const QuotaWatch watch({.cpus = 0.5, .file = "/g/cpu.max", .stat = "/g/cpu.stat"},
                         [&stat](const std::filesystem::path&) { return stat; });
  stat = "nr_periods 3000\nnr_throttled 400\n";
  EXPECT_EQ(watch.Stopped(watch.Read()), std::nullopt);
}

}  // namespace
}  // namespace dlroof::runner
