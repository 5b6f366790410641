#include "reporters/record/run_context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestQuote = 80;  // [byte] longer values are cut in messages

const json& ConventionsOf(const json& context) {
  return Member(Member(context, "dlroof"), "conventions");
}

// Returns whether this is a convention of counting FLOPs: "flops", or e.g. "flops.conv2d".
bool IsOfFlops(const std::string& convention) {
  return convention == "flops" || convention.starts_with("flops.");
}

// Adds "WHAT: VALUE -> VALUE" to `changes` if the member `key` of the two objects differs.
void AddChange(const json& base, const json& contender, const std::string& key,
               const std::string& what, std::vector<std::string>& changes) {
  const auto &a = Member(base, key.c_str()), &b = Member(contender, key.c_str());
  const auto text = [](const json& value) { return value.is_null() ? "none" : Quoted(value); };
  if (a != b) changes.push_back(fmt::format("{}: {} -> {}", what, text(a), text(b)));
}

// Adds differences between the contexts of plain Google Benchmark files, e.g. a debug build.
void AddChangesOfGoogleBenchmark(const json& base, const json& contender,
                                 std::vector<std::string>& changes) {
  // Texts include what the benchmarks' author adds to the context, e.g. a compiler.
  for (const auto& [key, value] : base.items())
    if ((value.is_string() || value.is_boolean()) && contender.contains(key) && key != "date" &&
        key != "executable" && key != "library_version")
      AddChange(base, contender, key, key, changes);
  AddChange(base, contender, "library_version", "library_version", changes);
  constexpr double kSameClock = 0.02;  // [1] allowed difference of the clocks, which are measured
  const auto &a = Member(base, "mhz_per_cpu"), &b = Member(contender, "mhz_per_cpu");
  if (a.is_number() && b.is_number() &&
      std::abs(a.get<double>() - b.get<double>()) > kSameClock * std::abs(a.get<double>()))
    AddChange(base, contender, "mhz_per_cpu", "mhz_per_cpu", changes);
}

std::optional<InterleavedComparison> ReadInterleaved(const RunFile& file) {
  const JsonReader context(file.context, "context");
  if (!context.Has("dlroof")) return std::nullopt;
  const JsonReader own = context.Object("dlroof");
  if (!own.Has("interleaved")) return std::nullopt;
  const JsonReader at = own.Object("interleaved");
  return InterleavedComparison{at.Text("id"), at.Number("min_effect")};
}

// [1] Relative differences that are no change. Modelled counts are exact; counters and simulations
// are reproducible within 5 %.
constexpr double kExactCount = 1e-6, kCounterTolerance = 0.05;
// [1] Increase of the share of noisy repetitions that may explain a slower time.
constexpr double kNoisyShare = 0.3;
// [1] Larger relative differences between the clocks of two runs are reported.
constexpr double kClockChange = 0.02;

// Returns e.g. "grew by 12.0 %, from 1.00 MB to 1.12 MB" or "grew 2.50-fold, from ... to ...".
std::string Moved(double from, double to, std::string_view unit) {
  const double ratio = from > 0 ? to / from : 0;
  const auto shown = [&](double count) {
    return unit.empty() ? fmt::format("{:.6g}", count) : text::WithPrefix(count, unit);
  };
  const auto ends = fmt::format("from {} to {}", shown(from), shown(to));
  if (ratio >= 2) return fmt::format("grew {:.2f}-fold, {}", ratio, ends);
  if (from == 0) return "grew " + ends;
  return fmt::format("{} by {:.1f} %, {}", ratio > 1 ? "grew" : "fell", 100 * std::abs(ratio - 1),
                     ends);
}

using Counts = std::map<std::string, double>;  // by name

constexpr std::string_view kFlops = "flops", kBytes = "bytes", kLaunches = "launches";

Counts CountsOf(std::string_view kind, const Work& work) {
  Counts counts;
  if (kind == kFlops)
    for (const auto& [pipe, flops] : work.flops) counts[pipe + " FLOPs"] = flops;
  else if (kind == kBytes)
    for (const auto& [level, bytes] : work.bytes)
      counts[std::string(Key(level)) + " bytes"] = bytes;
  else if (work.launches)
    counts["launches"] = *work.launches;
  return counts;
}

void AddCounts(std::string_view kind, std::string_view unit, const Record& base,
               const Record& contender, bool flops_alike, std::vector<Change>& changes) {
  for (const Provenance from : AllProvenances()) {
    const auto a = base.work.find(from), b = contender.work.find(from);
    if (a == base.work.end() || b == contender.work.end()) continue;
    auto before = CountsOf(kind, a->second), after = CountsOf(kind, b->second);
    if (before.empty() || after.empty()) continue;
    if (kind == kFlops) {
      if (from == Provenance::kModelled && !flops_alike) return;
      // A pipe that is missing executed 0 FLOPs. (Missing bytes or launches are unknown.)
      for (const auto& [name, count] : before) after.try_emplace(name, 0);
      for (const auto& [name, count] : after) before.try_emplace(name, 0);
    }
    const double tolerance = from == Provenance::kModelled ? kExactCount : kCounterTolerance;
    for (const auto& [name, count] : before) {
      const auto now = after.find(name);
      if (now == after.end() || std::abs(now->second - count) <= tolerance * count) continue;
      changes.push_back(
          {kind, fmt::format("{} ({}) {}", name, Key(from), Moved(count, now->second, unit)),
           now->second > count ? 1 : -1});
    }
    return;
  }
}

struct Clock {
  std::string of;
  double hz = 0;  // [1/s]
};

std::optional<Clock> ClockOfSms(const Record& record) {
  const auto clock = SampleMedian(record, &GpuSample::clock_hz);
  return clock ? std::optional(Clock{"the clock of the SMs while it ran", *clock}) : std::nullopt;
}

// Returns the clock at which the ceiling of the record's first pipe was measured, or nullopt.
std::optional<Clock> ClockOfCeiling(const Record& record, const machine::Machine* machine) {
  const auto* set = machine == nullptr ? nullptr : machine::ForThreads(*machine, record.threads);
  if (set == nullptr) return std::nullopt;
  for (const auto& [from, work] : record.work)
    for (const auto& [pipe, flops] : work.flops)
      if (const auto found = set->flops.find(pipe);
          found != set->flops.end() && found->second.clock_hz)
        return Clock{fmt::format("the clock at the {} ceiling", pipe), *found->second.clock_hz};
  return std::nullopt;
}

double NoisyShare(const Record& record) {
  if (record.repetitions.empty()) return 0;
  const auto noisy = std::ranges::count(record.repetitions, true, &Repetition::noisy);
  return static_cast<double>(noisy) / static_cast<double>(record.repetitions.size());
}

}  // namespace

std::string Quoted(const json& value) {
  auto text = value.is_string() ? value.get<std::string>()
                                : value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote - 3) + "...";
  return text;
}

void RefuseDifference(const std::string& base, const std::string& contender,
                      const std::string& what, const std::string& in_base,
                      const std::string& in_contender) {
  throw BadInput("{} and {} cannot be compared: {} differs: '{}' and '{}'", base, contender, what,
                 in_base, in_contender);
}

void CheckMember(const std::string& base, const std::string& contender, const json& in_base,
                 const json& in_contender, const std::string& key, const std::string& what) {
  const auto &a = Member(in_base, key.c_str()), &b = Member(in_contender, key.c_str());
  if (!a.is_null() && !b.is_null() && a != b)
    RefuseDifference(base, contender, what, Quoted(a), Quoted(b));
}

void CheckConventions(const std::string& base_where, const RunFile& base,
                      const std::string& contender_where, const RunFile& contender, bool of_flops) {
  const auto& conventions = ConventionsOf(base.context);
  if (!conventions.is_object()) return;
  const auto has_gpu = [](const RunFile& run) {
    return std::ranges::find(run.records, "gpu", &Record::device) != run.records.end();
  };
  const bool of_gpu = has_gpu(base) && has_gpu(contender);
  for (const auto& item : conventions.items())
    if ((of_flops || !IsOfFlops(item.key())) && (of_gpu || !item.key().starts_with("gpu.")))
      CheckMember(base_where, contender_where, conventions, ConventionsOf(contender.context),
                  item.key(), "the convention " + item.key());
}

std::vector<std::string> OtherFlopConventions(const json& base, const json& contender) {
  std::vector<std::string> others;
  const auto& conventions = ConventionsOf(base);
  if (!conventions.is_object()) return others;
  for (const auto& item : conventions.items()) {
    const auto& other = Member(ConventionsOf(contender), item.key().c_str());
    if (IsOfFlops(item.key()) && !other.is_null() && other != item.value())
      others.push_back(item.key());
  }
  return others;
}

bool CountFlopsAlike(const json& base, const json& contender, const std::string& op) {
  std::string of_op = "flops.";
  for (const char c : op) of_op += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::none_of(OtherFlopConventions(base, contender), [&](const std::string& key) {
    return key == "flops" || key == "flops.fma" || key == of_op;
  });
}

std::vector<std::string> ContextChanges(const RunFile& base, const RunFile& contender) {
  std::vector<std::string> changes;
  const auto& a = Member(base.context, "dlroof");
  const auto& b = Member(contender.context, "dlroof");
  for (const auto& convention : OtherFlopConventions(base.context, contender.context))
    changes.push_back(fmt::format(
        "the convention {} (FLOPs and percentages of roofs are not compared)", convention));
  if (a.is_null() && b.is_null())
    AddChangesOfGoogleBenchmark(base.context, contender.context, changes);
  AddChange(a, b, "commit", "commit", changes);
  AddChange(a, b, "compiler", "compiler", changes);
  AddChange(a, b, "build_type", "build type", changes);
  for (const char* group : {"libraries", "environment"}) {
    const auto &before = Member(a, group), &after = Member(b, group);
    std::set<std::string> keys;
    for (const auto* side : {&before, &after})
      if (side->is_object())
        for (const auto& item : side->items()) keys.insert(item.key());
    for (const auto& key : keys)
      AddChange(before, after, key, fmt::format("{} {}", group, key), changes);
  }
  return changes;
}

nlohmann::json ToJson(const InterleavedComparison& comparison) {
  return {{"id", comparison.id}, {"min_effect", comparison.min_effect}};
}

std::optional<InterleavedComparison> InterleavedComparisonOf(const RunFile& base,
                                                             const RunFile& contender) {
  const auto base_entry = ReadInterleaved(base);
  auto contender_entry = ReadInterleaved(contender);
  if (!base_entry || !contender_entry || base_entry->id != contender_entry->id) return std::nullopt;
  return contender_entry;
}

std::vector<Change> FindChanges(const Record& base, const machine::Machine* base_machine,
                                const Record& contender, const machine::Machine* contender_machine,
                                bool flops_alike) {
  std::vector<Change> changes;
  const bool chosen = !base.algorithm.empty() && !contender.algorithm.empty();
  if (chosen && (base.algorithm != contender.algorithm || base.isa != contender.isa))
    changes.push_back({"algorithm", fmt::format("algorithm changed from '{}' to '{}'",
                                                AlgorithmText(base), AlgorithmText(contender))});
  AddCounts(kFlops, "FLOP", base, contender, flops_alike, changes);
  AddCounts(kBytes, "B", base, contender, flops_alike, changes);
  AddCounts(kLaunches, "", base, contender, flops_alike, changes);
  auto before = ClockOfSms(base), after = ClockOfSms(contender);
  if (!before || !after) {
    before = ClockOfCeiling(base, base_machine);
    after = ClockOfCeiling(contender, contender_machine);
  }
  if (before && after && before->of == after->of && before->hz > 0 &&
      std::abs(after->hz / before->hz - 1) > kClockChange)
    changes.push_back({"clock",
                       fmt::format("{} {}", before->of, Moved(before->hz, after->hz, "Hz")),
                       after->hz < before->hz ? 1 : -1});
  if (NoisyShare(contender) >= NoisyShare(base) + kNoisyShare)
    changes.push_back({"disturbed",
                       fmt::format("{:.0f} % of the repetitions are noisy, before {:.0f} %",
                                   100 * NoisyShare(contender), 100 * NoisyShare(base)),
                       1});
  return changes;
}

std::string CausesText(const std::vector<Change>& changes, int slower) {
  std::vector<std::string> causes, opposite;
  for (const auto& change : changes)
    (change.slows * slower < 0 ? opposite : causes).push_back(change.text);
  if (changes.empty())
    return "unexplained: same algorithm, FLOPs, bytes and launches, as far as known";
  if (causes.empty()) causes.push_back("unexplained");
  if (!opposite.empty()) causes.push_back(fmt::format("against it: {}", fmt::join(opposite, "; ")));
  return fmt::format("{}", fmt::join(causes, "; "));
}

}  // namespace dlroof::record
