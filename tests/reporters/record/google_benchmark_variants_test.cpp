// Variants of Google Benchmark's files: other units, orders, versions and members, cut files. None
// may give another time without a refusal or a warning.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/run_file.h"
#include "tests/test_data.h"

namespace dlroof::record {
namespace {

using nlohmann::json;
using Random = std::mt19937;
using Times = std::map<std::string, double>;  // medians [s] by name

// Returns the medians of the benchmarks that have one.
Times TimesIn(const std::string& text, std::ostream& warnings) {
  Times times;
  for (const auto& record : ParseRunFile(text, "x.json", warnings).records)
    if (const auto timing = TimeOf(record.repetitions)) times[record.name] = timing->median;
  return times;
}

void Shuffle(json& file, Random& random) {
  auto& entries = file["benchmarks"].get_ref<json::array_t&>();
  if (!entries.front().contains("run_type")) return;  // of versions without random interleaving
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
      {"aggregate_unit"},
      {"run_type", "run_name", "aggregate_name", "repetitions", "repetition_index",
       "aggregate_unit", "family_index", "per_family_instance_index", "threads"}};
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

void Duplicate(json& file, Random& random) {
  auto& entries = file["benchmarks"];
  const json entry = entries[random() % entries.size()];
  entries.push_back(entry);
}

void RemoveEntry(json& file, Random& random) {
  auto& entries = file["benchmarks"];
  entries.erase(random() % entries.size());
}

// Returns the text as another version or program may write it.
std::string AsText(const json& file, Random& random) {
  auto text = file.dump(random() % 2 == 0 ? -1 : 2);
  if (random() % 4 == 0) text = "\xEF\xBB\xBF" + text;
  if (random() % 4 == 0)
    for (auto at = text.find("null"); at != std::string::npos; at = text.find("null", at))
      text.replace(at, 4, random() % 2 == 0 ? "NaN" : "-Infinity");
  if (random() % 4 == 0) text.resize(random() % text.size());
  return text;
}

// [1] Statistics of a repetition more or less are other numbers.
bool ChangesRepetitions(const std::vector<std::size_t>& edits) {
  return std::ranges::any_of(edits, [](std::size_t edit) { return edit >= 4; });
}

void Try(const std::string& name, int variants) {
  const auto raw = ReadFile(fakes::TestData(name), "a file of Google Benchmark");
  const auto file = json::parse(RepairedJson(raw).value_or(raw));
  std::ostringstream none;
  const Times times = TimesIn(file.dump(), none);
  ASSERT_EQ(times, TimesIn(raw, none));
  const std::vector<std::function<void(json&, Random&)>> kEdits = {
      Shuffle, ChangeUnit, MakeOlder, AddMembers, Duplicate, RemoveEntry};
  Random random(7);
  int read = 0;
  for (int i = 0; i < variants; ++i) {
    auto variant = file;
    std::vector<std::size_t> edits(1 + random() % 3);
    for (auto& edit : edits) kEdits[edit = random() % kEdits.size()](variant, random);
    const auto text = AsText(variant, random);
    std::ostringstream warnings;
    Times found;
    try {
      found = TimesIn(text, warnings);
    } catch (const BadInput&) {
      continue;
    }
    if (!warnings.str().empty() || ChangesRepetitions(edits)) continue;
    ++read;
    ASSERT_EQ(found.size(), times.size()) << text;
    for (const auto& [benchmark, seconds] : times)
      ASSERT_NEAR(found.at(benchmark) / seconds, 1, 1e-9) << benchmark << '\n' << text;
  }
  EXPECT_GT(read, variants / 10);
}

TEST(GoogleBenchmarkVariants, HaveTheSameTimes) {
  Try("google_benchmark_1.7.1.json", 1000);
  Try("google_benchmark_1.9.1.json", 1000);
  Try("google_benchmark_aggregates_1.9.1.json", 1000);
}

}  // namespace
}  // namespace dlroof::record
