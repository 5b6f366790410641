#include "baselines/programs/program_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "baselines/programs/implementation_family.h"
#include "baselines/programs/program_summary.h"
#include "reporters/breakdown/breakdown_text.h"
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

// Adds the operators without a roof by kind; those that take little become one component.
void AddOperators(std::map<std::string, double> by_kind, ProgramBreakdown& breakdown) {
  constexpr double kLittle = 0.02;  // [1] of all time so far and in operators
  double all = breakdown.seconds, little = 0;
  for (const auto& [kind, seconds] : by_kind) all += seconds;
  for (auto& [kind, seconds] : by_kind)
    if (seconds < kLittle * all) little += std::exchange(seconds, 0);
  AddByKind(ProgramComponentKind::kOperator, "operator: ", by_kind, breakdown);
  AddComponent(ProgramComponentKind::kOperator, "other operators", little, breakdown);
}

// Adds the time outside of oneDNN (and of operators, if they were traced): split by what the main
// thread did, if that is known and nothing else is.
void AddOutside(const ProgramSummary& summary, double seconds, ProgramBreakdown& breakdown) {
  constexpr auto kKind = ProgramComponentKind::kOutside;
  const auto& times = summary.outside_times;
  if (summary.traced) {
    AddComponent(kKind,
                 breakdown.of_step ? "outside oneDNN and operators (Python)"
                                   : "not traced, or outside of oneDNN and operators",
                 seconds, breakdown);
    return;
  }
  const double known = times ? times->computing + times->waiting + times->sleeping : 0;
  if (!(known > 0)) {
    AddComponent(kKind, "outside oneDNN", seconds, breakdown);
    return;
  }
  AddComponent(kKind, kOutsideComputing, seconds * times->computing / known, breakdown);
  AddComponent(kKind, kOutsideWaiting, seconds * times->waiting / known, breakdown);
  AddComponent(kKind, kOutsideSleeping, seconds * times->sleeping / known, breakdown);
}

using Row = std::vector<std::string>;

constexpr std::size_t kShown = 8;  // primitives in the first table
constexpr double kAbove = 1.05;    // [1] roof time / measured time: beyond noise
constexpr double kMuch = 0.05;     // [1] share of the time above which reorders get advice

std::string Percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

// Returns a number of calls, "12171" or "3.5"; a mean over steps may be fractional.
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
             Counted(static_cast<double>(std::ranges::count_if(
                         summary.primitives, [](const auto& one) { return !one.is_operator; })),
                     "distinct primitive"),
             text::WithPrefix(summary.seconds, "s"));
}

std::string NameOf(const ProgramPrimitive& primitive) { return text::Printable(primitive.record); }

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

void WriteTop(const std::vector<PrimitiveUse>& uses, const ProgramBreakdown& breakdown,
              bool machine, int width, std::ostream& out) {
  const bool roofs = std::ranges::any_of(
      uses, [](const PrimitiveUse& use) { return use.roof_seconds.has_value(); });
  std::vector<Row> rows = {
      {fmt::format("primitives with the {}{}", roofs ? "largest potential" : "most time",
                   breakdown.of_step ? ", per step" : ""),
       "calls", "time", "share", "potential", "bound", "slowdown", "implementation"}};
  for (std::size_t i = 0; i < std::min(uses.size(), kShown); ++i) {
    const auto& use = uses[i];
    const bool slowdown = use.roof_seconds && *use.roof_seconds > 0 && !use.primitive->moves_data;
    const auto limit = roofline::AtLeastMark(use.roof_at_most);
    const auto potential_limit = use.primitive->moves_data ? "" : limit;
    rows.push_back(
        {NameOf(*use.primitive), Times(use.calls), text::WithPrefix(use.seconds, "s"),
         Percent(use.seconds, breakdown.seconds),
         use.potential_seconds
             ? fmt::format("{}{}", potential_limit, text::WithPrefix(*use.potential_seconds, "s"))
             : "",
         BoundOf(use),
         slowdown ? fmt::format("{}{}x", limit, text::ThreeDigits(use.seconds / *use.roof_seconds))
                  : "",
         text::Printable(use.primitive->text.implementation)});
  }
  text::WriteAligned(rows, width, out);
  if (!roofs && !machine) out << "  no roofs, so no slowdowns: --machine FILE has the roofs\n";
  for (std::size_t i = 0; i < std::min(uses.size(), kShown); ++i)
    if (uses[i].placed != nullptr && !uses[i].placed->placement.advice.empty()) {
      fmt::print(out, "  {}{}: {}\n", NameOf(*uses[i].primitive), MedianCall(uses[i]),
                 text::Printable(uses[i].placed->placement.advice));
      break;
    }
}

// Writes which primitives are faster than their roofs: a cache may still contain data of the
// previous primitive, so that less is read from memory.
void WriteAboveRoof(const std::vector<PrimitiveUse>& uses, const ProgramBreakdown& breakdown,
                    std::ostream& out) {
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
  fmt::print(out,
             "  {} ({} of the time) are faster than their roofs: caches had their data, or a roof "
             "or a count is wrong (report --verbose). The longest: {}, {}x\n",
             Counted(static_cast<double>(count), "primitive"), Percent(seconds, breakdown.seconds),
             NameOf(*longest->primitive),
             text::ThreeDigits(longest->seconds / *longest->roof_seconds));
}

// Writes how to avoid reorders (neighbours with different layouts cause them) if they take > kMuch.
void WriteReorderAdvice(const std::vector<KindUse>& kinds, const ProgramBreakdown& breakdown,
                        const ProgramSummary& summary, std::ostream& out) {
  double seconds = 0;
  for (const auto& kind : kinds)
    if (kind.moves_data && kind.kind == "reorder") seconds += kind.seconds;
  if (seconds < kMuch * breakdown.seconds) return;
  fmt::print(out, "  reorders take {} of the time: {}\n", Percent(seconds, breakdown.seconds),
             ReorderAdvice(summary));
}

void WriteKinds(const std::vector<KindUse>& kinds, const ProgramBreakdown& breakdown,
                const ProgramSummary& summary, int width, std::ostream& out) {
  std::vector<Row> rows = {
      {"kinds", "direction", "distinct", "calls", "time", "share", "FLOP", "FLOP/s"}};
  double calls = 0, seconds = 0, moving_calls = 0, moving_seconds = 0;
  for (const auto& kind : kinds) {
    calls += kind.calls;
    seconds += kind.seconds;
    if (kind.moves_data) {
      moving_calls += kind.calls;
      moving_seconds += kind.seconds;
    }
    const bool flops = kind.flops && kind.seconds > 0;
    rows.push_back(
        {text::Printable(kind.kind), text::Printable(kind.prop), std::to_string(kind.distinct),
         Times(kind.calls), text::WithPrefix(kind.seconds, "s"),
         Percent(kind.seconds, breakdown.seconds),
         kind.moves_data ? "none"
         : flops         ? text::WithPrefix(*kind.flops, "FLOP")
                         : "",
         flops && !kind.moves_data ? text::WithPrefix(*kind.flops / kind.seconds, "FLOP/s") : ""});
  }
  out << '\n';
  text::WriteAligned(rows, width, out);
  fmt::print(out, "  zero-FLOP: {} of {} calls ({}), {} of {} of {} time ({})\n",
             Times(moving_calls), Times(calls), Percent(moving_calls, calls),
             text::WithPrefix(moving_seconds, "s"), text::WithPrefix(seconds, "s"),
             summary.traced ? "oneDNN's and operators'" : "oneDNN's",
             Percent(moving_seconds, seconds));
  WriteReorderAdvice(kinds, breakdown, summary, out);
}

std::string StepsText(const ProgramSteps& steps) {
  if (steps.count == 0) return steps.reason.value_or(Reason{}).text;
  constexpr const char* kHow[] = {"", "found as the period of the primitives",
                                  "as many as specified", "marked by the program"};
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

void WriteBreakdown(const ProgramSummary& summary, const ProgramBreakdown& breakdown,
                    std::ostream& out) {
  const auto& steps = summary.steps;
  out << '\n' << text::Printable(StepsText(steps)) << '\n';
  if (breakdown.of_step) {
    fmt::print(out, "a step: {} ", text::WithPrefix(breakdown.seconds, "s"));
    if (!steps.wall_seconds)
      out << "in oneDNN; the log does not have its wall time";
    else if (steps.timed > 1)
      fmt::print(out, "(mean of {}: {} to {})", steps.timed,
                 text::WithPrefix(steps.least_wall_seconds.value_or(0), "s"),
                 text::WithPrefix(steps.most_wall_seconds.value_or(0), "s"));
    out << '\n';
  } else {
    fmt::print(out, "{}: {}\n", summary.wall_seconds ? "the program" : "all calls",
               text::WithPrefix(breakdown.seconds, "s"));
  }
  double sum = 0;
  for (const auto& component : breakdown.components) {
    const double end = sum + component.seconds;
    fmt::print(out, "  |{}| {:>9} {:>7}  {}\n",
               breakdown::WaterfallBar(sum / breakdown.seconds, end / breakdown.seconds),
               text::WithPrefix(component.seconds, "s"),
               Percent(component.seconds, breakdown.seconds), text::Printable(component.label));
    sum = end;
  }
  if (const auto advice = LargestAdvice(breakdown, summary); !advice.empty())
    fmt::print(out, "  {}\n", text::Printable(advice));
  WritePhases(steps, out);
}

// Writes the wall time of the program, and the share of it that is in the log.
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
    if (!primitive.work_unknown) continue;
    const auto text =
        primitive.is_operator
            ? std::string("operators of PyTorch that are not counted")
            : fmt::format("{}: {}", primitive.text.kind, primitive.work_unknown->text);
    const auto found = std::ranges::find(reasons, text, &std::pair<std::string, double>::first);
    if (found != reasons.end())
      found->second += primitive.calls;
    else
      reasons.emplace_back(text, primitive.calls);
  }
  for (const auto& [text, calls] : reasons)
    fmt::print(out, "  {} with unknown FLOPs or bytes: {}\n", Counted(calls, "call"),
               text::Printable(text));
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

void WriteNotReplayed(const ProgramSummary& summary, std::ostream& out) {
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
    fmt::print(out, "  not replayed: {} ({}{}) {}\n", row.distinct,
               text::WithPrefix(row.seconds, "s"), summary.steps.count > 0 ? " of a step" : "",
               text::Printable(row.reason));
}

}  // namespace

std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary) {
  const auto index = IndexByName(run);
  std::vector<PrimitiveUse> uses;
  for (const auto& primitive : summary.primitives) {
    PrimitiveUse use{&primitive};
    use.calls = HasSteps(summary) ? primitive.step_calls : primitive.calls;
    use.seconds = HasSteps(summary) ? primitive.step_seconds : primitive.seconds;
    if (!(use.calls > 0)) continue;
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
  std::map<std::string, double> slowdowns, moves, operators;
  for (const auto& use : uses) {
    const auto& kind = use.primitive->text.kind;
    if (use.primitive->moves_data) {
      moves[kind] += use.seconds;
    } else if (use.roof_seconds) {
      const double roof = std::min(*use.roof_seconds, use.seconds);
      at_roof += roof;
      at_most = at_most || use.roof_at_most;
      slowdowns[kind] += use.seconds - roof;
    } else if (use.primitive->is_operator) {
      operators[kind] += use.seconds;
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
  AddOperators(operators, breakdown);
  AddComponent(ProgramComponentKind::kCreation, "creation of primitives",
               breakdown.of_step ? summary.steps.creation_seconds : summary.creation_seconds,
               breakdown);
  const auto& wall = breakdown.of_step ? summary.steps.wall_seconds : summary.wall_seconds;
  if (wall) AddOutside(summary, *wall - breakdown.seconds, breakdown);
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

void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out) {
  const auto summary = ProgramOf(run.file.context);
  if (!summary) return;
  const auto uses = UsesOf(run, *summary);
  const auto breakdown = BreakdownOf(uses, *summary);
  WriteHead(*summary, out);
  out << '\n';
  WriteTop(uses, breakdown, !run.file.machines.empty(), width, out);
  WriteAboveRoof(uses, breakdown, out);
  WriteKinds(KindsOf(uses, run), breakdown, *summary, width, out);
  WriteBreakdown(*summary, breakdown, out);
  WriteProgramTime(*summary, out);
  if (summary->traced) WriteTraced(*summary->traced, width, out);
  WriteStandalone(*summary, width, out);
  WriteLines(*summary, out);
  terminal::WriteCaveats(run, out);
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
  for (const auto& one : explanations) conditions.push_back(one.condition);
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

void WriteStandalone(const ProgramSummary& summary, int width, std::ostream& out) {
  const auto replayed = Replayed(summary);
  const bool others = std::ranges::any_of(
      summary.primitives, [](const auto& one) { return one.not_replayed.has_value(); });
  if (replayed.empty() && !others) return;
  out << '\n';
  std::vector<std::vector<std::string>> rows = {
      {fmt::format("one call, standalone by oneDNN {}",
                   text::Printable(summary.standalone_version)),
       "in the program", "standalone", "ratio", "standalone, cold", "why"}};
  std::vector<std::string> diagnoses;
  for (const auto* primitive : replayed) {
    const auto& standalone = *primitive->standalone;
    const auto diagnosis = StandaloneDiagnosis(*primitive);
    auto number = std::ranges::find(diagnoses, diagnosis);
    if (number == diagnoses.end()) number = diagnoses.insert(diagnoses.end(), diagnosis);
    rows.push_back(
        {text::Printable(primitive->record), text::WithPrefix(standalone.program_seconds, "s"),
         fmt::format("{}{}", standalone.noisy ? "~" : "",
                     text::WithPrefix(standalone.seconds, "s")),
         RatioText(standalone),
         standalone.cold_seconds ? fmt::format("{}{}", ColdIsNoise(standalone) ? "~" : "",
                                               text::WithPrefix(*standalone.cold_seconds, "s"))
                                 : "",
         std::to_string(number - diagnoses.begin() + 1)});
  }
  if (!replayed.empty()) text::WriteAligned(rows, width, out);
  for (std::size_t i = 0; i < diagnoses.size(); ++i)
    fmt::print(out, "  {}: {}\n", i + 1, text::Printable(diagnoses[i]));
  if (std::ranges::any_of(replayed, [](const auto* one) { return one->standalone->noisy; }))
    out << "  ~ noisy because of other programs: an estimate\n";
  if (std::ranges::any_of(replayed, [](const auto* one) { return ColdIsNoise(*one->standalone); }))
    out << "  ~ of a time with cold caches: below that with warm ones, so the two differ by noise "
           "only\n";
  WriteNotReplayed(summary, out);
}

}  // namespace dlroof::programs
