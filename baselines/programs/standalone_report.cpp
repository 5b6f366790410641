#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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
    0.9;                         // [1] share of the difference above which a condition explains it
constexpr double kHardly = 0.2;  // [1] share of the difference below which it does not

struct RenamedImplementation {
  std::string_view name, before;  // in front of the colon and the instruction set
};

// oneDNN's commit 20d93aea88 ("cpu: brgemm: updated names for conv, deconv, matmul primitives",
// March 2024) renamed these. Until then a backward or transposed convolution that runs as a forward
// one was named after both: "brg_fwd:avx2+brgconv:avx2".
constexpr RenamedImplementation kRenamed[] = {{"brg_conv_fwd", "brgconv"},
                                              {"brg_conv_bwd", "brg_fwd"},
                                              {"brg_deconv", "brg_conv"},
                                              {"brg_matmul", "brg"}};
constexpr std::string_view kNamedAfterBoth[] = {"brg_fwd", "brg_conv"};

bool AreAlike(const StandaloneTime& standalone) {
  return standalone.ratio >= 1 - kAlike && standalone.ratio <= 1 + kAlike;
}

bool IncludesOne(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 && ci95->first <= 1 && ci95->second >= 1;
}

// A call cannot be faster with cold caches than with warm ones.
bool ColdIsNoise(const StandaloneTime& standalone) {
  return standalone.cold_seconds && *standalone.cold_seconds < standalone.seconds;
}

// A condition under which the call was measured, and the share [1] of the difference between the
// program's and the standalone time that it explains: (time - warm) / (program - warm).
struct Explanation {
  std::string condition;
  double share = 0;
};

// Returns the measured conditions, the one that explains most first.
std::vector<Explanation> ExplanationsOf(const StandaloneTime& standalone) {
  const auto share = [&](double seconds) {
    return (seconds - standalone.seconds) / (standalone.program_seconds - standalone.seconds);
  };
  std::vector<Explanation> all;
  if (standalone.cold_seconds && !ColdIsNoise(standalone))
    all.push_back({"with cold caches", share(*standalone.cold_seconds)});
  for (const auto& check : standalone.checks)
    all.push_back({check.condition, share(check.seconds)});
  std::ranges::stable_sort(all, std::ranges::greater{}, &Explanation::share);
  return all;
}

bool HasOtherImplementation(const ProgramPrimitive& primitive) {
  return ImplementationFamily(primitive.standalone->implementation) !=
         ImplementationFamily(primitive.text.implementation);
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
  std::ranges::stable_sort(replayed, std::ranges::greater{},
                           [&](const auto* primitive) { return summary.SecondsOf(*primitive); });
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
    row->seconds += summary.SecondsOf(primitive);
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &NotReplayed::seconds);
  for (const auto& row : rows)
    Say(document, "  not replayed: {} ({}{}) {}", row.distinct, Time(row.seconds),
        summary.steps.count > 0 ? " of a step" : "", row.reason);
}

}  // namespace

std::string ImplementationFamily(std::string_view implementation) {
  const auto colon = std::min(implementation.find(':'), implementation.size());
  auto name = implementation.substr(0, colon);
  auto isa = implementation.substr(colon);
  for (const auto& renamed : kRenamed)
    if (name == renamed.name) {
      name = renamed.before;
      break;
    }
  if (std::ranges::find(kNamedAfterBoth, name) != std::end(kNamedAfterBoth))
    isa = isa.substr(0, isa.find('+'));
  return std::string(name) + std::string(isa);
}

std::string StandaloneDiagnosis(const ProgramPrimitive& primitive) {
  const auto& standalone = *primitive.standalone;
  if (AreAlike(standalone)) return "as fast as standalone";
  if (IncludesOne(standalone.ratio_ci95))
    return "no significant difference: the interval of the ratio includes 1";
  if (HasOtherImplementation(primitive))
    return fmt::format("another implementation: {} in the program, {} standalone",
                       primitive.text.implementation, standalone.implementation);
  if (standalone.ratio < 1)
    return standalone.noisy
               ? "faster in the program: other programs slowed down the replay (it was noisy)"
               : "faster in the program: its oneDNN is another one";
  const auto explanations = ExplanationsOf(standalone);
  if (explanations.empty())
    return "not explained: no time under another condition (cold caches) was measured";
  const auto& [condition, share] = explanations.front();
  if (share >= kExplained) return fmt::format("measured {}, it is as slow standalone", condition);
  if (share >= kHardly)
    return fmt::format("measured {}, it has {:.0f} % of the difference; the rest is not explained",
                       condition, 100 * share);
  std::vector<std::string> conditions;
  for (const auto& explanation : explanations) conditions.push_back(explanation.condition);
  return fmt::format("not explained: measured {}, it is not as slow",
                     fmt::join(conditions, ", and "));
}

bool NeedsChecks(const ProgramPrimitive& primitive) {
  if (!primitive.standalone) return false;
  const auto& standalone = *primitive.standalone;
  if (AreAlike(standalone) || IncludesOne(standalone.ratio_ci95) || standalone.ratio < 1 ||
      HasOtherImplementation(primitive))
    return false;
  const auto explanations = ExplanationsOf(standalone);
  return explanations.empty() || explanations.front().share < kExplained;
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
         {Time(standalone.program_seconds)},
         {fmt::format("{}{}", standalone.noisy ? "~" : "", Time(standalone.seconds))},
         {RatioText(standalone)},
         {standalone.cold_seconds ? fmt::format("{}{}", ColdIsNoise(standalone) ? "~" : "",
                                                Time(*standalone.cold_seconds))
                                  : ""},
         {std::to_string(number - diagnoses.begin() + 1)}});
  }
  for (std::size_t i = 0; i < diagnoses.size(); ++i)
    table.notes.push_back(fmt::format("{}: {}", i + 1, diagnoses[i]));
  if (std::ranges::any_of(replayed,
                          [](const auto* primitive) { return primitive->standalone->noisy; }))
    table.notes.emplace_back("~ noisy because of other programs: an estimate");
  if (std::ranges::any_of(
          replayed, [](const auto* primitive) { return ColdIsNoise(*primitive->standalone); }))
    table.notes.emplace_back(
        "~ of a time with cold caches: below that with warm ones, so the two differ by noise only");
  document.Add(std::move(table));
  AddNotReplayed(summary, document);
}

}  // namespace dlroof::programs
