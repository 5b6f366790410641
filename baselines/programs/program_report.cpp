#include "baselines/programs/program_report.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "counters/base/keys.h"
#include "reporters/document/tables.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using document::Document;
using document::PartKind;
using document::Table;

constexpr std::size_t kModules = 8;  // rows of the table of modules
constexpr double kMatched = 0.9;     // [1] TracedProgram::onednn_matched below this is reported
constexpr std::size_t kShown = 10;   // rows of primitives that are shown at first
constexpr double kAbove = 1.05;      // [1] roof time / measured time above which it is not noise
constexpr double kScatters = 1.5;    // [1] mean / median time of a call, or inverse, if noisy
constexpr double kMuch = 0.05;       // [1] share of the time above which reorders get advice

// Returns a number of calls, e.g. "12171" or "3.5" (a mean over steps).
std::string Times(double calls) {
  return calls == std::floor(calls) || calls >= 100 ? fmt::format("{:.0f}", calls)
                                                    : fmt::format("{:.3g}", calls);
}

void AddHead(const ProgramSummary& summary, Document& document) {
  if (!summary.command.empty()) document.Say(summary.command);
  std::string library = "oneDNN";
  if (!summary.version.empty()) library += " " + summary.version;
  if (!summary.runtime.empty()) library += ", " + summary.runtime;
  if (summary.threads) library += fmt::format(", {}", Counted(*summary.threads, "thread"));
  if (!summary.isa_words.empty()) library += ", " + summary.isa_words;
  Say(document, "{}: {} of {}, {} in all", library,
      Counted(static_cast<double>(summary.lines.used), "call"),
      Counted(static_cast<double>(
                  std::ranges::count(summary.primitives, false, &ProgramPrimitive::is_operator)),
              "distinct primitive"),
      Time(summary.seconds));
}

std::string BoundOf(const PrimitiveUse& use) {
  if (use.primitive->moves_data) return "moves data";
  if (use.placed == nullptr || !use.placed->placement.time) return "";
  return roofline::BoundText(*use.placed->placement.time);
}

// Returns whether the primitive's calls scatter so much that its row is an estimate.
bool IsNoisy(const PrimitiveUse& use) {
  const auto* timing = use.placed != nullptr && use.placed->timing ? &*use.placed->timing : nullptr;
  if (timing == nullptr || use.primitive->moves_data) return false;
  const double median_of_mean = timing->median * use.calls / use.seconds;
  return timing->noisy || roofline::IsUncertain(*timing) ||
         std::abs(std::log(median_of_mean)) > std::log(kScatters);
}

// Adds the advice of the first of `uses` (by potential) that has advice and is not noisy.
void AddPrimitiveAdvice(const std::vector<PrimitiveUse>& uses, Document& document) {
  for (const auto& use : uses)
    if (use.placed != nullptr && !IsNoisy(use) && !use.placed->placement.advice.empty())
      return document.Advise(
          fmt::format("{}: {}", use.primitive->record, use.placed->placement.advice));
}

// Returns roof time / time of the calls, e.g. "37.6 %" ("<= 37.6 %": not validated), or "".
std::string OfRoof(const PrimitiveUse& use) {
  if (!use.roof_seconds || !(*use.roof_seconds > 0) || use.primitive->moves_data) return "";
  return (use.roof_at_most ? "<= " : "") + text::PercentText(*use.roof_seconds / use.seconds);
}

Table::Row RowOf(const PrimitiveUse& use, const std::string& share) {
  const auto mark = roofline::MarkOf(IsNoisy(use));
  const auto limit = use.primitive->moves_data ? "" : roofline::AtLeastMark(use.roof_at_most);
  const auto potential =
      use.potential_seconds ? fmt::format("{}{}{}", limit, mark, Time(*use.potential_seconds)) : "";
  const auto rate = use.flops && *use.flops > 0 && use.seconds > 0
                        ? text::WithPrefix(use.calls * *use.flops / use.seconds, "FLOP/s")
                        : "";
  return {{use.primitive->record},
          {Times(use.calls)},
          {fmt::format("{}{}", mark, Time(use.seconds))},
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
  row[2].text = Time(seconds);
  row[3].text = document::TenthsText(tenths);
  return row;
}

// Adds a row per primitive, the longest first, then the time outside of the primitives. Each call
// is in one row, and the shares add up to 100.0 %.
void AddPrimitives(const std::vector<PrimitiveUse>& by_potential, bool machine,
                   const ProgramBreakdown& breakdown, Document& document) {
  auto uses = by_potential;
  std::ranges::stable_sort(uses, std::ranges::greater{}, &PrimitiveUse::seconds);
  auto seconds = VectorOf<double>(uses, &PrimitiveUse::seconds);
  std::vector<const ProgramComponent*> others;
  for (const auto& component : breakdown.components)
    if (component.kind == ProgramComponentKind::kCreation ||
        component.kind == ProgramComponentKind::kOutside) {
      others.push_back(&component);
      seconds.push_back(component.seconds);
    }
  const auto tenths = document::Tenths(seconds);
  Table table{
      .columns = {fmt::format("primitives{}", breakdown.of_step ? " of a step" : ""), "calls",
                  "time", "share", "FLOP/s", "% roof", "bound", "potential", "implementation"},
      .first = kShown};
  double rest_calls = 0, rest_seconds = 0;
  int rest_tenths = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    table.rows.push_back(RowOf(uses[i], document::TenthsText(tenths[i])));
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
  if (std::ranges::any_of(uses, IsNoisy))
    table.notes.emplace_back("~: its calls scatter by half or more; no advice rests on it");
  if (!machine)
    table.notes.emplace_back("no roofs, so no times over them: --machine FILE has the roofs");
  document.Add(std::move(table));
}

// Adds a sentence on primitives that are faster than their roofs. Such a primitive may find data of
// the previous primitive in a cache, so that it reads less from memory.
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
  Say(document,
      "{} ({} of the time) are faster than their roofs: caches had their data, or a roof or a "
      "count is wrong (report --verbose). The longest: {}, {}x",
      Counted(static_cast<double>(count), "primitive"), Percent(seconds, breakdown.seconds),
      longest->primitive->record, text::ThreeDigits(longest->seconds / *longest->roof_seconds));
}

// Sums over the calls of a step (or the log) that only move data, and over all calls.
struct ZeroFlopCalls {
  double calls = 0, seconds = 0;          // [1], [s]
  double all_calls = 0, all_seconds = 0;  // [1], [s] of all calls
  double reorder_seconds = 0;             // [s]
};

ZeroFlopCalls ZeroFlopCallsOf(const std::vector<PrimitiveUse>& uses) {
  ZeroFlopCalls found;
  for (const auto& use : uses) {
    found.all_calls += use.calls;
    found.all_seconds += use.seconds;
    if (!use.primitive->moves_data) continue;
    found.calls += use.calls;
    found.seconds += use.seconds;
    if (use.primitive->text.kind == "reorder") found.reorder_seconds += use.seconds;
  }
  return found;
}

void AddZeroFlopCalls(const ZeroFlopCalls& moving, Document& document) {
  Say(document, "zero-FLOP: {} of {} calls ({}), {} of {} ({})", Times(moving.calls),
      Times(moving.all_calls), Percent(moving.calls, moving.all_calls), Time(moving.seconds),
      Time(moving.all_seconds), Percent(moving.seconds, moving.all_seconds));
}

void AddModules(const TracedProgram& traced, document::Document& document) {
  if (traced.modules.empty()) return;
  const double whole = traced.window_seconds / std::max(traced.steps, 1);
  document::Table table{.columns = {fmt::format("modules{}, without those in them",
                                                traced.steps > 0 ? ", per step" : ""),
                                    "time", "share"}};
  for (const auto& module : traced.modules)
    table.rows.push_back({{module.path}, {Time(module.seconds)}, {Percent(module.seconds, whole)}});
  table.first = kModules;
  document.Add(std::move(table));
}

std::string StepsText(const ProgramSteps& steps) {
  if (steps.count == 0) return steps.reason.value_or(Reason{}).text;
  constexpr const char* kHow[] = {"",
                                  "found as the period of the primitives (--steps N if a step has "
                                  "several)",
                                  "as many as specified",
                                  "marked by the program",
                                  "from call to call of the model in torch.profiler's window",
                                  "which are launches of a CUDA graph"};
  std::string text =
      fmt::format("{}, {}; {} each", Counted(steps.count + steps.warm_up_steps, "step"),
                  kHow[static_cast<std::size_t>(steps.from)], Counted(steps.primitives, "call"));
  const auto calls = fmt::format("{} in {} of oneDNN", Counted(steps.warm_up_calls, "call"),
                                 Time(steps.warm_up_seconds));
  if (steps.warm_up_steps > 0)
    text += fmt::format("; {} of warm-up ({})", steps.warm_up_steps, calls);
  else if (steps.warm_up_calls > 0)
    text += fmt::format("; before them a warm-up of {}", calls);
  return text;
}

// Returns the spread of the steps' wall times, e.g. "median of 11, 95 %: 510 ms to 545 ms".
std::string WallText(const ProgramSteps& steps) {
  const auto seconds = [](const std::optional<double>& wall) { return Time(wall.value_or(0)); };
  auto text = fmt::format("median of {}", steps.timed);
  text += steps.median_low_seconds
              ? fmt::format(", 95 %: {} to {}", seconds(steps.median_low_seconds),
                            seconds(steps.median_high_seconds))
              : fmt::format(": {} to {}", seconds(steps.least_wall_seconds),
                            seconds(steps.most_wall_seconds));
  if (steps.outliers > 0) text += fmt::format("; without {}", Counted(steps.outliers, "outlier"));
  return text;
}

std::string BarTitle(const ProgramSummary& summary, const ProgramBreakdown& breakdown) {
  const auto seconds = Time(breakdown.seconds);
  if (!breakdown.of_step)
    return fmt::format("{}: {}", summary.wall_seconds ? "the program" : "all calls", seconds);
  const auto& steps = summary.steps;
  if (!steps.wall_seconds)
    return fmt::format("a step: {} in oneDNN; the log does not have its wall time", seconds);
  if (steps.timed < 2 || !steps.median_wall_seconds) return fmt::format("a step: {}", seconds);
  return fmt::format("a step: {} ({}); the parts are means of these steps: {}",
                     Time(*steps.median_wall_seconds), WallText(steps), seconds);
}

// The kinds of the bar's parts, in the order of ProgramComponentKind.
constexpr PartKind kPartKinds[] = {PartKind::kRoof,  PartKind::kAboveRoof, PartKind::kZeroFlop,
                                   PartKind::kOther, PartKind::kOther,     PartKind::kOther,
                                   PartKind::kIdle};

void AddBreakdown(const ProgramSummary& summary, const ProgramBreakdown& breakdown,
                  Document& document) {
  document.Say(StepsText(summary.steps));
  document::Bar bar{.title = BarTitle(summary, breakdown)};
  for (const auto& component : breakdown.components)
    bar.parts.push_back(
        {kPartKinds[static_cast<std::size_t>(component.kind)], component.label, component.seconds});
  document.Add(std::move(bar));
}

void AddProgramTime(const ProgramSummary& summary, Document& document) {
  if (summary.creation_hits + summary.creation_misses > 0)
    Say(document, "creation of primitives: {} made, {} found in the cache, {} together",
        Times(summary.creation_misses), Times(summary.creation_hits),
        Time(summary.creation_seconds));
  if (!summary.wall_seconds || summary.steps.count == 0) return;
  const double inside = summary.covered_seconds.value_or(summary.seconds);
  Say(document, "the program: {} = {} in oneDNN's primitives + {} outside",
      Time(*summary.wall_seconds), Time(inside),
      Time(std::max(*summary.wall_seconds - inside, 0.0)));
}

void AddProcesses(const ProgramSummary& summary, Document& document) {
  if (summary.processes.size() < 2) return;
  Say(document, "{} called oneDNN; steps and tables are the main one's:",
      Counted(static_cast<double>(summary.processes.size()), "process"));
  for (const auto& process : summary.processes)
    Say(document, "  {}{}: {}, {}", process.id, process.main ? " (main)" : "",
        Counted(process.calls, "call"), Time(process.seconds));
}

void AddUnknownWork(const ProgramSummary& summary, Document& document) {
  text::InOrder<double> reasons;  // [1] calls
  for (const auto& primitive : summary.primitives)
    if (primitive.work_unknown)
      reasons[primitive.is_operator ? "operators of PyTorch that are not counted"
                                    : fmt::format("{}: {}", primitive.text.kind,
                                                  primitive.work_unknown->text)] += primitive.calls;
  for (const auto& [text, calls] : reasons.all)
    Say(document, "  {} with unknown FLOPs or bytes: {}", Counted(calls, "call"), text);
}

void AddLines(const ProgramSummary& summary, Document& document) {
  const auto& lines = summary.lines;
  Say(document, "{} of {} lines of executed primitives were read; {} of {} lines are oneDNN's",
      lines.used, lines.executed, lines.verbose, lines.all);
  for (const auto& refused : lines.refused)
    Say(document, "  {} not read, line {} first: {}",
        Counted(static_cast<double>(refused.count), "line"), refused.first_line, refused.reason);
  if (lines.graph > 0)
    Say(document, "  {} of oneDNN Graph: their primitives have lines of their own",
        Counted(static_cast<double>(lines.graph), "partition"));
  AddUnknownWork(summary, document);
}

}  // namespace

std::string Time(double seconds) { return text::WithPrefix(seconds, "s"); }

std::string Counted(double number, std::string_view noun) {
  const bool hissing = noun.ends_with("ch") || noun.ends_with("ss");
  return fmt::format("{:.0f} {}{}", number, noun, number == 1 ? "" : hissing ? "es" : "s");
}

std::string Percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

void AddTraced(const TracedProgram& traced, document::Document& document) {
  if (traced.of_no_step)
    return Say(
        document,
        "torch.profiler saw {}, but less than one step of it: no operators are in the breakdown "
        "(more steps let it see some)",
        Time(traced.window_seconds));
  Say(document,
      "torch.profiler saw {}: {:.1f} % of it in oneDNN, {:.1f} % in other operators, {:.1f} % in "
      "neither (Python, the program itself)",
      traced.steps > 0 ? fmt::format("{} of {} together", Counted(traced.steps, "step"),
                                     Time(traced.window_seconds))
                       : Time(traced.window_seconds),
      100 * traced.onednn_share, 100 * traced.operator_share, 100 * traced.rest_share);
  if (traced.hook_seconds > 0)
    Say(document, "  beside that dlroof's hooks of modules took {}{}, left out here",
        Time(traced.hook_seconds), traced.steps > 0 ? " a step" : "");
  if (traced.onednn_matched < kMatched)
    Say(document,
        "  {:.0f} % of oneDNN's time lies outside of operators: another thread runs it, or the "
        "clocks of log and trace differ",
        100 * (1 - traced.onednn_matched));
  AddModules(traced, document);
}

bool IsProgram(const record::RunFile& file) { return ProgramOf(file.context).has_value(); }

std::string StepChange(const record::RunFile& base, const record::RunFile& contender) {
  const auto before = ProgramOf(base.context), after = ProgramOf(contender.context);
  if (!before || !after || !before->steps.median_wall_seconds || !after->steps.median_wall_seconds)
    return "";
  return fmt::format(
      "a step: {} -> {} (medians of {} and {} steps)", Time(*before->steps.median_wall_seconds),
      Time(*after->steps.median_wall_seconds), before->steps.timed, after->steps.timed);
}

Document ProgramDocument(const roofline::PlacedRun& run) {
  Document document;
  const auto summary = ProgramOf(run.file.context);
  if (!summary) return document;
  const auto uses = UsesOf(run, *summary);
  const auto breakdown = BreakdownOf(uses, *summary);
  const auto moving = ZeroFlopCallsOf(uses);
  AddHead(*summary, document);
  constexpr double kBusy = 0.05;  // [1] from this share on other programs are named
  if (summary->others_share.value_or(0) >= kBusy)
    Say(document,
        "other programs took {} of this machine's CPUs meanwhile: times may be too long, those of "
        "calls on several threads many times (profile again when the machine is quiet, or with "
        "fewer "
        "threads than CPUs)",
        Percent(*summary->others_share, 1));
  AddPrimitiveAdvice(uses, document);
  if (moving.reorder_seconds >= kMuch * breakdown.seconds && moving.reorder_seconds > 0)
    document.Advise(fmt::format("reorders take {} of the time: {}",
                                Percent(moving.reorder_seconds, breakdown.seconds),
                                kReorderAdvice));
  if (const auto advice = LargestAdvice(breakdown, *summary); !advice.empty())
    document.Advise(advice);
  AddBreakdown(*summary, breakdown, document);
  AddPrimitives(uses, !run.file.machines.empty(), breakdown, document);
  AddAboveRoof(uses, breakdown, document);
  AddZeroFlopCalls(moving, document);
  AddProgramTime(*summary, document);
  if (summary->traced) AddTraced(*summary->traced, document);
  AddProcesses(*summary, document);
  AddLines(*summary, document);
  return document;
}

void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out) {
  auto document = ProgramDocument(run);
  if (document.blocks.empty()) return;
  document.Add(document::CaveatsDocument(run));
  document::Write(document, width, out);
}

}  // namespace dlroof::programs
