#include "baselines/programs/program_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/document/document.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

bool HasSteps(const ProgramSummary& summary) { return summary.steps.count > 0; }

void AddComponent(ProgramComponentKind kind, std::string label, double seconds,
                  ProgramBreakdown& breakdown) {
  if (!(seconds > 0)) return;
  auto& components = breakdown.components;
  const auto found = std::ranges::find(components, label, &ProgramComponent::label);
  if (found != components.end())
    found->seconds += seconds;
  else
    components.push_back({kind, std::move(label), seconds});
  breakdown.seconds += seconds;
}

// Adds a time component for each kind of primitive, the longest first.
void AddByKind(ProgramComponentKind component, std::string_view prefix,
               const std::map<std::string, double>& by_kind, ProgramBreakdown& breakdown) {
  std::vector<std::pair<std::string, double>> rows(by_kind.begin(), by_kind.end());
  std::ranges::stable_sort(rows, std::ranges::greater{}, &std::pair<std::string, double>::second);
  for (const auto& [kind, seconds] : rows)
    AddComponent(component, fmt::format("{}{}", prefix, kind), seconds, breakdown);
}

std::unordered_map<std::string_view, std::size_t> IndexByName(const roofline::PlacedRun& run) {
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < run.file.records.size() && i < run.places.size(); ++i)
    index.try_emplace(run.file.records[i].name, i);
  return index;
}

using document::Document;
using document::PartKind;
using document::Table;

constexpr std::size_t kShown = 10;  // primitives that the first table shows at once
constexpr double kAbove = 1.05;     // [1] roof time / measured time: beyond noise
constexpr double kMuch = 0.05;      // [1] share of the time above which reorders get advice

std::string Percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

// Returns a number of calls, "12171" or "3.5"; a mean over steps may be fractional.
std::string Times(double calls) {
  return calls == std::floor(calls) || calls >= 100 ? fmt::format("{:.0f}", calls)
                                                    : fmt::format("{:.3g}", calls);
}

std::string Counted(double count, std::string_view noun, std::string_view plural = "s") {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : plural);
}

void AddHead(const ProgramSummary& summary, Document& document) {
  if (!summary.command.empty()) document.Say(summary.command);
  std::string library = "oneDNN";
  if (!summary.version.empty()) library += " " + summary.version;
  if (!summary.runtime.empty()) library += ", " + summary.runtime;
  if (summary.threads) library += fmt::format(", {}", Counted(*summary.threads, "thread"));
  if (!summary.isa_words.empty()) library += ", " + summary.isa_words;
  document.Say(fmt::format(
      "{}: {} of {}, {} in all", library, Counted(static_cast<double>(summary.lines.used), "call"),
      Counted(static_cast<double>(summary.primitives.size()), "distinct primitive"),
      text::WithPrefix(summary.seconds, "s")));
}

std::string BoundOf(const PrimitiveUse& use) {
  if (use.primitive->moves_data) return "moves data";
  if (use.placed == nullptr || !use.placed->placement.time) return "";
  return roofline::BoundText(*use.placed->placement.time);
}

// Returns a remark if the median time of all calls, which the advice is about, differs beyond noise
// from the mean in the steps, which the table shows.
std::string MedianCall(const PrimitiveUse& use) {
  const auto& timing = use.placed->timing;
  if (!timing || std::abs(std::log(timing->median * use.calls / use.seconds)) < std::log(kAbove))
    return "";
  return fmt::format(", by its median call of {}", text::WithPrefix(timing->median, "s"));
}

// Adds the advice of the primitive whose time could be shortened most.
void AddPrimitiveAdvice(const std::vector<PrimitiveUse>& uses, Document& document) {
  for (const auto& use : uses)
    if (use.placed != nullptr && !use.placed->placement.advice.empty())
      return document.Advise(fmt::format("{}{}: {}", use.primitive->record, MedianCall(use),
                                         use.placed->placement.advice));
}

// Returns the share of the calls' time that their roofs allow, "37.6 %", "<= 37.6 %" of a roof that
// is not validated.
std::string OfRoof(const PrimitiveUse& use) {
  if (!use.roof_seconds || !(*use.roof_seconds > 0) || use.primitive->moves_data) return "";
  return (use.roof_at_most ? "<= " : "") + text::PercentText(*use.roof_seconds / use.seconds);
}

Table::Row RowOf(const PrimitiveUse& use, const std::optional<double>& flops,
                 const std::string& share) {
  const auto limit = use.primitive->moves_data ? "" : roofline::AtLeastMark(use.roof_at_most);
  const auto potential =
      use.potential_seconds
          ? fmt::format("{}{}", limit, text::WithPrefix(*use.potential_seconds, "s"))
          : "";
  const auto rate = flops && *flops > 0 && use.seconds > 0
                        ? text::WithPrefix(use.calls * *flops / use.seconds, "FLOP/s")
                        : "";
  return {{use.primitive->record},
          {Times(use.calls)},
          {text::WithPrefix(use.seconds, "s")},
          {share},
          {rate},
          {OfRoof(use)},
          {BoundOf(use)},
          {potential},
          {use.primitive->text.implementation}};
}

Table::Row SumRow(std::string name, double calls, double seconds, int tenths) {
  Table::Row row(9);
  row[0].text = std::move(name);
  if (calls > 0) row[1].text = Times(calls);
  row[2].text = text::WithPrefix(seconds, "s");
  row[3].text = document::TenthsText(tenths);
  return row;
}

// Adds a row per primitive, the longest first, then the time outside of the primitives: each call
// is in one row, and the shares add up to 100.0 %.
void AddPrimitives(const std::vector<PrimitiveUse>& by_potential, const roofline::PlacedRun& run,
                   const ProgramBreakdown& breakdown, Document& document) {
  auto uses = by_potential;
  std::ranges::stable_sort(uses, std::ranges::greater{}, &PrimitiveUse::seconds);
  std::vector<double> seconds;
  for (const auto& use : uses) seconds.push_back(use.seconds);
  std::vector<const ProgramComponent*> others;
  for (const auto& component : breakdown.components)
    if (component.kind == ProgramComponentKind::kCreation ||
        component.kind == ProgramComponentKind::kOutside) {
      others.push_back(&component);
      seconds.push_back(component.seconds);
    }
  const auto tenths = document::Tenths(seconds);
  const auto index = IndexByName(run);
  Table table{
      .columns = {fmt::format("primitives{}", breakdown.of_step ? " of a step" : ""), "calls",
                  "time", "share", "FLOP/s", "% roof", "bound", "potential", "implementation"},
      .first = kShown};
  double rest_calls = 0, rest_seconds = 0;
  int rest_tenths = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto found = index.find(uses[i].primitive->record);
    const auto flops = found == index.end()
                           ? std::nullopt
                           : roofline::BestKnownFlops(run.file.records[found->second]);
    table.rows.push_back(RowOf(uses[i], flops, document::TenthsText(tenths[i])));
    if (i < kShown) continue;
    rest_calls += uses[i].calls;
    rest_seconds += uses[i].seconds;
    rest_tenths += tenths[i];
  }
  if (uses.size() > kShown)
    table.rest = SumRow(Counted(static_cast<double>(uses.size() - kShown), "other primitive"),
                        rest_calls, rest_seconds, rest_tenths);
  for (std::size_t i = 0; i < others.size(); ++i)
    table.last.push_back(SumRow(others[i]->label, 0, others[i]->seconds, tenths[uses.size() + i]));
  if (run.file.machines.empty())
    table.notes.emplace_back("no roofs, so no slowdowns: --machine FILE has the roofs");
  document.Add(std::move(table));
}

// Says which primitives are faster than their roofs: a cache may still contain data of the previous
// primitive, so that less is read from memory.
void AddAboveRoof(const std::vector<PrimitiveUse>& uses, const ProgramBreakdown& breakdown,
                  Document& document) {
  std::size_t count = 0;
  double seconds = 0;
  const PrimitiveUse* longest = nullptr;
  for (const auto& use : uses) {
    if (use.primitive->moves_data || !use.roof_seconds || *use.roof_seconds <= kAbove * use.seconds)
      continue;
    ++count;
    seconds += use.seconds;
    if (longest == nullptr || use.seconds > longest->seconds) longest = &use;
  }
  if (longest == nullptr) return;
  document.Say(fmt::format(
      "{} ({} of the time) are faster than their roofs: caches had their data, or a roof or a "
      "count "
      "is wrong (report --verbose). The longest: {}, {}x",
      Counted(static_cast<double>(count), "primitive"), Percent(seconds, breakdown.seconds),
      longest->primitive->record, text::ThreeDigits(longest->seconds / *longest->roof_seconds)));
}

// Says how to avoid reorders (neighbours with different layouts cause them) if they take > kMuch.
void AddReorderAdvice(const std::vector<KindUse>& kinds, const ProgramBreakdown& breakdown,
                      Document& document) {
  double seconds = 0;
  for (const auto& kind : kinds)
    if (kind.moves_data && kind.kind == "reorder") seconds += kind.seconds;
  if (seconds < kMuch * breakdown.seconds) return;
  document.Advise(fmt::format(
      "reorders take {} of the time: keep one layout between primitives, and pack weights once "
      "(PyTorch: channels_last, a frozen model; TensorFlow: a frozen graph)",
      Percent(seconds, breakdown.seconds)));
}

void AddKinds(const std::vector<KindUse>& kinds, const ProgramBreakdown& breakdown,
              Document& document) {
  Table table{
      .columns = {"kinds", "direction", "distinct", "calls", "time", "share", "FLOP", "FLOP/s"}};
  double calls = 0, seconds = 0, moving_calls = 0, moving_seconds = 0;
  for (const auto& kind : kinds) {
    calls += kind.calls;
    seconds += kind.seconds;
    if (kind.moves_data) {
      moving_calls += kind.calls;
      moving_seconds += kind.seconds;
    }
    const bool flops = kind.flops && kind.seconds > 0;
    table.rows.push_back(
        {{kind.kind},
         {kind.prop},
         {std::to_string(kind.distinct)},
         {Times(kind.calls)},
         {text::WithPrefix(kind.seconds, "s")},
         {Percent(kind.seconds, breakdown.seconds)},
         {kind.moves_data ? "none"
          : flops         ? text::WithPrefix(*kind.flops, "FLOP")
                          : ""},
         {flops && !kind.moves_data ? text::WithPrefix(*kind.flops / kind.seconds, "FLOP/s")
                                    : ""}});
  }
  table.notes.push_back(fmt::format(
      "zero-FLOP: {} of {} calls ({}), {} of {} of oneDNN's time ({})", Times(moving_calls),
      Times(calls), Percent(moving_calls, calls), text::WithPrefix(moving_seconds, "s"),
      text::WithPrefix(seconds, "s"), Percent(moving_seconds, seconds)));
  document.Add(std::move(table));
}

int AllSteps(const ProgramSteps& steps) {
  return std::max(steps.total, steps.count + steps.warm_up_steps);
}

std::string StepsText(const ProgramSteps& steps) {
  if (steps.count == 0) return steps.reason.value_or(Reason{}).text;
  constexpr const char* kHow[] = {"", "found as the period of the primitives",
                                  "as many as specified", "marked by the program"};
  std::string text = fmt::format("{}, {}{}; {} each", Counted(AllSteps(steps), "step"),
                                 kHow[static_cast<std::size_t>(steps.from)],
                                 steps.confirmed ? " and counted by its output" : "",
                                 Counted(steps.primitives, "call"));
  if (steps.warm_up_steps > 0) text += fmt::format("; {} of warm-up", steps.warm_up_steps);
  if (steps.irregular > 0) text += fmt::format("; {} between them differ", steps.irregular);
  if (steps.warm_up_calls > 0)
    text += fmt::format("; before them {} in {} of oneDNN", Counted(steps.warm_up_calls, "call"),
                        text::WithPrefix(steps.warm_up_seconds, "s"));
  return text;
}

// Says why the number of steps is doubtful.
void AddDoubt(const ProgramSteps& steps, Document& document) {
  if (!steps.doubt) return;
  document.Say(
      fmt::format("doubtful: {}{}. Say --steps N",
                  steps.other ? fmt::format("{} or {} steps: ", AllSteps(steps), *steps.other) : "",
                  steps.doubt->text));
}

// Returns what is known of the steps' wall time: "median of 11, 95 %: 510 ms to 545 ms".
std::string WallText(const ProgramSteps& steps) {
  const auto seconds = [](const std::optional<double>& one) {
    return text::WithPrefix(one.value_or(0), "s");
  };
  auto text = fmt::format("median of {}", steps.timed);
  text += steps.median_low_seconds
              ? fmt::format(", 95 %: {} to {}", seconds(steps.median_low_seconds),
                            seconds(steps.median_high_seconds))
              : fmt::format(": {} to {}", seconds(steps.least_wall_seconds),
                            seconds(steps.most_wall_seconds));
  if (steps.outliers > 0) text += fmt::format("; without {}", Counted(steps.outliers, "outlier"));
  return text;
}

std::vector<std::string> PhaseTexts(const ProgramSteps& steps) {
  std::vector<std::string> texts;
  for (const auto& phase : steps.phases)
    if (phase.calls > 0)
      texts.push_back(
          fmt::format("{}: {}{}, {} in oneDNN", phase.name,
                      phase.wall_seconds ? text::WithPrefix(*phase.wall_seconds, "s") + ", " : "",
                      Counted(phase.calls, "call"), text::WithPrefix(phase.seconds, "s")));
  return texts;
}

std::string BarTitle(const ProgramSummary& summary, const ProgramBreakdown& breakdown) {
  const auto seconds = text::WithPrefix(breakdown.seconds, "s");
  if (!breakdown.of_step)
    return fmt::format("{}: {}", summary.wall_seconds ? "the program" : "all calls", seconds);
  const auto& steps = summary.steps;
  if (!steps.wall_seconds)
    return fmt::format("a step: {} in oneDNN; the log does not have its wall time", seconds);
  if (steps.timed < 2 || !steps.median_wall_seconds) return fmt::format("a step: {}", seconds);
  return fmt::format("a step: {} ({}); the parts are means of these steps: {}",
                     text::WithPrefix(*steps.median_wall_seconds, "s"), WallText(steps), seconds);
}

PartKind PartKindOf(ProgramComponentKind kind) {
  switch (kind) {
    case ProgramComponentKind::kRoof:
      return PartKind::kRoof;
    case ProgramComponentKind::kSlowdown:
      return PartKind::kAboveRoof;
    case ProgramComponentKind::kMoves:
      return PartKind::kZeroFlop;
    case ProgramComponentKind::kOutside:
      return PartKind::kIdle;
    case ProgramComponentKind::kNoRoof:
    case ProgramComponentKind::kCreation:
      return PartKind::kOther;
  }
  return PartKind::kOther;
}

void AddBreakdown(const ProgramSummary& summary, const ProgramBreakdown& breakdown,
                  Document& document) {
  document.Say(StepsText(summary.steps));
  AddDoubt(summary.steps, document);
  document::Bar bar{.title = BarTitle(summary, breakdown)};
  for (const auto& component : breakdown.components)
    bar.parts.push_back({PartKindOf(component.kind), component.label, component.seconds});
  bar.notes = PhaseTexts(summary.steps);
  document.Add(std::move(bar));
}

// Says the wall time of the program, and the share of it that is in the log.
void AddProgramTime(const ProgramSummary& summary, Document& document) {
  if (summary.creation_hits + summary.creation_misses > 0)
    document.Say(fmt::format("creation of primitives: {} made, {} found in the cache, {} together",
                             Times(summary.creation_misses), Times(summary.creation_hits),
                             text::WithPrefix(summary.creation_seconds, "s")));
  if (!summary.wall_seconds || summary.steps.count == 0) return;
  const double inside = summary.covered_seconds.value_or(summary.seconds);
  document.Say(fmt::format("the program: {} = {} in oneDNN's primitives + {} outside",
                           text::WithPrefix(*summary.wall_seconds, "s"),
                           text::WithPrefix(inside, "s"),
                           text::WithPrefix(std::max(*summary.wall_seconds - inside, 0.0), "s")));
}

// Says which processes called oneDNN if there are several, and how many calls run side by side.
void AddProcesses(const ProgramSummary& summary, Document& document) {
  const auto threads = [](const ProgramProcess& process) {
    return process.threads > 1
               ? fmt::format(", from up to {} threads at the same time", process.threads)
               : "";
  };
  if (summary.processes.size() == 1 && summary.processes[0].threads > 1)
    document.Say(fmt::format("oneDNN is called from up to {} threads at the same time",
                             summary.processes[0].threads));
  if (summary.processes.size() < 2) return;
  document.Say(
      fmt::format("{} called oneDNN; steps and tables are the main one's:",
                  Counted(static_cast<double>(summary.processes.size()), "process", "es")));
  for (const auto& process : summary.processes)
    document.Say(fmt::format("  {}{}: {}, {}{}", process.id, process.main ? " (main)" : "",
                             Counted(process.calls, "call"), text::WithPrefix(process.seconds, "s"),
                             threads(process)));
}

constexpr double kMuchForLines = 0.03;  // [1] of the time, above which lines get a remark

// Says what oneDNN's lines cost the program, if that was measured.
void AddLineCost(const ProgramSummary& summary, const ProgramBreakdown& breakdown,
                 Document& document) {
  if (!summary.line_seconds || !(breakdown.seconds > 0)) return;
  const auto& steps = summary.steps;
  const double lines = breakdown.of_step
                           ? steps.primitives + steps.creation_hits + steps.creation_misses
                           : static_cast<double>(summary.lines.verbose);
  const double seconds = lines * *summary.line_seconds;
  document.Say(fmt::format("oneDNN's lines take about {} of {}: {:.2g} % ({}, {} each){}",
                           text::WithPrefix(seconds, "s"),
                           breakdown.of_step ? "a step" : "the time",
                           100 * seconds / breakdown.seconds, Counted(lines, "line"),
                           text::WithPrefix(*summary.line_seconds, "s"),
                           seconds > kMuchForLines * breakdown.seconds
                               ? ": without profile it is that much shorter (--verify-overhead "
                                 "measures it)"
                               : ""));
}

void AddUnknownWork(const ProgramSummary& summary, Document& document) {
  std::vector<std::pair<std::string, double>> reasons;
  for (const auto& primitive : summary.primitives) {
    if (!primitive.work_unknown) continue;
    const auto text = fmt::format("{}: {}", primitive.text.kind, primitive.work_unknown->text);
    const auto found = std::ranges::find(reasons, text, &std::pair<std::string, double>::first);
    if (found != reasons.end())
      found->second += primitive.calls;
    else
      reasons.emplace_back(text, primitive.calls);
  }
  for (const auto& [text, calls] : reasons)
    document.Say(fmt::format("  {} with unknown FLOPs or bytes: {}", Counted(calls, "call"), text));
}

void AddLines(const ProgramSummary& summary, Document& document) {
  const auto& lines = summary.lines;
  document.Say(
      fmt::format("{} of {} lines of executed primitives were read; {} of {} lines are oneDNN's",
                  lines.used, lines.executed, lines.verbose, lines.all));
  for (const auto& refused : lines.refused)
    document.Say(fmt::format("  {} not read, line {} first: {}",
                             Counted(static_cast<double>(refused.count), "line"),
                             refused.first_line, refused.reason));
  if (lines.graph > 0)
    document.Say(fmt::format("  {} of oneDNN Graph: their primitives have lines of their own",
                             Counted(static_cast<double>(lines.graph), "partition")));
  AddUnknownWork(summary, document);
}

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

bool IsOfOther(const ProgramPrimitive& primitive) {
  return std::ranges::count(primitive.text.others, verbose::kProcessField,
                            &std::pair<std::string, std::string>::first) > 0;
}

}  // namespace

std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary) {
  const auto index = IndexByName(run);
  std::vector<PrimitiveUse> uses;
  for (const auto& primitive : summary.primitives) {
    PrimitiveUse use{&primitive};
    use.calls = HasSteps(summary) ? primitive.step_calls : primitive.calls;
    use.seconds = HasSteps(summary) ? primitive.step_seconds : primitive.seconds;
    // Calls of other processes are apart: they run beside the main one.
    if (!(use.calls > 0) || IsOfOther(primitive)) continue;
    if (const auto found = index.find(primitive.record); found != index.end())
      use.placed = &run.places[found->second];
    if (use.placed != nullptr && use.placed->placement.time) {
      const auto& time = *use.placed->placement.time;
      if (const auto slowdown = roofline::LeastSlowdown(time); slowdown && *slowdown > 0) {
        use.roof_seconds = use.calls * time.seconds / *slowdown;
        use.roof_at_most = !time.slowdown;
      }
    }
    if (primitive.moves_data)
      use.potential_seconds = use.seconds;
    else if (use.roof_seconds)
      use.potential_seconds = std::max(use.seconds - *use.roof_seconds, 0.0);
    uses.push_back(use);
  }
  const bool roofs = std::ranges::any_of(
      uses, [](const PrimitiveUse& use) { return use.roof_seconds.has_value(); });
  std::ranges::stable_sort(uses, [roofs](const PrimitiveUse& a, const PrimitiveUse& b) {
    if (roofs && a.potential_seconds != b.potential_seconds)
      return a.potential_seconds.value_or(0) > b.potential_seconds.value_or(0);
    return a.seconds > b.seconds;
  });
  return uses;
}

ProgramBreakdown BreakdownOf(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary) {
  ProgramBreakdown breakdown{.of_step = HasSteps(summary)};
  double at_roof = 0, without_roof = 0;
  bool at_most = false;  // part of `at_roof` is an upper limit
  std::map<std::string, double> slowdowns, moves;
  for (const auto& use : uses) {
    const auto& kind = use.primitive->text.kind;
    if (use.primitive->moves_data) {
      moves[kind] += use.seconds;
    } else if (use.roof_seconds) {
      const double roof = std::min(*use.roof_seconds, use.seconds);
      at_roof += roof;
      at_most = at_most || use.roof_at_most;
      slowdowns[kind] += use.seconds - roof;
    } else {
      without_roof += use.seconds;
    }
  }
  AddComponent(
      ProgramComponentKind::kRoof,
      at_most ? "needed by the roofs at most (some are not validated)" : "needed by the roofs",
      at_roof, breakdown);
  AddByKind(ProgramComponentKind::kSlowdown, "above the roof: ", slowdowns, breakdown);
  AddByKind(ProgramComponentKind::kMoves, "moves data: ", moves, breakdown);
  AddComponent(ProgramComponentKind::kNoRoof, "primitives without a roof", without_roof, breakdown);
  AddComponent(ProgramComponentKind::kCreation, "creation of primitives",
               breakdown.of_step ? summary.steps.creation_seconds : summary.creation_seconds,
               breakdown);
  const auto& wall = breakdown.of_step ? summary.steps.wall_seconds : summary.wall_seconds;
  if (wall)
    AddComponent(ProgramComponentKind::kOutside, "outside oneDNN", *wall - breakdown.seconds,
                 breakdown);
  return breakdown;
}

std::vector<KindUse> KindsOf(const std::vector<PrimitiveUse>& uses,
                             const roofline::PlacedRun& run) {
  const auto index = IndexByName(run);
  std::vector<KindUse> kinds;
  for (const auto& use : uses) {
    const auto& text = use.primitive->text;
    auto kind = std::ranges::find_if(
        kinds, [&](const KindUse& one) { return one.kind == text.kind && one.prop == text.prop; });
    if (kind == kinds.end()) {
      kinds.push_back({.kind = text.kind, .prop = text.prop, .flops = 0});
      kind = kinds.end() - 1;
    }
    ++kind->distinct;
    kind->calls += use.calls;
    kind->seconds += use.seconds;
    kind->moves_data = kind->moves_data && use.primitive->moves_data;
    const auto found = index.find(use.primitive->record);
    const auto flops = found == index.end()
                           ? std::nullopt
                           : roofline::BestKnownFlops(run.file.records[found->second]);
    if (flops && kind->flops)
      *kind->flops += use.calls * *flops;
    else
      kind->flops.reset();
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &KindUse::seconds);
  return kinds;
}

bool IsProgram(const record::RunFile& file) { return ProgramOf(file.context).has_value(); }

Document ProgramDocument(const roofline::PlacedRun& run) {
  Document document;
  const auto summary = ProgramOf(run.file.context);
  if (!summary) return document;
  const auto uses = UsesOf(run, *summary);
  const auto breakdown = BreakdownOf(uses, *summary);
  const auto kinds = KindsOf(uses, run);
  AddHead(*summary, document);
  AddPrimitiveAdvice(uses, document);
  AddReorderAdvice(kinds, breakdown, document);
  AddBreakdown(*summary, breakdown, document);
  AddPrimitives(uses, run, breakdown, document);
  AddAboveRoof(uses, breakdown, document);
  AddKinds(kinds, breakdown, document);
  AddProgramTime(*summary, document);
  AddProcesses(*summary, document);
  AddLineCost(*summary, breakdown, document);
  AddStandalone(*summary, document);
  AddLines(*summary, document);
  return document;
}

void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out) {
  const auto document = ProgramDocument(run);
  if (document.blocks.empty()) return;
  document::Write(document, width, out);
  terminal::WriteCaveats(run, out);
}

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
