#include "baselines/cluster/metered_nodes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "baselines/cluster/gather.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

MeterLog Parsed(const std::string& text) { return ParseMeterLogs({{"dir/w.csv", text}}); }
std::string RefusedLog(const std::string& text) {
  return fakes::RefusalOf([&] { Parsed(text); });
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

// 100,000 rows are more than one chunk of 1 MiB.
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

using testing::IsEmpty;

constexpr double kStart = 1795428000;  // [s] since 1970

// [s] after kStart.
energy::MeteredWindow Window(double begin, double end, double calls = 30) {
  return {kStart + begin, kStart + end, calls};
}

// A sample each `period` from `first` to `last`.
std::vector<MeterSample> Every(double period, double first, double last,
                               const std::function<double(double)>& watts) {
  std::vector<MeterSample> samples;
  for (double at = first; at <= last; at += period) samples.push_back({kStart + at, watts(at)});
  return samples;
}

std::function<double(double)> Constant(double watts) {
  return [watts](double) { return watts; };
}

std::optional<WindowPower> KnownPower(const std::vector<MeterSample>& samples,
                                      const energy::MeteredWindow& window) {
  const auto result = PowerInWindow(samples, window);
  const auto* power = std::get_if<WindowPower>(&result);
  return power != nullptr ? std::optional(*power) : std::nullopt;
}

TEST(PowerInWindow, OfConstantWattsIsTheseWatts) {
  const auto found = KnownPower(Every(1, 0, 100, Constant(250)), Window(10, 70));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->watts, 250);
  EXPECT_EQ(found->period_seconds, 1);
  EXPECT_EQ(found->samples, 59u);  // 11 to 69
  EXPECT_FALSE(found->ci95);       // equal samples do not show their noise
}

// A node of 50 W that takes 300 W from 10.4 s to 70.4 s, and a meter that reports the mean of a
// second, which ends or begins at the sample's time: samples of a mixture are left out.
TEST(PowerInWindow, AStepAtBothEndsIsNotInIt) {
  const auto joules_until = [](double t) { return 50 * t + 250 * std::clamp(t - 10.4, 0.0, 60.0); };
  const auto ending = [&](double t) { return joules_until(t) - joules_until(t - 1); };
  const auto beginning = [&](double t) { return joules_until(t + 1) - joules_until(t); };
  for (const std::function<double(double)>& meter :
       {std::function(ending), std::function(beginning)})
    EXPECT_NEAR(KnownPower(Every(1, 0, 100, meter), Window(10.4, 70.4))->watts, 300, 1e-9);
}

// 100 W for 0.3 s, 300 W for 0.4 s: 150 J in 0.7 s are 214.29 W. A meter's mean of each second.
TEST(PowerInWindow, OfASquareWaveIsItsMeanWithinAPercent) {
  const auto joules_until = [](double t) {
    const double waves = std::floor(t / 0.7), rest = t - 0.7 * waves;
    return 150 * waves + (rest < 0.3 ? 100 * rest : 30 + 300 * (rest - 0.3));
  };
  const auto found = KnownPower(
      Every(1, 0.37, 100, [&](double t) { return joules_until(t) - joules_until(t - 1); }),
      Window(10.2, 70.2));
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->watts, 150 / 0.7, 0.01 * 150 / 0.7);
  ASSERT_TRUE(found->ci95);
  EXPECT_LT(found->ci95->first, 150 / 0.7);
  EXPECT_GT(found->ci95->second, 150 / 0.7);
}

// From 10 to 20 s 100 to 110 W, one sample a second, then one each two seconds: the line is its own
// mean, 115 W from 10 to 40 s, whatever the distances.
TEST(PowerInWindow, UnevenSamplesCountByTheirTime) {
  auto samples = Every(1, 0, 20, [](double t) { return 90 + t; });
  for (double at = 22; at <= 60; at += 2) samples.push_back({kStart + at, 90 + at});
  const auto found = KnownPower(samples, Window(9, 41));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->watts, 115);
}

// Five parts of two samples with the means 100, 102, 98, 101, 99: a variance of 10 / 4, of their
// mean a fifth; Student's t of 4 degrees is 2.7764. Trapezoids leave half of the first and the last
// sample out: (1000 - 99.5) / 9.
TEST(PowerInWindow, TheIntervalIsThatOfFivePartsOfTheWindow) {
  const std::vector<double> watts = {0, 100, 100, 102, 102, 98, 98, 101, 101, 99, 99, 0};
  const auto samples = Every(1, 0, 11, [&](double t) { return watts[static_cast<int>(t)]; });
  const auto found = KnownPower(samples, Window(0, 11));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->samples, 10u);
  EXPECT_NEAR(found->watts, 900.5 / 9, 1e-9);
  ASSERT_TRUE(found->ci95);
  EXPECT_NEAR(found->ci95->second - found->watts, 2.776445 * std::sqrt(0.5), 1e-5);
  // Nine samples are too few for an interval.
  EXPECT_FALSE(KnownPower(samples, Window(0, 10))->ci95);
}

TEST(PowerInWindow, FewSamplesAreNoPower) {
  const auto meter = Every(10, 0, 100, Constant(250));
  // Without a period at each end 15 to 55 s remain: 20, 30, 40, 50.
  EXPECT_THAT(PowerInWindow(meter, Window(5, 65)),
              testing::VariantWith<NotMetered>(NotMetered::kFewSamples));
  EXPECT_EQ(KnownPower(meter, Window(5, 75))->samples, 5u);
  EXPECT_THAT(PowerInWindow(meter, Window(5, 22)),
              testing::VariantWith<NotMetered>(NotMetered::kFewSamples));
  EXPECT_THAT(PowerInWindow({{kStart + 6, 1}}, Window(5, 22)),
              testing::VariantWith<NotMetered>(NotMetered::kFewSamples));
}

TEST(PowerInWindow, AGapOfMoreThanThreePeriodsIsNoPower) {
  auto meter = Every(1, 0, 100, Constant(250));
  meter.erase(meter.begin() + 30, meter.begin() + 32);  // 29 and 32 are 3 s apart
  EXPECT_TRUE(KnownPower(meter, Window(10, 70)));
  meter.erase(meter.begin() + 30);
  EXPECT_THAT(PowerInWindow(meter, Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kGap));
  EXPECT_THAT(PowerInWindow(Every(1, 0, 50, Constant(1)), Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kGap));
  EXPECT_THAT(PowerInWindow(Every(1, 40, 99, Constant(1)), Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kGap));
}

TEST(PowerInWindow, ALogOfAnotherTimeOrNodeIsNoPower) {
  EXPECT_THAT(PowerInWindow({}, Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kNoNode));
  EXPECT_THAT(PowerInWindow(Every(1, 0, 9, Constant(1)), Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kOutside));
  EXPECT_THAT(PowerInWindow(Every(1, 71, 90, Constant(1)), Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kOutside));
  EXPECT_THAT(PowerInWindow(Every(1, 0, 90, Constant(0)), Window(10, 70)),
              testing::VariantWith<NotMetered>(NotMetered::kNoPower));
}

// Nodes n0, n1, ... of one benchmark, each in the window from 10 to 70 s.
struct MeteredCluster {
  Cluster cluster;
  std::vector<std::vector<NodeWindow>> windows{{}};
  MeterLog log{{"watts.csv"}, {}};

  explicit MeteredCluster(int nodes) {
    cluster.run.records = {fakes::Measured("n1", 1)};
    for (int i = 0; i < nodes; ++i) {
      cluster.nodes.push_back({.name = fmt::format("n{}", i)});
      windows[0].push_back({static_cast<std::size_t>(i), Window(10, 70)});
      log.samples[fmt::format("n{}", i)] = Every(1, 0, 100, Constant(200 + 10 * i));
    }
  }
  const record::Record& Added() {
    AddMeteredEnergy(log, windows, cluster);
    return cluster.run.records[0];
  }
};

// 60 s / 30 calls = 2 s of 200, 210, 220 W.
TEST(AddMeteredEnergy, IsTheMedianOfNodes) {
  MeteredCluster made(3);
  const auto& metered = made.Added().metered;
  ASSERT_TRUE(metered);
  EXPECT_DOUBLE_EQ(metered->joules, 420);
  EXPECT_FALSE(metered->ci95);  // three nodes are too few
  EXPECT_EQ(metered->seconds, 2);
  EXPECT_EQ(metered->window_seconds, 60);
  EXPECT_EQ(metered->samples, 59);
  EXPECT_EQ(metered->nodes, 3);
  EXPECT_EQ(metered->from, "watts.csv");
  EXPECT_THAT(made.cluster.remarks, IsEmpty());
}

TEST(AddMeteredEnergy, SixNodesHaveAnIntervalAndOneItsOwn) {
  MeteredCluster six(6);
  EXPECT_EQ(six.Added().metered->ci95, (std::pair(400.0, 500.0)));
  MeteredCluster one(1);
  one.log.samples["n0"] = Every(1, 0, 100, [](double t) { return 200 + std::fmod(t, 3); });
  const auto& metered = *one.Added().metered;
  ASSERT_TRUE(metered.ci95);
  EXPECT_LT(metered.ci95->first, metered.joules);
  EXPECT_GT(metered.ci95->second, metered.joules);
}

TEST(AddMeteredEnergy, CallsWithoutPowerAreCountedWithTheirReason) {
  MeteredCluster made(3);
  made.log.samples.erase("n1");
  made.log.samples["n2"] = Every(1, 0, 50, Constant(1));
  made.log.samples["x9"] = made.log.samples["n0"];
  const auto& record = made.Added();
  EXPECT_EQ(record.metered->nodes, 1);
  EXPECT_THAT(record.counting, IsEmpty());
  EXPECT_THAT(
      made.cluster.remarks,
      ElementsAre(HasSubstr("watts.csv: calls without metered energy: 1, on n1: the log has no"),
                  HasSubstr("energy: 1, on n2: samples are missing"),
                  HasSubstr("nodes that are not in the cluster: 1 (x9)")));
}

TEST(AddMeteredEnergy, ARecordWithoutAnyHasTheReason) {
  MeteredCluster made(2);
  made.log.samples = {{"n7", Every(1, 0, 100, Constant(1))}};
  const auto& record = made.Added();
  EXPECT_FALSE(record.metered);
  ASSERT_EQ(record.counting.size(), 1u);
  EXPECT_EQ(record.counting[0].source, "energy");
  EXPECT_EQ(record.counting[0].text, "not metered: the log has no sample of the node");
}

TEST(AddMeteredEnergy, ARunWithoutWindowsGetsARemarkOnHowToHaveThem) {
  MeteredCluster made(1);
  made.windows = {{}};
  EXPECT_FALSE(made.Added().metered);
  EXPECT_THAT(made.cluster.remarks, ElementsAre(HasSubstr("measure with --dlroof_meter_seconds")));
}

record::RunFile RunWithWindow(const std::string& node) {
  auto run = fakes::RunOf(node, {fakes::Measured("n1", 2)}).file;
  run.records[0].metered_window = Window(10, 70);
  run.context["dlroof"]["node"] = {
      {"name", node}, {"known_by", "hostname"}, {"arguments", {"--x"}}};
  return run;
}

TEST(Gather, WithALogRecordsHaveMeteredEnergyAndNoNodesWindow) {
  std::vector<NodeSummary> summaries;
  for (const char* node : {"n1", "n2"}) summaries.push_back(SummaryOf(RunWithWindow(node), node));
  const MeterLog log{
      {"watts.csv"},
      {{"n1", Every(1, 0, 100, Constant(100))}, {"n2", Every(1, 0, 99, Constant(300))}}};
  const auto with = Gather(summaries, {}, RunWithWindow, {.meters = &log}).run.records.at(0);
  EXPECT_DOUBLE_EQ(with.metered.value().joules, 400);
  EXPECT_FALSE(with.metered_window);
  EXPECT_FALSE(Gather(summaries, {}, RunWithWindow).run.records.at(0).metered);
}

}  // namespace
}  // namespace dlroof::cluster
