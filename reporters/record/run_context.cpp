#include "reporters/record/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"

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
  InterleavedComparison found{at.Text("id"), at.Number("min_effect")};
  if (found.min_effect < 0) at.Refuse("min_effect", "a share of at least 0");
  return found;
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

void CheckConventions(const std::string& base_where, const json& base,
                      const std::string& contender_where, const json& contender, bool of_flops) {
  const auto& conventions = ConventionsOf(base);
  if (!conventions.is_object()) return;
  for (const auto& item : conventions.items())
    if (of_flops || !IsOfFlops(item.key()))
      CheckMember(base_where, contender_where, conventions, ConventionsOf(contender), item.key(),
                  "the convention " + item.key());
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

}  // namespace dlroof::record
