#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "baselines/history/history.h"
#include "reporters/record/run_file.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/test_data.h"

namespace dlroof::history {
namespace {

using nlohmann::json;
using testing::AllOf, testing::HasSubstr, testing::Not;

constexpr const char* kOdd = "A,\"b\"'c'<d>&|`e`\\\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 ]]>";

compare::NamedRun OddRun(int day = 1, double seconds = 2) {
  record::Record odd = fakes::Measured("n1", seconds);
  odd.name = kOdd;
  odd.device = "cpu";
  record::Record failed = fakes::Measured("n3", 1);
  failed.status = record::Status::kFailed;
  failed.reason = "it, \"broke\"";
  compare::NamedRun run =
      fakes::RunOf(fmt::format("{}.json", day), {odd, fakes::Measured("n2", 4), failed});
  run.file.context["date"] = fmt::format("2026-01-{:02}T00:00:00+00:00", day);
  run.file.context["dlroof"]["commit"] = "abc";
  return run;
}

std::string Exported(const std::string& format, const std::vector<compare::NamedRun>& runs) {
  std::ostringstream out, warnings;
  Export(format, runs, out, warnings);
  return out.str();
}

// The texts of an export's rows and fields.
std::vector<std::vector<std::string>> CsvTexts(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : text::ReadCsv(text, "export"))
    for (auto& fields = rows.emplace_back(); const auto& field : row) fields.push_back(field.text);
  return rows;
}

TEST(Export, BencherHasLatencyInNanosecondsButNotOfNamesThatItRefuses) {
  const auto whole = json::parse(Exported("bencher", {OddRun()}));
  EXPECT_EQ(whole.size(), 2U);  // without the failed one
  const auto& latency = whole.at(kOdd).at("latency");
  EXPECT_DOUBLE_EQ(latency.at("value"), 2e9);
  // 9 values from 1.98 to 2.02; the 95 % interval is from the second to the eighth.
  EXPECT_NEAR(latency.at("lower_value").get<double>(), 1.985e9, 1);
  EXPECT_NEAR(latency.at("upper_value").get<double>(), 2.015e9, 1);
  // The roof of 100 flop at 100 flop/s takes 1 s.
  EXPECT_DOUBLE_EQ(whole.at(kOdd).at("fraction-of-roof").at("value"), 0.5);
  compare::NamedRun run = OddRun();
  run.file.records[1].name = "x";
  for (int i = 0; i < 1025; ++i) run.file.records[1].name += "é";
  std::ostringstream out, warnings;
  Export("bencher", {run}, out, warnings);
  EXPECT_EQ(json::parse(out.str()).size(), 1U);
  EXPECT_THAT(warnings.str(), HasSubstr("left out: 'xéé"));
  EXPECT_TRUE(text::IsUtf8(warnings.str())) << "cut between its characters";
}

TEST(Export, CsvHasTheEnergyWhereItWasMeasured) {
  compare::NamedRun run = OddRun();
  const auto energy_of = [&] {
    const auto row = CsvTexts(Exported("csv", {run})).at(1);
    return std::vector(row.begin() + 17, row.begin() + 21);
  };
  EXPECT_THAT(energy_of(), testing::Each(""));
  run.file.records[0].energy =
      energy::Energy{.joules = 1.5, .ci95 = {{1.25, 1.75}}, .from = "perf"};
  EXPECT_THAT(energy_of(), testing::ElementsAre("1.5", "1.25", "1.75", "perf"));
}

TEST(Export, ARoofThatIsSpecifiedOrNotValidatedHasNamesOfItsOwn) {
  for (const auto& [status, csv, at_most, ratio, extra, metric] :
       {std::tuple(machine::CeilingStatus::kSpecified, "given", "", "fraction-of-given-roof",
                   "brgemm\n50.0 % of its specified roof", "\ndlroof_given_roof_ratio{"),
        {machine::CeilingStatus::kNotValidated, "not validated", "0.5", "fraction-of-roof-at-most",
         "brgemm\nat most 50.0 % of its roof, which is not validated",
         "\ndlroof_roof_at_most_ratio{"}}) {
    compare::NamedRun run = OddRun();
    for (auto& [threads, set] : run.file.machines.at(0).by_threads)
      for (auto& [pipe, ceiling] : set.flops) ceiling.status = status;
    const auto rows = CsvTexts(Exported("csv", {run}));
    EXPECT_EQ(rows[0].at(21), "fraction_of_roof_at_most");
    EXPECT_EQ(rows[1][15].empty(), rows[1].at(21) == "0.5");
    EXPECT_EQ(rows[1][16], csv);
    EXPECT_EQ(rows[1].at(21), at_most);
    const auto bencher = json::parse(Exported("bencher", {run})).at(kOdd);
    EXPECT_FALSE(bencher.contains("fraction-of-roof"));
    EXPECT_DOUBLE_EQ(bencher.at(ratio).at("value"), 0.5);
    EXPECT_EQ(json::parse(Exported("github-action", {run}))[0].at("extra"), extra);
    EXPECT_THAT(Exported("openmetrics", {run}),
                AllOf(HasSubstr(metric), Not(HasSubstr("\ndlroof_roof_ratio{"))));
  }
}

// A run of one thread of a two-core machine on which other programs ran: 54 of its 79 times are
// estimates.
compare::NamedRun BusyRun() {
  const auto path = std::filesystem::path(fakes::TestData("../..")) /
                    "baselines/stored/cascade-lake-2c/2026-11-22-conv2d-threads1.json";
  std::ostringstream warnings;
  return {.where = "busy.json", .file = record::ReadRunFile(path.string(), warnings)};
}

TEST(Export, EveryFormatHasATimeOfEachBenchmarkOfABusyRunAndMarksEstimates) {
  const auto run = BusyRun();
  std::size_t timed = 0, estimates = 0;
  for (const auto& record : run.file.records) {
    if (record.status != record::Status::kOk) continue;
    ++timed;
    estimates += record::TimeOf(record.repetitions).value().noisy ? 1 : 0;
  }
  ASSERT_EQ(timed, 79U);
  ASSERT_EQ(estimates, 54U);
  std::size_t marked = 0;
  for (const auto& row : CsvTexts(Exported("csv", {run}))) {
    if (row[7] != "ok") continue;
    EXPECT_GT(std::stod(row[10]), 0) << row[0];
    marked += row[22] == "~" ? 1 : 0;
  }
  EXPECT_EQ(marked, estimates);
  EXPECT_EQ(fakes::CountOf("\"estimate\"", Exported("bencher", {run})), estimates);
  EXPECT_EQ(fakes::CountOf("~ an estimate", Exported("github-action", {run})), estimates);
  const auto metrics = Exported("openmetrics", {run});
  EXPECT_EQ(fakes::CountOf("\ndlroof_median_seconds{", metrics), timed);
  EXPECT_EQ(fakes::CountOf("\ndlroof_estimate_ratio{", metrics), estimates);
}

TEST(Export, RefusesRunsWhoseOrderIsUnknown) {
  const auto refusal = [](const std::vector<compare::NamedRun>& runs) {
    return fakes::RefusalOf([&] { Exported("csv", runs); });
  };
  compare::NamedRun undated = OddRun();
  undated.file.context.erase("date");
  EXPECT_THAT(refusal({undated, OddRun(2)}), HasSubstr("1.json: has no date"));
  EXPECT_EQ(refusal({undated}), "accepted");
}

}  // namespace
}  // namespace dlroof::history
