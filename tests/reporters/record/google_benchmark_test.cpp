#include "reporters/record/google_benchmark.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/run_files.h"
#include "tests/reporters/imports/variants.h"

namespace dlroof::record {
namespace {

using nlohmann::json;
using testing::ElementsAre, testing::HasSubstr;
using Random = std::mt19937;
using Times = std::map<std::string, double>;  // medians [s] by name

RunFile Parsed(const std::string& text) { return fakes::ParsedRun(text, "gb.json"); }

RunFile FromFile(const std::string& name) {
  return Parsed(ReadFile(fakes::TestData(name), "a file of Google Benchmark"));
}

// A file with these entries.
RunFile With(const std::string& entries, const std::string& context = "") {
  return Parsed(fmt::format(R"({{"context": {{{}}}, "benchmarks": [{}]}})", context, entries));
}

std::string Entry(const std::string& name, double time, const std::string& more = "") {
  return fmt::format(R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration",
      "iterations": 7, "real_time": {1}, "cpu_time": {1}, "time_unit": "ns"{2}}})",
                     name, time, more);
}

std::vector<std::string> NamesOf(const RunFile& run) {
  std::vector<std::string> names;
  for (const auto& record : run.records) names.push_back(record.name);
  return names;
}

const Record& Named(const RunFile& run, std::string_view name) {
  for (const auto& record : run.records)
    if (record.name == name) return record;
  throw std::runtime_error("no record " + std::string(name));
}

double Seconds(const Record& record) { return TimeOf(record.repetitions)->median; }

TEST(BenchmarkName, SettingsAreOnlyAtTheEndAndInOrder) {
  const auto read = ReadBenchmarkName(
      "A/8/min_time:0.5/min_warmup_time:1.000/iterations:9/repeats:3"
      "/process_time/real_time/threads:4");
  EXPECT_EQ(read.bare, "A/8");
  EXPECT_EQ(read.repeats, 3);
  EXPECT_EQ(read.threads, 4);
  EXPECT_TRUE(read.real_time && read.process_time && !read.manual_time);
  EXPECT_EQ(ReadBenchmarkName("Scan/repeats:all/8").bare, "Scan/repeats:all/8");
  EXPECT_EQ(ReadBenchmarkName("real_time").bare, "real_time");
  EXPECT_EQ(ReadBenchmarkName("A/real_time/8").bare, "A/real_time/8");
  EXPECT_EQ(BareName("Conv2D/cpu/onednn/fwd/f32/n1/real_time"), "Conv2D/cpu/onednn/fwd/f32/n1");
  EXPECT_EQ(BareName("A/real_time/threads:2"), "A/threads:2");
  EXPECT_EQ(BareName("A/1024"), "A/1024");
  EXPECT_EQ(ListedName("A", false), "A/real_time");
}

TEST(GoogleBenchmark, NamesThatDifferInSettingsStayApartAndOwnOnesAreElseBare) {
  std::string entries;
  std::istringstream words(
      "A/8 A/8/real_time A/8/process_time A/8/manual_time A/8/iterations:1 A/8/repeats:2 "
      "A/8/min_time:2 A/8/min_warmup_time:1 A/8/threads:2 A/repeats:x/8");
  const std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
  for (std::size_t i = 0; i < names.size(); ++i)
    for (int repetition = 0; repetition < 2; ++repetition)
      entries += (entries.empty() ? "" : ",") +
                 Entry(names[i], 100 + 10 * static_cast<double>(i),
                       fmt::format(R"(, "repetition_index": {})", repetition));
  const auto run = With(entries);
  EXPECT_EQ(NamesOf(run), names);
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_NEAR(Seconds(run.records[i]), (100 + 10 * static_cast<double>(i)) * 1e-9, 1e-20);
  const std::string own = R"("dlroof": {"schema": 2})";
  EXPECT_THAT(NamesOf(With(Entry("A/real_time", 1) + "," + Entry("B/real_time", 2), own)),
              ElementsAre("A", "B"));
  EXPECT_THAT(NamesOf(With(Entry("A/real_time", 1) + "," + Entry("A", 2), own)),
              ElementsAre("A/real_time", "A"));
}

TEST(GoogleBenchmark, TwoBenchmarksOfOneNameAreNumberedAndTimesOfEveryUnitAreSeconds) {
  const auto run = With(Entry("A", 1, R"(, "family_index": 0, "repetition_index": 0)") + "," +
                        Entry("A", 2, R"(, "family_index": 1, "repetition_index": 0)"));
  EXPECT_THAT(NamesOf(run), ElementsAre("A", "A (2)"));
  std::ostringstream warnings;
  const auto twice = ParseRunFile(fmt::format(R"({{"context": {{}}, "benchmarks": [{0}, {0}]}})",
                                              Entry("A", 1, R"(, "repetition_index": 0)")),
                                  "gb.json", warnings);
  EXPECT_EQ(twice.records.at(0).repetitions.size(), 1U);
  EXPECT_THAT(warnings.str(), HasSubstr("'A' has repetition 0 twice"));
  for (const auto& [unit, seconds] :
       {std::pair("ns", 1e-9), {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}})
    EXPECT_DOUBLE_EQ(
        Seconds(With(fmt::format(
                         R"({{"name": "A", "real_time": 2.5, "cpu_time": 1, "time_unit": "{}"}})",
                         unit))
                    .records.at(0)),
        2.5 * seconds);
}

// Times of a benchmark that waits for files, a GPU or threads vary in their CPU share.
TEST(GoogleBenchmark, CpuTimeOfOtherProgramsSaysNothingAboutNoiseAndReadsAFileOfVersion171WithNan) {
  std::string entries;
  for (int i = 0; i < 8; ++i)
    entries +=
        fmt::format(R"({}{{"name": "A", "real_time": 100, "cpu_time": {}, "iterations": 5}})",
                    i == 0 ? "" : ",", 5 + 10 * i);
  const auto timing = TimeOf(With(entries).records.at(0).repetitions);
  EXPECT_FALSE(timing->noisy);
  EXPECT_EQ(timing->clean, 8);
  const auto run = FromFile("google_benchmark_1.7.1.json");
  ASSERT_EQ(run.records.size(), 14U);  // without BM_Copy_BigO and BM_Copy_RMS
  EXPECT_NEAR(Seconds(Named(run, "BM_Nan")), 1057.07e-9, 1e-11);
  EXPECT_NEAR(Seconds(Named(run, "BM_Main/iterations:1")), 26160e-9, 1e-12);
  EXPECT_NEAR(Seconds(Named(run, "BM_Main/iterations:1/real_time")), 20403e-9, 1e-12);
  EXPECT_EQ(Named(run, "BM_Skip").status, Status::kFailed);
  EXPECT_EQ(Named(run, "BM_Thr/real_time/threads:2").threads, 2);
  EXPECT_NEAR(Seconds(Named(run, "Größe/σ=3 µs/\"q\"\\b")), 1.0587e-6, 1e-10);
  // 111.84 GB/s of CPU time for 9.155868 ns: 1024 bytes.
  EXPECT_EQ(Named(run, "BM_Copy/1024").work.at(Provenance::kModelled).bytes.at(Level::kDram), 1024);
}

TEST(GoogleBenchmark, ReadsAFileOfVersion191AndAFileWithAggregatesOnlyHasMediansAndTheirIntervals) {
  auto run = FromFile("google_benchmark_1.9.1.json");
  EXPECT_THAT(NamesOf(run), ElementsAre("BM_Sum", "BM_Real/real_time", "BM_Manual/manual_time",
                                        "BM_Skip", "BM_Nan", "BM_Complex/8"));
  EXPECT_EQ(Named(run, "BM_Sum").repetitions.size(), 3U);
  // 1000 FLOPs per iteration of the Python function, declared as FLOPS.
  EXPECT_EQ(Named(run, "BM_Sum").work.at(Provenance::kModelled).flops.at("fp32.vector"), 1000);
  EXPECT_EQ(Named(run, "BM_Real/real_time").work.at(Provenance::kModelled).bytes.at(Level::kDram),
            160000);
  EXPECT_EQ(Named(run, "BM_Skip").reason, "no device");
  EXPECT_NEAR(Seconds(Named(run, "BM_Manual/manual_time")), 1e-6, 1e-15);
  run = FromFile("google_benchmark_aggregates_1.9.1.json");
  const auto& record = Named(run, "BM_Nan");
  const auto timing = TimeOf(record.repetitions);
  EXPECT_NEAR(timing->median, 489.763e-9, 1e-12);
  EXPECT_EQ(timing->clean, 3);
  // 47.97 / 494.50 / sqrt(3) * sqrt(pi / 2) * 4.3027 (Student, 2 degrees of freedom) = 30.2 %
  ASSERT_TRUE(timing->ci95.has_value());
  EXPECT_NEAR(timing->ci95->second / timing->median, 1.3020, 1e-3);
  // Written and read again it is the same.
  const auto again = Parsed(roofline::ToJson(run).dump());
  EXPECT_NEAR(TimeOf(Named(again, "BM_Nan").repetitions)->ci95->second / timing->ci95->second, 1,
              1e-7);
}

TEST(GoogleBenchmark, ComplexityRowsAreNoBenchmarksASkipIsNoFailureAndInfinityIsNoTime) {
  EXPECT_THAT(
      NamesOf(With(
          Entry("A/8", 1) +
          R"(, {"name": "A_BigO", "cpu_coefficient": 1, "real_coefficient": 1, "big_o": "N", "time_unit": "ns"},
             {"name": "A_RMS", "rms": 5},
             {"name": "A_BigO", "run_name": "A", "run_type": "aggregate", "aggregate_name": "BigO", "cpu_coefficient": NaN, "real_coefficient": 1, "big_o": "N", "time_unit": "ns"})")),
      ElementsAre("A/8"));
  const auto run = With(
      R"({"name": "A", "skipped": true, "skip_message": "needs AMX"},
         {"name": "B", "error_occurred": true, "error_message": "boom"})");
  EXPECT_EQ(run.records.at(0).status, Status::kUnsupported);
  EXPECT_EQ(run.records.at(0).reason, "needs AMX");
  EXPECT_EQ(run.records.at(1).status, Status::kFailed);
  const auto infinite = With(
      R"({"name": "A", "real_time": NaN, "cpu_time": inf, "iterations": 1, "x": -Infinity, "y": -nan(ind), "z": 1.#QNAN},)" +
      Entry("B", 5));
  EXPECT_FALSE(TimeOf(infinite.records.at(0).repetitions).has_value());
  EXPECT_EQ(infinite.records.at(0).reason, "its real_time is not a finite number");
  EXPECT_NEAR(Seconds(infinite.records.at(1)), 5e-9, 1e-20);
}

TEST(GoogleBenchmark, RatesAreOfTheClockThatTheNameSays) {
  const auto flops = [](const std::string& name, const std::string& counter) {
    const auto run = With(fmt::format(
        R"({{"name": "{}", "real_time": 200, "cpu_time": 50, "time_unit": "ns", "iterations": 1, "{}": 4e9}})",
        name, counter));
    return run.records.at(0).work.at(Provenance::kModelled).flops;
  };
  EXPECT_THAT(flops("A", "FLOPS"), ElementsAre(testing::Pair("fp32.vector", 200)));
  EXPECT_THAT(flops("A/real_time", "FLOPS"), ElementsAre(testing::Pair("fp32.vector", 800)));
  EXPECT_THAT(flops("A/manual_time", "FLOP/s"), ElementsAre(testing::Pair("fp32.vector", 800)));
  EXPECT_THAT(flops("A<double>/process_time", "FLOPS"),
              ElementsAre(testing::Pair("fp64.vector", 200)));
  // dlroof's own counters come first.
  const auto run = With(Entry("A", 10, R"(, "FLOPS": 5, "modelled/flops/bf16.matrix": 12)"));
  EXPECT_THAT(run.records.at(0).work.at(Provenance::kModelled).flops,
              ElementsAre(testing::Pair("bf16.matrix", 12)));
}

double FlopsOf(const Record& record) {
  return record.work.empty() ? 0 : TotalFlops(record.work.begin()->second).value_or(0);
}

// Four threads of 2 ms move 20 MB each: 0.52 ms and 20 MB a call, in every version.
TEST(GoogleBenchmark, ThreadsAndTheirCountersAreCountedAlikeInEveryVersion) {
  for (const char* version : {"171", "194", "195"}) {
    const auto run = FromFile(fmt::format("faults/threads_{}.json", version));
    for (const auto& record : run.records) {
      EXPECT_NEAR(Seconds(record), 2.1e-3 / *record.threads, 0.1e-3) << record.name;
      EXPECT_NEAR(record.work.at(Provenance::kModelled).bytes.at(Level::kDram), 20e6, 1);
      EXPECT_NEAR(FlopsOf(record), 20e6, 1);
    }
  }
  // Each call has 2e7 FLOP, whether the program sums its counter over threads or averages it.
  for (const char* version : {"171", "195"}) {
    const auto run = FromFile(fmt::format("faults/counters_{}.json", version));
    ASSERT_EQ(run.records.size(), 6U);
    for (const auto& record : run.records) EXPECT_NEAR(FlopsOf(record), 2e7, 1) << record.name;
  }
  // Without the benchmark of one thread only a plain counter is known.
  const auto alone = [](const std::string& counter, const std::string& context) {
    return With(Entry("A/real_time/threads:4", 8, R"(, "threads": 4, ")" + counter + R"(": 16)"),
                context)
        .records.at(0);
  };
  const std::string release = R"("library_version": "v1.9.5", "json_schema_version": 1)";
  EXPECT_EQ(FlopsOf(alone("modelled/flops/fp32.vector", release)), 4);
  EXPECT_NEAR(Seconds(alone("FLOPS", release)), 2e-9, 1e-18);
  EXPECT_EQ(FlopsOf(alone("FLOPS", release)), 0);
  EXPECT_NEAR(
      alone("bytes_per_second", release).work.at(Provenance::kModelled).bytes.at(Level::kDram),
      16 * 2e-9, 1e-15);
  for (const char* unknown :
       {"", ", \"library_version\": \"\"", ", \"library_version\": \"v0.0.0\"",
        ", \"library_version\": \"v1.9.4-12-g0a1b2c3\""})
    EXPECT_TRUE(
        alone("bytes_per_second", std::string("\"json_schema_version\": 1") + unknown).work.empty())
        << unknown;
}

TEST(RepairedJson, LeavesValidTextAndStringsAlone) {
  EXPECT_EQ(RepairedJson(R"({"a": 1.5e3, "NaN": "Infinity", "b": [true, null, "\"nan"]})"),
            std::nullopt);
  EXPECT_EQ(RepairedJson(R"({"a": NaN, "b": "\\\"", "c": -inf})"),
            R"({"a": null, "b": "\\\"", "c": null})");
  EXPECT_EQ(RepairedJson("{\"a\": \"Messung_\xE4\"}"), R"({"a": "Messung_\\xE4"})");
  EXPECT_EQ(RepairedJson("{\"a\": \"C:\\Users\\new\x1b\"}"), R"({"a": "C:\\Users\\new\u001b"})");
}

std::string WarningsOf(const std::string& entries) {
  std::ostringstream warnings;
  ParseRunFile(fmt::format(R"({{"context": {{}}, "benchmarks": [{}]}})", entries), "gb.json",
               warnings);
  return warnings.str();
}

TEST(GoogleBenchmarkFile, RepetitionsThatAreMissingAreNamedAndAMeanThatStandsForTheMedianIsNamed) {
  const std::string of_three = R"(, "repetitions": 3)";
  EXPECT_EQ(WarningsOf(Entry("A", 1, of_three) + "," + Entry("A", 2, of_three)),
            "gb.json: 1 benchmarks have fewer repetitions in the file than they ran\n");
  EXPECT_EQ(WarningsOf(Entry("A", 1, R"(, "repetitions": 1)")), "");
  EXPECT_EQ(WarningsOf(Entry("A", 1)), "");
  const auto statistic = [](const char* name, double time) {
    return fmt::format(R"({{"name": "A_{0}", "run_name": "A", "run_type": "aggregate",
        "aggregate_name": "{0}", "repetitions": 3, "iterations": 3, "real_time": {1},
        "cpu_time": {1}, "time_unit": "ns"}})",
                       name, time);
  };
  EXPECT_EQ(WarningsOf(statistic("mean", 5)),
            "gb.json: the time of 1 benchmarks is their mean, since they have no median\n");
  EXPECT_EQ(WarningsOf(statistic("mean", 5) + "," + statistic("median", 4)), "");
}

// Variants of Google Benchmark's files: other units, orders, versions and members, entries
// that are missing or there twice, cut files. None may give another time without a refusal or a
// warning. DLROOF_VARIANTS sets the number of variants of each file.

// Returns the medians of the benchmarks that have one.
Times TimesIn(const std::string& text, std::ostream& warnings) {
  Times times;
  for (const auto& record : ParseRunFile(text, "x.json", warnings).records)
    if (const auto timing = TimeOf(record.repetitions)) times[record.name] = timing->median;
  return times;
}

void Shuffle(json& file, Random& random) {
  auto& entries = file["benchmarks"].get_ref<json::array_t&>();
  // As random interleaving does: statistics stay behind the repetitions.
  const auto first = std::stable_partition(entries.begin(), entries.end(), [](const json& entry) {
    return entry.value("run_type", "iteration") == "iteration";
  });
  std::shuffle(entries.begin(), first, random);
}

// Writes all times in another unit; shares stay.
void ChangeUnit(json& file, Random& random) {
  const std::map<std::string, double> units = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  for (auto& entry : file["benchmarks"]) {
    if (!entry.contains("real_time")) continue;
    const auto to = std::next(units.begin(), static_cast<long>(random() % units.size()));
    const double factor = units.at(entry.value("time_unit", "ns")) / to->second;
    entry["time_unit"] = to->first;
    if (entry.value("aggregate_unit", "time") != "time") continue;
    for (const char* time : {"real_time", "cpu_time"})
      if (entry[time].is_number()) entry[time] = entry[time].get<double>() * factor;
  }
}

// Removes a member that older versions do not have from all entries.
void MakeOlder(json& file, Random& random) {
  const std::vector<std::vector<const char*>> members = {
      {"family_index", "per_family_instance_index"},
      {"repetition_index"},
      {"threads"},
      {"aggregate_unit"}};
  for (const char* member : members[random() % members.size()])
    for (auto& entry : file["benchmarks"]) entry.erase(member);
}

void AddMembers(json& file, Random& random) {
  for (auto& entry : file["benchmarks"]) {
    entry["counter" + std::to_string(random() % 9)] = 1e3 * static_cast<double>(random() % 1000);
    if (random() % 3 == 0) entry["text"] = "1,5";
    if (random() % 3 == 0) entry["nothing"] = nullptr;
  }
}

// Adds a counter of the author that has the name of a member, behind it.
std::string WithDoubleKey(std::string text, Random& random) {
  const std::string unit = "\"time_unit\"";
  for (auto at = text.find(unit); at != std::string::npos; at = text.find(unit, at + unit.size())) {
    const char* key = random() % 2 == 0 ? "real_time" : "iterations";
    const auto end = text.find_first_of(",}", at);
    if (end != std::string::npos) text.insert(end, fmt::format(", \"{}\": 77", key));
  }
  return text;
}

// Returns the text as another version or program may write it.
std::string AsText(const json& file, Random& random) {
  auto text = file.dump(random() % 2 == 0 ? -1 : 2);
  if (random() % 8 == 0) text = WithDoubleKey(std::move(text), random);
  if (random() % 4 == 0) text = "\xEF\xBB\xBF" + text;
  if (random() % 4 == 0)
    for (auto at = text.find("null"); at != std::string::npos; at = text.find("null", at))
      text.replace(at, 4, random() % 2 == 0 ? "NaN" : "-Infinity");
  if (random() % 4 == 0) text.resize(random() % text.size());
  return text;
}

void Try(const std::string& name) {
  const int variants = fakes::Asked("DLROOF_VARIANTS", 1000);
  const auto raw = ReadFile(fakes::TestData(name), "a file of Google Benchmark");
  const auto file = json::parse(RepairedJson(raw).value_or(raw));
  std::ostringstream none;
  const Times times = TimesIn(file.dump(), none);
  ASSERT_EQ(times, TimesIn(raw, none));
  const std::vector<std::function<void(json&, Random&)>> kEdits = {Shuffle, ChangeUnit, MakeOlder,
                                                                   AddMembers};
  Random random(7);
  int read = 0;
  for (int i = 0; i < variants; ++i) {
    auto variant = file;
    for (auto edits = 1 + random() % 3; edits > 0; --edits)
      kEdits[random() % kEdits.size()](variant, random);
    const auto text = AsText(variant, random);
    std::ostringstream warnings;
    Times found;
    try {
      found = TimesIn(text, warnings);
    } catch (const BadInput&) {
      continue;
    }
    if (!warnings.str().empty()) continue;
    ++read;
    ASSERT_GE(found.size(), times.size()) << text;
    for (const auto& [benchmark, seconds] : found) {
      const auto known = times.find(benchmark);
      ASSERT_TRUE(known != times.end() || benchmark.ends_with(')')) << benchmark << '\n' << text;
      if (known != times.end()) {
        ASSERT_NEAR(seconds / known->second, 1, 1e-9) << benchmark << '\n' << text;
      }
    }
  }
  EXPECT_GT(read, variants / 10);
}

TEST(GoogleBenchmarkVariants, HaveTheSameTimes) {
  Try("google_benchmark_1.7.1.json");
  Try("google_benchmark_1.9.1.json");
  Try("google_benchmark_aggregates_1.9.1.json");
}

}  // namespace
}  // namespace dlroof::record
