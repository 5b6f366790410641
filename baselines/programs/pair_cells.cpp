#include "baselines/programs/pair_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "reporters/text/units.h"

namespace dlroof {
namespace {

std::string TimeText(const CallSum& sum) {
  return sum.calls > 0 ? WithPrefix(sum.seconds, "s") : "";
}

std::string TimeText(const std::optional<double>& seconds) {
  return seconds ? WithPrefix(*seconds, "s") : "";
}

std::string CallsText(const CallSum& sum) {
  return sum.calls > 0 ? fmt::format("{:.4g}", sum.calls) : "";
}

std::string RatioText(const std::optional<double>& ratio) {
  return ratio ? FixedText(*ratio, 2) : "";
}

std::string RatioText(const CallSum& a, const CallSum& b) {
  return a.calls > 0 && b.calls > 0 ? RatioText(RatioOf(a, b)) : "";
}

// Marked where the middle halves of the calls' times allow both orders.
std::string RatioText(const ProblemRow& row) {
  auto text = RatioText(row.a.sum, row.b.sum);
  const bool either =
      row.ratio_between && row.ratio_between->first <= 1 && row.ratio_between->second >= 1;
  return either && !text.empty() ? "~" + text : text;
}

std::string ShareText(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

std::string RoofText(const ProblemSide& side) {
  return side.roof_seconds && side.sum.seconds > 0
             ? fmt::format("{:.0f} %", 100 * *side.roof_seconds / side.sum.seconds)
             : "";
}

std::string NameOf(const ProblemRow& row) {
  std::string name = row.kind;
  for (const auto& part : {row.direction, row.types, row.problem})
    if (!part.empty()) name += " " + part;
  return name;
}

std::vector<std::string> TotalsRow(const std::string& words, const CallSum& a, const CallSum& b) {
  return {words, CallsText(a), TimeText(a), CallsText(b), TimeText(b), RatioText(a, b)};
}

void AddSeconds(const std::string& words, const std::optional<double>& a,
                const std::optional<double>& b, Cells& cells) {
  if (!(a.value_or(0) > 0) && !(b.value_or(0) > 0)) return;
  const bool both = a.value_or(0) > 0 && b;
  cells.push_back({words, "", TimeText(a), "", TimeText(b), both ? FixedText(*b / *a, 2) : ""});
}

std::string NumbersOf(const std::vector<std::string>& texts, std::vector<std::string>& all) {
  std::set<std::ptrdiff_t> numbers;
  for (const auto& text : texts) {
    auto found = std::ranges::find(all, text);
    if (found == all.end()) found = all.insert(all.end(), text);
    numbers.insert(found - all.begin() + 1);
  }
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::string ProgramText(const char* name, const ComparedProgram& program) {
  const auto& summary = program.summary;
  auto text = fmt::format("{}: {}", name, program.where);
  if (!summary.command.empty()) text += fmt::format(", `{}`", summary.command);
  if (!summary.version.empty()) text += ", oneDNN " + summary.version;
  return text;
}

std::string MatchText(const char* name, const SideTotals& totals) {
  const double all = totals.computing.seconds + totals.unknown.seconds;
  return fmt::format("{} of {}'s {}", ShareText(totals.matched.seconds, all), name,
                     WithPrefix(all, "s"));
}

}  // namespace

Cells TotalsCells(const ProgramPairReport& report) {
  const auto& [a, b] = std::tie(report.pair.a, report.pair.b);
  Cells cells = {{report.pair.per_step ? "a step" : "the whole programs", "A calls", "A time",
                  "B calls", "B time", "B/A"}};
  cells.push_back(TotalsRow("primitives with FLOPs", a.computing, b.computing));
  cells.push_back(TotalsRow("primitives that only move data", a.moving, b.moving));
  if (a.unknown.calls > 0 || b.unknown.calls > 0)
    cells.push_back(TotalsRow("primitives of unknown FLOPs", a.unknown, b.unknown));
  AddSeconds("creation of primitives", a.creation_seconds, b.creation_seconds, cells);
  AddSeconds("outside oneDNN", a.outside_seconds, b.outside_seconds, cells);
  AddSeconds("wall time", a.wall_seconds, b.wall_seconds, cells);
  return cells;
}

Cells KindCells(const ProgramPairReport& report) {
  Cells cells = {{"kinds", "direction", "FLOPs", "A calls", "A time", "B calls", "B time", "B/A"}};
  for (const auto& row : report.pair.kinds)
    cells.push_back({row.kind, row.direction, row.moves ? "none" : "", CallsText(row.a),
                     TimeText(row.a), CallsText(row.b), TimeText(row.b), RatioText(row.a, row.b)});
  return cells;
}

Cells ProblemCells(const ProgramPairReport& report, std::size_t most,
                   std::vector<std::string>& differences) {
  const bool roofs = std::ranges::any_of(report.pair.rows, [](const ProblemRow& row) {
    return row.a.roof_seconds || row.b.roof_seconds;
  });
  Cells cells = {{"on both sides", "A calls", "A time", "B calls", "B time", "B/A"}};
  if (roofs) cells[0].insert(cells[0].end(), {"A of roof", "B of roof"});
  cells[0].emplace_back("differs");
  for (std::size_t i = 0; i < std::min(most, report.pair.rows.size()); ++i) {
    const auto& row = report.pair.rows[i];
    cells.push_back({NameOf(row), CallsText(row.a.sum), TimeText(row.a.sum), CallsText(row.b.sum),
                     TimeText(row.b.sum), RatioText(row)});
    if (roofs) cells.back().insert(cells.back().end(), {RoofText(row.a), RoofText(row.b)});
    cells.back().push_back(NumbersOf(row.differences, differences));
  }
  return cells;
}

Cells AloneCells(const std::vector<ProblemRow>& rows, bool of_a, std::size_t most) {
  Cells cells = {{of_a ? "in A alone" : "in B alone", "calls", "time", "implementation"}};
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const auto& side = of_a ? rows[i].a : rows[i].b;
    cells.push_back({NameOf(rows[i]), CallsText(side.sum), TimeText(side.sum),
                     side.primitives.front()->text.implementation});
  }
  return cells;
}

std::vector<std::string> PairNotes(const ProgramPairReport& report) {
  const auto& pair = report.pair;
  std::vector<std::string> notes = {ProgramText("A", report.a), ProgramText("B", report.b)};
  if (!pair.remarks.empty()) {
    std::string text = "A | B differ:";
    for (const auto& remark : pair.remarks)
      text += (&remark == pair.remarks.data() ? " " : "; ") + remark;
    notes.push_back(text);
  }
  notes.push_back(
      fmt::format("problems of both programs: {}; they take {} and {} in primitives that compute",
                  pair.rows.size(), MatchText("A", pair.a), MatchText("B", pair.b)));
  const bool either = std::ranges::any_of(
      pair.rows, [](const ProblemRow& row) { return RatioText(row).starts_with('~'); });
  if (either) notes.emplace_back("~ the middle halves of their calls' times allow both orders");
  return notes;
}

}  // namespace dlroof
