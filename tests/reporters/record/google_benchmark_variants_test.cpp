// Variants of Google Benchmark's files: other units, locales, orders, versions and members, entries
// that are missing or there twice, cut files. None may give another time without a refusal or a
// warning. DLROOF_VARIANTS sets the number of variants of each file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
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

// Writes a time as a text, as programs of another locale do.
void WriteInLocale(json& file, Random& random) {
  auto& entries = file["benchmarks"];
  if (entries.empty()) return;
  auto& entry = entries[random() % entries.size()];
  if (!entry.contains("real_time") || !entry["real_time"].is_number()) return;
  auto text = entry["real_time"].dump();
  std::ranges::replace(text, '.', ',');
  entry["real_time"] = text;
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

// In files without the numbers of repetitions one more or less is another measurement.
bool ChangesRepetitions(const std::vector<std::size_t>& edits, bool numbered) {
  const auto has = [&](std::size_t edit) { return std::ranges::count(edits, edit) > 0; };
  return (has(4) || has(5)) && (has(2) || !numbered);
}

void Try(const std::string& name) {
  const char* asked = std::getenv("DLROOF_VARIANTS");
  const int variants = asked == nullptr ? 1000 : std::atoi(asked);
  const auto raw = ReadFile(fakes::TestData(name), "a file of Google Benchmark");
  const auto file = json::parse(RepairedJson(raw).value_or(raw));
  std::ostringstream none;
  const Times times = TimesIn(file.dump(), none);
  ASSERT_EQ(times, TimesIn(raw, none));
  const std::vector<std::function<void(json&, Random&)>> kEdits = {
      Shuffle, ChangeUnit, MakeOlder, AddMembers, Duplicate, RemoveEntry, WriteInLocale};
  const bool numbered = file["benchmarks"][0].contains("repetitions");
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
    if (!warnings.str().empty() || ChangesRepetitions(edits, numbered)) continue;
    ++read;
    // A benchmark may be missing, or be there twice under its name with a number.
    const bool all = std::ranges::count(edits, 5) == 0;
    if (all) {
      ASSERT_GE(found.size(), times.size()) << text;
    }
    for (const auto& [benchmark, seconds] : found) {
      const auto known = times.find(benchmark);
      const bool numbered_name = benchmark.ends_with(')');
      ASSERT_TRUE(known != times.end() || numbered_name) << benchmark << '\n' << text;
      if (known != times.end()) {
        ASSERT_NEAR(seconds / known->second, 1, 1e-9) << benchmark << '\n' << text;
      }
    }
  }
  std::cout << fmt::format("{}: {} of {} variants are read without a warning\n", name, read,
                           variants);
  EXPECT_GT(read, variants / 10);
}

TEST(GoogleBenchmarkVariants, HaveTheSameTimes) {
  Try("google_benchmark_1.7.1.json");
  Try("google_benchmark_1.9.1.json");
  Try("google_benchmark_aggregates_1.9.1.json");
}

}  // namespace
}  // namespace dlroof::record
