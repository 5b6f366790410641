#include "baselines/cluster/meter_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

MeterLog Parsed(const std::string& text) { return ParseMeterLogs({{"dir/w.csv", text}}); }
std::string RefusedLog(const std::string& text) {
  return RefusalOf([&] { Parsed(text); });
}

std::vector<double> Times(const std::vector<MeterSample>& samples) {
  std::vector<double> times;
  for (const auto& one : samples) times.push_back(one.seconds);
  return times;
}

// 2026-11-23 is day 20780 since 1970 (14 leap years in 56): 1795392000 s; 10:00:01 is 36001 s more.
TEST(MeterLog, BothFormsOfTimeAreSecondsSince1970) {
  const auto log = Parsed(
      "node,time,watts\n"
      "n1,2026-11-23T10:00:01.5Z,200\n"
      "n1,2026-11-23T10:00:01Z,201\n"
      "n1,2026-11-23T10:00:02+00:00,202\n"
      "n1,1795428003.25,203\n");
  EXPECT_THAT(Times(log.samples.at("n1")),
              ElementsAre(1795428001.0, 1795428001.5, 1795428002.0, 1795428003.25));
  EXPECT_EQ(log.samples.at("n1")[0].watts, 201);
  EXPECT_EQ(log.From(), "w.csv");
}

TEST(MeterLog, RowsColumnsAndFilesMayHaveAnyOrder) {
  const auto log = ParseMeterLogs(
      {{"a.csv", "watts,node,time\r\n30,n2,1795428002\r\n10,n1,1795428003\r\n20,n2,1795428001\r\n"},
       {"b.csv", "node,time,watts\n\"n2\",1795428000,7\n"}});
  EXPECT_THAT(Times(log.samples.at("n2")), ElementsAre(1795428000, 1795428001, 1795428002));
  EXPECT_EQ(log.samples.at("n2")[1].watts, 20);
  EXPECT_EQ(log.samples.at("n1").size(), 1u);
  EXPECT_EQ(log.From(), "a.csv, b.csv");
}

// 100,000 rows are more than a part of 1 MiB.
TEST(MeterLog, ALongFileKnowsItsLines) {
  std::string text = "node,time,watts\n";
  for (int i = 0; i < 100'000; ++i) text += "n1," + std::to_string(1795000000 + i) + ",200\n";
  EXPECT_EQ(Parsed(text).samples.at("n1").size(), 100'000u);
  EXPECT_EQ(Parsed(text).samples.at("n1").back().line, 100'001);
  EXPECT_THAT(RefusedLog(text + "n1,1795000005,200\n"),
              StartsWith("dir/w.csv:100002: node n1 has a sample of this time already "
                         "(dir/w.csv:7), expected"));
}

TEST(MeterLog, AnotherFileIsRefusedWithLineAndExpectation) {
  const std::string header = "node,time,watts\n";
  EXPECT_THAT(RefusedLog("node,time,power\n"),
              StartsWith("dir/w.csv:1: column 11: 'power': expected the columns node, time and"));
  EXPECT_THAT(RefusedLog("node,time,watts,watts\n"), HasSubstr("each once"));
  EXPECT_THAT(RefusedLog("node,time\n"), HasSubstr("1: column 1: expected the columns node, time"));
  EXPECT_THAT(RefusedLog(header), StartsWith("dir/w.csv:1: expected the header node,time,watts"));
  EXPECT_THAT(RefusedLog(""), HasSubstr("expected the header"));
  EXPECT_THAT(RefusedLog(header + "n1,1795428000\n"), HasSubstr("expected 3 fields"));
  EXPECT_THAT(RefusedLog(header + "n1,1795428000,-1\n"),
              StartsWith("dir/w.csv:2: column 15: expected at least 0, got -1"));
  EXPECT_THAT(RefusedLog(header + "n1,1795428000,\n"), HasSubstr("2: column 15: expected watts"));
  EXPECT_THAT(RefusedLog(header + "n1,1795428000,high\n"), HasSubstr("expected a number"));
  EXPECT_THAT(RefusedLog(header + ",1795428000,1\n"), HasSubstr("expected a node's name"));
}

TEST(MeterLog, ATimeOfNoKnownZoneIsRefused) {
  for (const char* time :
       {"2026-11-23T10:00:01", "2026-11-23 10:00:01Z", "2026-11-23T10:00:01+01:00", "10:00:01",
        "2026-02-30T10:00:01Z", "2026-11-23T24:00:01Z", "2026-11-23T10:00:01.Z", "nan", "",
        "1795428000000", "42", "2026-11-23T1:00:01Z", "2026-11-23T10:00:01.5ZZ"})
    EXPECT_THAT(RefusedLog(std::string("node,time,watts\nn1,") + time + ",1\n"),
                HasSubstr("expected a time in UTC such as 2026-11-23T10:00:01.5Z"))
        << time;
}

}  // namespace
}  // namespace dlroof
