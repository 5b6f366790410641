#include "reporters/program/program_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "reporters/ledger/waterfall.h"
#include "reporters/program/program_ledger.h"
#include "reporters/program/program_summary.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof::programs {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kShown = 8;  // primitives that would give most
constexpr double kAbove = 1.05;    // [1] of a roof's time over the measured one: beyond noise
constexpr double kMuch = 0.05;     // [1] of the time, from which reorders get advice

std::string Percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

// "12171" or "3.5": threads may exchange calls between steps.
std::string Times(double calls) {
  return calls == std::floor(calls) || calls >= 100 ? fmt::format("{:.0f}", calls)
                                                    : fmt::format("{:.3g}", calls);
}

std::string Counted(double count, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : "s");
}

void WriteHead(const ProgramSummary& summary, std::ostream& out) {
  if (!summary.command.empty()) out << text::Printable(summary.command) << '\n';
  std::string library = "oneDNN";
  if (!summary.version.empty()) library += " " + summary.version;
  if (!summary.runtime.empty()) library += ", " + summary.runtime;
  if (summary.threads) library += fmt::format(", {}", Counted(*summary.threads, "thread"));
  if (!summary.isa_words.empty()) library += ", " + summary.isa_words;
  fmt::print(out, "{}: {} of {}, {} in all\n", text::Printable(library),
             Counted(static_cast<double>(summary.lines.used), "call"),
             Counted(static_cast<double>(summary.primitives.size()), "distinct primitive"),
             text::WithPrefix(summary.seconds, "s"));
}

std::string NameOf(const ProgramPrimitive& primitive) { return text::Printable(primitive.record); }

std::string BoundOf(const PrimitiveUse& use) {
  if (use.primitive->moves) return "moves data";
  if (use.placed == nullptr || !use.placed->placement.time) return "";
  return roofline::BoundText(*use.placed->placement.time);
}

// The advice is about the median of all calls, the table about those of the steps: says the former
// where it differs by more than noise.
std::string MedianCall(const PrimitiveUse& use) {
  const auto& timing = use.placed->timing;
  if (!timing || std::abs(std::log(timing->median * use.calls / use.seconds)) < std::log(kAbove))
    return "";
  return fmt::format(", by its median call of {}", text::WithPrefix(timing->median, "s"));
}

void WriteWinners(const std::vector<PrimitiveUse>& uses, const ProgramLedger& ledger, bool machine,
                  int width, std::ostream& out) {
  const bool roofs = std::ranges::any_of(
      uses, [](const PrimitiveUse& use) { return use.roof_seconds.has_value(); });
  std::vector<Row> rows = {
      {fmt::format("primitives that {}{}", roofs ? "would give most" : "take most",
                   ledger.of_step ? ", per step" : ""),
       "calls", "time", "share", "to win", "bound", "gap", "library's choice"}};
  for (std::size_t i = 0; i < std::min(uses.size(), kShown); ++i) {
    const auto& use = uses[i];
    const bool gap = use.roof_seconds && *use.roof_seconds > 0 && !use.primitive->moves;
    rows.push_back({NameOf(*use.primitive), Times(use.calls), text::WithPrefix(use.seconds, "s"),
                    Percent(use.seconds, ledger.seconds),
                    use.to_win ? text::WithPrefix(*use.to_win, "s") : "", BoundOf(use),
                    gap ? text::ThreeDigits(use.seconds / *use.roof_seconds) + "x" : "",
                    text::Printable(use.primitive->text.implementation)});
  }
  text::WriteAligned(rows, width, out);
  if (!roofs && !machine) out << "  no roofs, so no gaps: --machine names whose they are\n";
  for (std::size_t i = 0; i < std::min(uses.size(), kShown); ++i)
    if (uses[i].placed != nullptr && !uses[i].placed->placement.advice.empty()) {
      fmt::print(out, "  {}{}: {}\n", NameOf(*uses[i].primitive), MedianCall(uses[i]),
                 text::Printable(uses[i].placed->placement.advice));
      break;
    }
}

// A primitive may be faster than its roofs: memory did not have to serve what a cache still had of
// the primitive before.
void WriteAboveRoof(const std::vector<PrimitiveUse>& uses, const ProgramLedger& ledger,
                    std::ostream& out) {
  std::size_t count = 0;
  double seconds = 0;
  const PrimitiveUse* longest = nullptr;
  for (const auto& use : uses) {
    if (use.primitive->moves || !use.roof_seconds || *use.roof_seconds <= kAbove * use.seconds)
      continue;
    ++count;
    seconds += use.seconds;
    if (longest == nullptr || use.seconds > longest->seconds) longest = &use;
  }
  if (longest == nullptr) return;
  fmt::print(out,
             "  {} ({} of it) take less than their roofs ask for: caches had their data, or a roof "
             "or a count is wrong (report --verbose). The longest: {}, {}x\n",
             Counted(static_cast<double>(count), "primitive"), Percent(seconds, ledger.seconds),
             NameOf(*longest->primitive), text::ThreeDigits(longest->seconds / *longest->roof_seconds));
}

// Reorders come from layouts that neighbours do not share.
void WriteReorderAdvice(const std::vector<KindUse>& kinds, const ProgramLedger& ledger,
                        std::ostream& out) {
  double seconds = 0;
  for (const auto& kind : kinds)
    if (kind.moves && kind.kind == "reorder") seconds += kind.seconds;
  if (seconds < kMuch * ledger.seconds) return;
  fmt::print(
      out,
      "  reorders take {} of it: keep one layout between primitives, and weights packed once "
      "(PyTorch: channels_last, a frozen model; TensorFlow: a frozen graph)\n",
      Percent(seconds, ledger.seconds));
}

void WriteKinds(const std::vector<KindUse>& kinds, const ProgramLedger& ledger, int width,
                std::ostream& out) {
  std::vector<Row> rows = {
      {"kinds", "direction", "distinct", "calls", "time", "share", "FLOP", "FLOP/s"}};
  double calls = 0, seconds = 0, moving_calls = 0, moving_seconds = 0;
  for (const auto& kind : kinds) {
    calls += kind.calls;
    seconds += kind.seconds;
    if (kind.moves) {
      moving_calls += kind.calls;
      moving_seconds += kind.seconds;
    }
    const bool flops = kind.flops && kind.seconds > 0;
    rows.push_back({text::Printable(kind.kind), text::Printable(kind.prop), std::to_string(kind.distinct),
                    Times(kind.calls), text::WithPrefix(kind.seconds, "s"),
                    Percent(kind.seconds, ledger.seconds),
                    kind.moves ? "none"
                    : flops    ? text::WithPrefix(*kind.flops, "FLOP")
                               : "",
                    flops && !kind.moves ? text::WithPrefix(*kind.flops / kind.seconds, "FLOP/s") : ""});
  }
  out << '\n';
  text::WriteAligned(rows, width, out);
  fmt::print(out, "  without FLOPs: {} of {} calls ({}), {} of {} of oneDNN's time ({})\n",
             Times(moving_calls), Times(calls), Percent(moving_calls, calls),
             text::WithPrefix(moving_seconds, "s"), text::WithPrefix(seconds, "s"),
             Percent(moving_seconds, seconds));
  WriteReorderAdvice(kinds, ledger, out);
}

std::string StepsText(const ProgramSteps& steps) {
  if (steps.count == 0) return steps.reason;
  constexpr const char* kHow[] = {"", "found as the period of the primitives", "as many as given",
                                  "marked by the program"};
  std::string text =
      fmt::format("{}, {}; {} each", Counted(steps.count, "step"),
                  kHow[static_cast<std::size_t>(steps.from)], Counted(steps.primitives, "call"));
  if (steps.irregular > 0) text += fmt::format("; {} between them differ", steps.irregular);
  if (steps.warm_up_calls > 0)
    text += fmt::format("; before them {} in {} of oneDNN", Counted(steps.warm_up_calls, "call"),
                        text::WithPrefix(steps.warm_up_seconds, "s"));
  return text;
}

void WritePhases(const ProgramSteps& steps, std::ostream& out) {
  for (const auto& phase : steps.phases) {
    if (phase.calls == 0) continue;
    fmt::print(out, "  {}: {}{}, {} in oneDNN\n", text::Printable(phase.name),
               phase.wall_seconds ? text::WithPrefix(*phase.wall_seconds, "s") + ", " : "",
               Counted(phase.calls, "call"), text::WithPrefix(phase.seconds, "s"));
  }
}

void WriteLedger(const ProgramSummary& summary, const ProgramLedger& ledger, std::ostream& out) {
  const auto& steps = summary.steps;
  out << '\n' << text::Printable(StepsText(steps)) << '\n';
  if (ledger.of_step) {
    fmt::print(out, "a step: {} ", text::WithPrefix(ledger.seconds, "s"));
    if (!steps.wall_seconds)
      out << "in oneDNN; the log does not tell its wall time";
    else if (steps.timed > 1)
      fmt::print(out, "(mean of {}: {} to {})", steps.timed,
                 text::WithPrefix(steps.least_wall_seconds.value_or(0), "s"),
                 text::WithPrefix(steps.most_wall_seconds.value_or(0), "s"));
    out << '\n';
  } else {
    fmt::print(out, "{}: {}\n", summary.wall_seconds ? "the program" : "all calls",
               text::WithPrefix(ledger.seconds, "s"));
  }
  double sum = 0;
  for (const auto& part : ledger.parts) {
    fmt::print(out, "  |{}| {:>9} {:>7}  {}\n",
               breakdown::WaterfallBar(sum / ledger.seconds, (sum + part.seconds) / ledger.seconds),
               text::WithPrefix(part.seconds, "s"), Percent(part.seconds, ledger.seconds),
               text::Printable(part.words));
    sum += part.seconds;
  }
  WritePhases(steps, out);
}

// Wall time of the whole program, and what the log explains of it.
void WriteProgramTime(const ProgramSummary& summary, std::ostream& out) {
  if (summary.creation_hits + summary.creation_misses > 0)
    fmt::print(out, "creation of primitives: {} made, {} found in the cache, {} together\n",
               Times(summary.creation_misses), Times(summary.creation_hits),
               text::WithPrefix(summary.creation_seconds, "s"));
  if (!summary.wall_seconds || summary.steps.count == 0) return;
  const double inside = summary.covered_seconds.value_or(summary.seconds);
  fmt::print(out, "the program: {} = {} in oneDNN's primitives + {} outside\n",
             text::WithPrefix(*summary.wall_seconds, "s"), text::WithPrefix(inside, "s"),
             text::WithPrefix(std::max(*summary.wall_seconds - inside, 0.0), "s"));
}

void WriteUnknownWork(const ProgramSummary& summary, std::ostream& out) {
  std::vector<std::pair<std::string, double>> reasons;
  for (const auto& primitive : summary.primitives) {
    if (primitive.no_work.empty()) continue;
    const auto text = fmt::format("{}: {}", primitive.text.kind, primitive.no_work);
    const auto found = std::ranges::find(reasons, text, &std::pair<std::string, double>::first);
    if (found != reasons.end())
      found->second += primitive.calls;
    else
      reasons.emplace_back(text, primitive.calls);
  }
  for (const auto& [text, calls] : reasons)
    fmt::print(out, "  {} without FLOPs or bytes: {}\n", Counted(calls, "call"), text::Printable(text));
}

void WriteLines(const ProgramSummary& summary, std::ostream& out) {
  const auto& lines = summary.lines;
  fmt::print(out,
             "\n{} of {} lines of executed primitives were read; {} of {} lines are oneDNN's\n",
             lines.used, lines.executed, lines.verbose, lines.all);
  for (const auto& refused : lines.refused)
    fmt::print(out, "  {} not read, line {} first: {}\n",
               Counted(static_cast<double>(refused.count), "line"), refused.first_line,
               text::Printable(refused.reason));
  if (lines.graph > 0)
    fmt::print(out, "  {} of oneDNN Graph: their primitives have lines of their own\n",
               Counted(static_cast<double>(lines.graph), "partition"));
  WriteUnknownWork(summary, out);
}

}  // namespace

bool IsProgram(const record::RunFile& file) { return ProgramOf(file.context).has_value(); }

void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out) {
  const auto summary = ProgramOf(run.file.context);
  if (!summary) return;
  const auto uses = UsesOf(run, *summary);
  const auto ledger = LedgerOf(uses, *summary);
  WriteHead(*summary, out);
  out << '\n';
  WriteWinners(uses, ledger, !run.file.machines.empty(), width, out);
  WriteAboveRoof(uses, ledger, out);
  WriteKinds(KindsOf(uses, run), ledger, width, out);
  WriteLedger(*summary, ledger, out);
  WriteProgramTime(*summary, out);
  WriteAlone(*summary, width, out);
  WriteLines(*summary, out);
  terminal::WriteDoubts(run, out);
}

}  // namespace dlroof::programs
