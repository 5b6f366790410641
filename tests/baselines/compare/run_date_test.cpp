#include "baselines/compare/run_date.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(Moment, ReadsDatesWithOffsets) {
  RunFile file;
  EXPECT_EQ(Moment(file), 0);
  file.context["date"] = "1970-01-02T01:00:00+01:00";
  EXPECT_EQ(Moment(file), 86400);
}

TEST(Moment, ReadsWhatOtherVersionsAndToolsWrite) {
  const auto moment = [](const char* date) {
    RunFile file;
    file.context["date"] = date;
    return Moment(file);
  };
  // A day is 86400 s, an hour 3600 s.
  EXPECT_EQ(moment("1970-01-02 00:00:00"), 86400);  // older Google Benchmark
  EXPECT_EQ(moment("1970-01-02T00:00:00Z"), 86400);
  EXPECT_EQ(moment("1970-01-02T01:00:00.123456+01:00"), 86400);
  EXPECT_EQ(moment("1970-01-01T22:30:00.5-01:30"), 86400);
  EXPECT_EQ(moment("1970-01-02T05:30:00+0530"), 86400);
  EXPECT_EQ(moment("1970-01-02T01:00:00+01"), 86400);
  EXPECT_EQ(moment("1970-01-02 01:00:00 +0100"), 86400);
  EXPECT_EQ(moment("1970-01-02T00:00:07.999"), 86407);
  EXPECT_EQ(moment("1970-01-02"), 0);
  EXPECT_EQ(moment("yesterday"), 0);
}

}  // namespace
}  // namespace dlroof
