#include "reporters/live/google_benchmark.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <sstream>

#include "reporters/document/tables.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"
#include "tests/fakes/run_files.h"
#include "tests/fakes/small_run.h"

namespace dlroof::live {
namespace {

using BenchmarkRun = benchmark::BenchmarkReporter::Run;
using testing::HasSubstr, testing::Not;

constexpr const char* kName = "LSTM/cpu/onednn/fwd_inference/f32/t1n1i1h1";

// What the runner knows: three repetitions.
record::Record MeasuredRecord() {
  record::Record record{.name = kName,
                        .algorithm = "brgemm",
                        .isa = "avx2",
                        .verified = "all 3 outputs",
                        .threads = 1,
                        .cache = "warm",
                        .repetitions = {3, record::Repetition{.seconds = 9, .iterations = 10}}};
  record.work[Provenance::kModelled] = {.flops = {{"fp32.vector", 40}},
                                        .bytes = {{Level::kDram, 8}}};
  record::SplitName(record);
  return record;
}

// Google Benchmark's report of a repetition of 10 iterations.
BenchmarkRun Repetition(double seconds_per_call) {
  BenchmarkRun run;
  run.run_name.function_name = kName;
  run.run_name.time_type = "real_time";
  run.family_index = run.per_family_instance_index = 0;  // which have no default
  run.iterations = 10;
  run.repetitions = 3;
  run.repetition_index = 0;
  run.real_accumulated_time = 10 * seconds_per_call;
  run.cpu_accumulated_time = 10 * seconds_per_call;
  run.time_unit = benchmark::kMicrosecond;
  const auto record = MeasuredRecord();
  run.report_label = record::ToLabel(record);
  for (const auto& [key, value] : record::ToCounters(record, record.repetitions.front()))
    run.counters[key] = value;
  return run;
}

// Three repetitions, whose median is 2 s.
std::vector<BenchmarkRun> Three() { return {Repetition(1), Repetition(2), Repetition(4)}; }

// 100 flop/s and 10 byte/s.
machine::Machine OneThreadMachine() {
  auto machine = fakes::SmallMachine();
  machine.by_threads = {{1, machine.by_threads.at(2)}};
  return machine;
}

// Drives a reporter as Google Benchmark does, and returns its output.
template <class Reporter>
std::string Written(Session& session, const std::vector<std::vector<BenchmarkRun>>& groups) {
  std::ostringstream out, err;
  Reporter reporter(session);
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&err);
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = 50;
  reporter.ReportContext(context);
  for (const auto& runs : groups) reporter.ReportRuns(runs);
  reporter.Finalize();
  return out.str();
}

Session TestSession(nlohmann::json context = nlohmann::json::object(),
                    std::vector<machine::Machine> machines = {OneThreadMachine()}) {
  context["schema"] = record::kSchema;
  Session session(context, [machines] { return machines; });
  session.MeasuredOf(kName).record = MeasuredRecord();
  return session;
}

TEST(RunFileReporter, WritesASupersetThatReadsBackToTheSameRecords) {
  Session session = TestSession();
  BenchmarkRun mean = Repetition(2);
  mean.run_type = BenchmarkRun::RT_Aggregate;
  mean.aggregate_name = "cv";
  mean.counters["modelled/launches"] = std::nan("");
  const auto text =
      Written<RunFileReporter>(session, {{Repetition(1), Repetition(2), Repetition(4), mean}});
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["benchmarks"].size(), 4);
  EXPECT_EQ(json["context"]["dlroof"]["schema"], record::kSchema);
  EXPECT_TRUE(json["context"].contains("num_cpus"));
  EXPECT_EQ(json["records"][0]["seconds"]["median"], 2);
  // 40 flop in 2 s on a roof of min(100, 5 x 10) flop/s.
  EXPECT_DOUBLE_EQ(json["records"][0]["classic"][0]["fraction"], 20.0 / 50.0);
  const auto read = fakes::ParsedRun(text);
  EXPECT_EQ(roofline::ToJson(read.records.at(0), record::MachineFor(read, read.records[0])),
            json["records"][0]);
  EXPECT_EQ(read.machines.at(0), OneThreadMachine());
}

// github-action-benchmark's reader for Google Benchmark ("googlecpp") and compare.py read these
// members of each entry.
TEST(RunFileReporter, EntriesHaveTheMembersThatOtherReadersNeedAndACutOffFileHasMachinesAndWork) {
  Session session = TestSession();
  BenchmarkRun failed = Repetition(1);
  failed.error_occurred = true;
  failed.error_message = "unsupported: no AMX here";
  auto text = Written<RunFileReporter>(session, {{Repetition(2), Repetition(4)}, {failed}});
  const auto json = nlohmann::json::parse(text);
  EXPECT_TRUE(json.at("context").at("date").is_string());
  ASSERT_EQ(json.at("benchmarks").size(), 3);
  for (const auto& entry : json.at("benchmarks")) {
    EXPECT_EQ(entry.at("name"), kName + std::string("/real_time"));
    EXPECT_TRUE(entry.at("iterations").is_number_integer());
    EXPECT_TRUE(entry.at("real_time").is_number());
    EXPECT_TRUE(entry.at("cpu_time").is_number());
    EXPECT_EQ(entry.at("time_unit"), "us");
    EXPECT_TRUE(entry.at("threads").is_number_integer());
  }
  EXPECT_EQ(json.at("benchmarks")[1].at("real_time"), 4e6);
  session = TestSession();
  auto runs = Three();
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].repetition_index = static_cast<std::int64_t>(i);
  text = Written<RunFileReporter>(session, {runs});
  const auto cut = fakes::ParsedRun(text.substr(0, text.find("\"records\"")));
  EXPECT_EQ(cut.machines.size(), 1);
  EXPECT_EQ(roofline::ToJson(cut.records.at(0), &cut.machines[0]),
            nlohmann::json::parse(text)["records"][0]);
}

// Runs the registered benchmarks, and returns the terminal's output.
std::string RunRegistered(Session& session) {
  std::ostringstream out;
  TerminalReporter reporter(session);
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&out);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
  return out.str();
}

TEST(RunFileReporter, SkippedBenchmarksHaveAReasonAndInterruptedOnesNoRecord) {
  benchmark::RegisterBenchmark("unsupported", [](benchmark::State& state) {
    state.SkipWithError("unsupported: no AMX here");
  });
  benchmark::RegisterBenchmark(
      "interrupted", [](benchmark::State& state) { state.SkipWithError(record::kNotRun); });
  Session session = TestSession();
  const auto text = RunRegistered(session);
  ASSERT_EQ(session.file().records.size(), 1);
  EXPECT_EQ(session.file().records[0].status, record::Status::kUnsupported);
  EXPECT_EQ(session.file().records[0].reason, "no AMX here");
  EXPECT_FALSE(session.AnyFailed());
  EXPECT_THAT(text, HasSubstr("\nunsupported\n  unsupported, no AMX here\n"));
}

TEST(TerminalReporter, WritesEachReasonOfUnsupportedBenchmarksOnce) {
  for (const char* name : {"bf16/a", "bf16/b", "bf16/c"})
    benchmark::RegisterBenchmark(name, [](benchmark::State& state) {
      state.SkipWithError("unsupported: no bf16 for avx2");
    });
  Session session = TestSession();
  const auto text = RunRegistered(session);
  EXPECT_THAT(text, HasSubstr("\nunsupported\n  3 benchmarks, no bf16 for avx2\n"));
  EXPECT_THAT(text, Not(HasSubstr("bf16/b")));
  EXPECT_EQ(fakes::Written({{document::UnsupportedList(session.file().records, true)}}),
            "unsupported\n  3 benchmarks, no bf16 for avx2\n    bf16/a\n    bf16/b\n    bf16/c\n");
}

TEST(TerminalReporter, ShowsTheModelAfterTheTableAndShowsRateIntensityShareOfTheRoofAndBound) {
  const nlohmann::json layers = {{{"name", kName}, {"count", 3}}};
  Session models = TestSession({{"suites", {{{"name", "net"}, {"layers", layers}}}}});
  EXPECT_THAT(Written<TerminalReporter>(models, {Three()}),
              testing::ContainsRegex("net LSTM/cpu/onednn/fwd_inference/f32 +1 +3 +6.00 s"));
  SetListedNames({kName});
  Session session = TestSession();
  const auto text = Written<TerminalReporter>(session, {Three()});
  EXPECT_THAT(text, HasSubstr("    % roof      bound    x roof        FLOP/s  FLOP/B DRAM\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex(std::string(kName) +
                                     " .* 2.00 s .*  40.0 % +DRAM +2.50x +20.0 FLOP/s +5.00\n"));
}

TEST(LiveTable, FitsTheTerminalAndItsNamesStayDifferent) {
  const std::vector<std::string> names = {kName, std::string(kName) + "/cold", "Conv2D/cpu/a"};
  for (const int width : {80, 120}) {
    const LiveTable table(names, width);
    std::set<std::string> rows;
    std::string line;
    for (const auto& name : names) {
      record::Record record{.name = name, .repetitions = {{.seconds = 2, .iterations = 1}}};
      rows.insert(table.Row(record, nullptr));
    }
    EXPECT_EQ(rows.size(), names.size());
    rows.insert(table.Header());
    for (const auto& text : rows)
      for (std::istringstream lines(text); std::getline(lines, line);)
        EXPECT_LE(text::TextWidth(line), width) << line;
    EXPECT_EQ(table.Header().find("FLOP/s") != std::string::npos, width == 120);
  }
}

// Google Benchmark reports aggregates in a call of their own.
TEST(Reporters, TakeAggregatesThatComeByThemselves) {
  BenchmarkRun median = Repetition(2);
  median.run_type = BenchmarkRun::RT_Aggregate;
  median.aggregate_name = "median";
  Session file_session = TestSession();
  const auto text = Written<RunFileReporter>(file_session, {{Repetition(1)}, {median}});
  EXPECT_EQ(nlohmann::json::parse(text)["records"].size(), 1);
  Session aggregates = TestSession();
  EXPECT_THAT(Written<TerminalReporter>(aggregates, {{median}}), HasSubstr("_median"));
  Session after = TestSession();
  EXPECT_THAT(Written<TerminalReporter>(after, {{Repetition(1)}, {median}}),
              Not(HasSubstr("_median")));
}

TEST(ResultSummary, CountsBenchmarksByStatus) {
  record::Record timed, noisy, wrong;
  timed.repetitions = {{.seconds = 1}};
  noisy.repetitions = {{.seconds = 1, .run_delay_seconds = 0.1, .noisy = true}};
  wrong.status = record::Status::kWrong;
  EXPECT_THAT(ResultSummary({timed, timed, noisy, wrong}),
              testing::AllOf(testing::StartsWith("4 benchmarks, 1 noisy, 2 ok, 1 wrong; ~ noisy"),
                             HasSubstr("threads waited while other programs ran: stop those")));
  noisy.repetitions[0].run_delay_seconds.reset();
  EXPECT_THAT(ResultSummary({timed, noisy}), Not(HasSubstr("stop")));
  EXPECT_THAT(ResultSummary({timed, noisy, noisy}, Reason{"a quota stopped it"}),
              testing::AllOf(HasSubstr("; a quota stopped it\n"), Not(HasSubstr("stop those"))));
}

TEST(Session, MeasuresTheMachineOnceWhenARunBegins) {
  int measured = 0;
  Session session(nlohmann::json::object(), [&] {
    ++measured;
    return std::vector<machine::Machine>{};
  });
  EXPECT_EQ(measured, 0);
  session.Begin();
  session.Begin();
  EXPECT_EQ(measured, 1);
}

}  // namespace
}  // namespace dlroof::live
