#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "baselines/programs/program_report.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using document::Document;
using document::Table;

constexpr double kAlike = 0.05;  // [1] ratios of times this close to 1 need no explanation
constexpr double kExplained =
    0.9;                         // [1] share of the difference above which cold caches explain it
constexpr double kHardly = 0.2;  // [1] share of the difference below which they do not

bool AreAlike(const StandaloneTime& standalone) {
  return standalone.ratio >= 1 - kAlike && standalone.ratio <= 1 + kAlike;
}

bool IncludesOne(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 && ci95->first <= 1 && ci95->second >= 1;
}

// Returns the share [1] of the difference between the program's and the standalone time that cold
// caches explain: (cold - warm) / (program - warm).
std::optional<double> ShareOfCold(const StandaloneTime& standalone) {
  if (!standalone.cold_seconds) return std::nullopt;
  return (*standalone.cold_seconds - standalone.seconds) /
         (standalone.program_seconds - standalone.seconds);
}

std::string RatioText(const StandaloneTime& standalone) {
  auto text = text::ThreeDigits(standalone.ratio) + "x";
  if (const auto& ci95 = standalone.ratio_ci95)
    text +=
        fmt::format(" ({} to {})", text::ThreeDigits(ci95->first), text::ThreeDigits(ci95->second));
  return text;
}

std::vector<const ProgramPrimitive*> Replayed(const ProgramSummary& summary) {
  std::vector<const ProgramPrimitive*> replayed;
  for (const auto& primitive : summary.primitives)
    if (primitive.standalone) replayed.push_back(&primitive);
  std::ranges::stable_sort(replayed, std::ranges::greater{}, [&](const auto* one) {
    return summary.steps.count > 0 ? one->step_seconds : one->seconds;
  });
  return replayed;
}

struct NotReplayed {
  std::string reason;
  int distinct = 0;    // [1]
  double seconds = 0;  // [s] of a step, or of the log
};

void AddNotReplayed(const ProgramSummary& summary, Document& document) {
  std::vector<NotReplayed> rows;
  for (const auto& primitive : summary.primitives) {
    if (!primitive.not_replayed) continue;
    const auto reason = fmt::format("{}: {}", primitive.text.kind, primitive.not_replayed->text);
    auto row = std::ranges::find(rows, reason, &NotReplayed::reason);
    if (row == rows.end()) row = rows.insert(rows.end(), {reason, 0, 0});
    ++row->distinct;
    row->seconds += summary.steps.count > 0 ? primitive.step_seconds : primitive.seconds;
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &NotReplayed::seconds);
  for (const auto& row : rows)
    document.Say(fmt::format("  not replayed: {} ({}{}) {}", row.distinct,
                             text::WithPrefix(row.seconds, "s"),
                             summary.steps.count > 0 ? " of a step" : "", row.reason));
}

}  // namespace

std::string StandaloneDiagnosis(const ProgramPrimitive& primitive) {
  const auto& standalone = *primitive.standalone;
  if (AreAlike(standalone)) return "as fast as standalone";
  if (IncludesOne(standalone.ratio_ci95))
    return "no significant difference: the interval of the ratio includes 1";
  if (standalone.implementation != primitive.text.implementation)
    return fmt::format("another implementation: {} in the program, {} standalone",
                       primitive.text.implementation, standalone.implementation);
  if (standalone.ratio < 1)
    return "faster in the program: its oneDNN is another one, or other programs slowed down the "
           "replay";
  const auto share = ShareOfCold(standalone);
  if (share && *share >= kExplained)
    return "cold caches may explain it: with cold caches it is as slow standalone";
  if (share && *share >= kHardly)
    return fmt::format(
        "cold caches explain at most {:.0f} % of the difference; other threads or programs on its "
        "CPUs, or a lower clock, the rest",
        100 * *share);
  return fmt::format(
      "{}other threads or programs on its CPUs, a lower clock, or threads that must wake first",
      share ? "cold caches do not explain it: " : "cold caches, ");
}

void AddStandalone(const ProgramSummary& summary, Document& document) {
  Table table{
      .columns = {fmt::format("one call, standalone by oneDNN {}", summary.standalone_version),
                  "in the program", "standalone", "ratio", "standalone, cold", "why"}};
  std::vector<std::string> diagnoses;
  const auto replayed = Replayed(summary);
  for (const auto* primitive : replayed) {
    const auto& standalone = *primitive->standalone;
    const auto diagnosis = StandaloneDiagnosis(*primitive);
    auto number = std::ranges::find(diagnoses, diagnosis);
    if (number == diagnoses.end()) number = diagnoses.insert(diagnoses.end(), diagnosis);
    table.rows.push_back(
        {{primitive->record},
         {text::WithPrefix(standalone.program_seconds, "s")},
         {fmt::format("{}{}", standalone.noisy ? "~" : "",
                      text::WithPrefix(standalone.seconds, "s"))},
         {RatioText(standalone)},
         {standalone.cold_seconds ? text::WithPrefix(*standalone.cold_seconds, "s") : ""},
         {std::to_string(number - diagnoses.begin() + 1)}});
  }
  for (std::size_t i = 0; i < diagnoses.size(); ++i)
    table.notes.push_back(fmt::format("{}: {}", i + 1, diagnoses[i]));
  if (std::ranges::any_of(replayed, [](const auto* one) { return one->standalone->noisy; }))
    table.notes.emplace_back("~ noisy because of other programs: an estimate");
  document.Add(std::move(table));
  AddNotReplayed(summary, document);
}

}  // namespace dlroof::programs
