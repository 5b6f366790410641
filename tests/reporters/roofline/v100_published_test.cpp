// The published V100 measurements: our placement reproduces their classes and coordinates.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/numbers.h"
#include "tests/test_data.h"

namespace dlroof::roofline {
namespace {

using Row = std::map<std::string, std::string>;

std::string Published(const std::string& name) {
  return fakes::TestData("../../baselines/studies/v100_published/" + name);
}

// Returns the rows of a table in tests/data by their column names.
std::vector<Row> Table(const std::string& name) {
  std::istringstream lines(ReadFile(fakes::TestData(name), "a table"));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#')) text += line + "\n";
  const auto rows = text::ReadCsv(text, name);
  std::vector<Row> table;
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[0].size(); ++j) {
      if (j == 0) table.emplace_back();
      table.back()[rows[0][j].text] = rows[i][j].text;
    }
  return table;
}

double Number(const Row& row, const std::string& column) { return std::stod(row.at(column)); }

machine::Machine V100() {
  return machine::MachineFromJson(
      nlohmann::json::parse(ReadFile(Published("machine.json"), "a table")), "machine.json");
}

std::vector<record::Record> Imported100(const std::string& name) {
  auto imported = imports::ImportOwnCsv(ReadFile(Published(name), "a table"), name);
  EXPECT_TRUE(imported.remarks.empty());
  return imports::ImportedRun(std::move(imported.records), V100(), {}, std::cerr).records;
}

constexpr double kP = 106490e9, kB = 828.758e9, kLaunch = 4.2e-6;  // the published code's constants

// The published code's classes: overhead for a complexity point inside the box of launches, else by
// the side of the machine balance.
Bound PublishedClass(double flops, double intensity, double launches) {
  const double box = launches * kLaunch;
  if (flops / kP < box && flops / intensity / kB < box) return Bound::kOverhead;
  return intensity > kP / kB ? Bound::kCompute : Bound::kMemory;
}

const PlaceView kPaper = {{Level::kDram}, true};

void ExpectPublishedClasses(const std::string& table, const std::string& file,
                            const std::string& flops_column, double unit, std::size_t count) {
  const auto rows = Table(table);
  const auto records = Imported100(file);
  const machine::Machine machine = V100();
  ASSERT_EQ(rows.size(), count);
  ASSERT_EQ(records.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto time = Place(records[i], &machine, kPaper).time;
    ASSERT_TRUE(time.has_value()) << records[i].name;
    EXPECT_EQ(time->bound,
              PublishedClass(Number(rows[i], flops_column) * unit,
                             Number(rows[i], "dram_ai_flop_per_byte"), Number(rows[i], "launches")))
        << records[i].name;
  }
}

TEST(PublishedV100, EveryConvolutionIsClassifiedAsPublishedAndEveryLstmIsOverheadBound) {
  ExpectPublishedClasses("v100_conv2d_measured.csv", "conv2d.csv", "gflop", 1e9, 80);
  ExpectPublishedClasses("v100_lstm_measured.csv", "lstm.csv", "mflop", 1e6, 96);
  const machine::Machine machine = V100();
  for (const record::Record& record : Imported100("lstm.csv")) {
    EXPECT_EQ(Place(record, &machine, kPaper).time->bound, Bound::kOverhead) << record.name;
    EXPECT_EQ(Place(record, &machine).time->bound, Bound::kOverhead)
        << record.name << " also by the ceilings of its own pipes";
  }
}

// Returns the index of the record for a row of the table of points.
std::optional<std::size_t> RecordOf(const Row& row, const std::vector<record::Record>& records) {
  const auto library = row.at("framework") == "pt" ? "pytorch1.5" : "tf2.2";
  const auto type = row.at("precision") == "FP16" ? "f16" : "f32";
  const auto& filter = row.at("filter_RSCK");
  const auto taps = filter.substr(0, 1), filters = filter.substr(filter.rfind('x') + 1);
  const auto problem =
      "n16c64h112w112k" + filters + "r" + taps + "s" + taps + "_s" + row.at("stride");
  for (std::size_t i = 0; i < records.size(); ++i) {
    const record::Record& record = records[i];
    if (record.library == library && record.type == type && record.direction == "fwd" &&
        (record.problem == problem || record.problem.starts_with(problem + "p")))
      return i;
  }
  return std::nullopt;
}

// Returns the relative rounding error of a printed number: "9.8" -> 0.05 / 9.8.
double RoundingOf(const std::string& printed) {
  const auto point = printed.find('.');
  const auto decimals = point == std::string::npos ? 0 : printed.size() - point - 1;
  return 0.5 * std::pow(10, -static_cast<double>(decimals)) / std::stod(printed);
}

// The table is rounded to whole microseconds. `relative` is the rounding error of the FLOPs and
// intensities in v100_conv2d_measured.csv from which it was computed.
void ExpectRounded(double seconds, const Row& row, const std::string& column, double relative) {
  const double expected = Number(row, column) * 1e-6;
  EXPECT_NEAR(seconds, expected, 0.501e-6 + relative * expected)
      << row.at("framework") << row.at("precision") << row.at("filter_RSCK") << " " << column;
}

TEST(PublishedV100, TimeBasedPointsAgreeWithinTheRoundingOfTheTable) {
  const auto rows = Table("v100_time_roofline_points.csv");
  const auto measured = Table("v100_conv2d_measured.csv");  // the records' rows, in their order
  const auto records = Imported100("conv2d.csv");
  const machine::Machine machine = V100();
  ASSERT_EQ(rows.size(), 24U);
  for (const Row& row : rows) {
    const auto record = RecordOf(row, records);
    ASSERT_TRUE(record.has_value()) << row.at("filter_RSCK");
    const auto time = Place(records[*record], &machine, kPaper).time.value();
    const double of_flops = RoundingOf(row.at("gflop"));
    const double of_bytes = of_flops + RoundingOf(measured.at(*record).at("dram_ai_flop_per_byte"));
    ExpectRounded(time.compute_seconds, row, "flop_time_bound_us", of_flops);
    ExpectRounded(time.memory_seconds.at(Level::kDram), row, "byte_time_bound_us", of_bytes);
    ExpectRounded(time.seconds, row, "run_time_us", 0);
    // The binding coordinate is the run time; the other one has both rounding errors.
    ExpectRounded(time.compute_seconds * time.times_over_roof, row, "time_point_flop_us",
                  of_flops + of_bytes);
    ExpectRounded(time.memory_seconds.at(Level::kDram) * time.times_over_roof, row,
                  "time_point_byte_us", of_flops + of_bytes);
    EXPECT_EQ(time.bound == Bound::kCompute ? "compute" : "bandwidth", row.at("side"));
    EXPECT_NEAR(time.times_over_roof, Number(row, "gap_to_roof"),
                0.0501 + time.times_over_roof * (of_flops + of_bytes));
    EXPECT_NEAR(*time.overhead_seconds, Number(row, "launch_overhead_us") * 1e-6, 1e-12);
  }
}

TEST(PublishedV100, DeepCamPhasesAndSweepsMatchThePaper) {
  const auto rows = Table("v100_deepcam_phases.csv");
  const auto zero_flop_kernels = CountZeroFlopKernels(Imported100("deepcam-census.csv"));
  std::map<std::string, ZeroFlopSummary> by_set;
  for (const ZeroFlopSummary& one : zero_flop_kernels) by_set[one.set] = one;
  int with_zero = 0;
  for (const Row& row : rows) {
    const auto found = by_set.find(row.at("framework") + " " + row.at("phase"));
    if (row.at("zero_ai_launches") == "0") {
      EXPECT_TRUE(found == by_set.end()) << "a set without such kernels has no summary";
      continue;
    }
    ++with_zero;
    ASSERT_TRUE(found != by_set.end()) << row.at("phase");
    const ZeroFlopSummary& one = found->second;
    EXPECT_EQ(one.launches, Number(row, "launches"));
    EXPECT_EQ(one.zero_flop_launches, Number(row, "zero_ai_launches"));
    EXPECT_NEAR(100 * *one.zero_flop_launches / *one.launches, Number(row, "zero_ai_launch_pct"),
                0.0501);
    EXPECT_NEAR(100 * one.zero_flop_seconds / one.seconds, Number(row, "zero_ai_time_pct"), 1e-6);
    EXPECT_NEAR(100 * one.matrix_flops / one.flops, Number(row, "tensor_core_flop_pct"), 1e-6);
    // TFLOP/s has two digits, TFLOP three, ms one.
    const double rate = one.flops / one.seconds * 1e-12;
    EXPECT_NEAR(rate, Number(row, "mean_tflop_per_s"),
                0.00501 + rate * (0.0005e12 / one.flops + 0.05e-3 / one.seconds));
  }
  EXPECT_EQ(with_zero, 17);
  const auto lines = [](const char* name) {
    const auto run = PlaceRun(record::RunFile{{}, {V100()}, Imported100("conv2d.csv")}, kPaper);
    return SweepLines(run, std::string_view(name));
  };
  // Two frameworks, two precisions, two passes.
  for (const auto& [sweep, values] : {std::pair("batch", std::vector<double>{16, 32, 64}),
                                      std::pair("filters", std::vector<double>{64, 128, 256, 512}),
                                      std::pair("kernel", std::vector<double>{3, 7, 9}),
                                      std::pair("stride", std::vector<double>{1, 2, 3})}) {
    const auto found = lines(sweep);
    EXPECT_EQ(found.size(), 8U) << sweep;
    for (const auto& line : found) EXPECT_EQ(line.values, values) << sweep << " " << line.series;
  }
}

}  // namespace
}  // namespace dlroof::roofline
