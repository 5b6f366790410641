#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "reporters/program/program_report.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof::programs {
namespace {

constexpr double kAlike = 0.05;     // [1] of the time alone: no difference to explain
constexpr double kExplained = 0.9;  // [1] of the difference, from which cold caches explain it
constexpr double kHardly = 0.2;     // [1] of the difference, below which they do not

bool AreAlike(const AloneTime& alone) {
  return alone.ratio >= 1 - kAlike && alone.ratio <= 1 + kAlike;
}

bool IsOpen(const AloneTime& alone) {
  return alone.ratio_ci95 && alone.ratio_ci95->first <= 1 && alone.ratio_ci95->second >= 1;
}

// [1] of the difference between the program and alone; absent: no cold time.
std::optional<double> ShareOfCold(const AloneTime& alone) {
  if (!alone.cold_seconds) return std::nullopt;
  return (*alone.cold_seconds - alone.seconds) / (alone.program_seconds - alone.seconds);
}

std::string RatioWords(const AloneTime& alone) {
  auto text = text::ThreeDigits(alone.ratio) + "x";
  if (alone.ratio_ci95)
    text += fmt::format(" ({} to {})", text::ThreeDigits(alone.ratio_ci95->first),
                        text::ThreeDigits(alone.ratio_ci95->second));
  return text;
}

std::vector<const ProgramPrimitive*> Replayed(const ProgramSummary& summary) {
  std::vector<const ProgramPrimitive*> replayed;
  for (const auto& primitive : summary.primitives)
    if (primitive.alone) replayed.push_back(&primitive);
  std::ranges::stable_sort(replayed, std::ranges::greater{}, [&](const auto* one) {
    return summary.steps.count > 0 ? one->step_seconds : one->seconds;
  });
  return replayed;
}

struct NotReplayed {
  std::string words;
  int distinct = 0;    // [1]
  double seconds = 0;  // [s] of a step, or of the log
};

void WriteNotAlone(const ProgramSummary& summary, std::ostream& out) {
  std::vector<NotReplayed> rows;
  for (const auto& primitive : summary.primitives) {
    if (primitive.not_alone.empty()) continue;
    const auto words = fmt::format("{}: {}", primitive.text.kind, primitive.not_alone);
    auto row = std::ranges::find(rows, words, &NotReplayed::words);
    if (row == rows.end()) row = rows.insert(rows.end(), {words, 0, 0});
    ++row->distinct;
    row->seconds += summary.steps.count > 0 ? primitive.step_seconds : primitive.seconds;
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &NotReplayed::seconds);
  for (const auto& row : rows)
    fmt::print(out, "  not replayed: {} ({}{}) {}\n", row.distinct, text::WithPrefix(row.seconds, "s"),
               summary.steps.count > 0 ? " of a step" : "", text::Printable(row.words));
}

}  // namespace

std::string WhyOf(const ProgramPrimitive& primitive) {
  const auto& alone = *primitive.alone;
  if (AreAlike(alone)) return "as fast as alone";
  if (IsOpen(alone)) return "no difference is proved: the interval of the ratio has 1 in it";
  if (alone.implementation != primitive.text.implementation)
    return fmt::format("another implementation: {} in the program, {} alone",
                       primitive.text.implementation, alone.implementation);
  if (alone.ratio < 1)
    return "faster in the program: its oneDNN is another one, or other programs took more from "
           "the replay";
  const auto share = ShareOfCold(alone);
  if (share && *share >= kExplained)
    return "cold caches may explain it: alone, with its data in no cache, it is as slow";
  if (share && *share >= kHardly)
    return fmt::format(
        "cold caches explain at most {:.0f} % of the difference; other threads or programs on its "
        "CPUs, or a lower clock, the rest",
        100 * *share);
  return fmt::format(
      "{}other threads or programs on its CPUs, a lower clock, or threads that first have to wake",
      share ? "cold caches do not explain it: " : "cold caches, ");
}

void WriteAlone(const ProgramSummary& summary, int width, std::ostream& out) {
  const auto replayed = Replayed(summary);
  const bool left = std::ranges::any_of(summary.primitives,
                                        [](const auto& one) { return !one.not_alone.empty(); });
  if (replayed.empty() && !left) return;
  out << '\n';
  std::vector<std::vector<std::string>> rows = {
      {fmt::format("one call, alone by oneDNN {}", text::Printable(summary.alone_version)),
       "in the program", "alone", "ratio", "alone, cold", "why"}};
  std::vector<std::string> reasons;
  for (const auto* primitive : replayed) {
    const auto& alone = *primitive->alone;
    const auto why = WhyOf(*primitive);
    auto number = std::ranges::find(reasons, why);
    if (number == reasons.end()) number = reasons.insert(reasons.end(), why);
    rows.push_back({text::Printable(primitive->record), text::WithPrefix(alone.program_seconds, "s"),
                    fmt::format("{}{}", alone.disturbed ? "~" : "", text::WithPrefix(alone.seconds, "s")),
                    RatioWords(alone),
                    alone.cold_seconds ? text::WithPrefix(*alone.cold_seconds, "s") : "",
                    std::to_string(number - reasons.begin() + 1)});
  }
  if (!replayed.empty()) text::WriteAligned(rows, width, out);
  for (std::size_t i = 0; i < reasons.size(); ++i)
    fmt::print(out, "  {}: {}\n", i + 1, text::Printable(reasons[i]));
  if (std::ranges::any_of(replayed, [](const auto* one) { return one->alone->disturbed; }))
    out << "  ~ other programs disturbed it: an estimate\n";
  WriteNotAlone(summary, out);
}

}  // namespace dlroof::programs
