#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <tuple>

#include "baselines/formats/export.h"
#include "baselines/formats/page_text.h"
#include "baselines/programs/program_pair.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using nlohmann::json;

std::string TimeText(const CallSum& sum) {
  return sum.calls > 0 ? text::WithPrefix(sum.seconds, "s") : "";
}

std::string TimeText(const std::optional<double>& seconds) {
  return seconds ? text::WithPrefix(*seconds, "s") : "";
}

std::string CallsText(const CallSum& sum) {
  return sum.calls > 0 ? fmt::format("{:.4g}", sum.calls) : "";
}

std::string RatioText(const std::optional<double>& ratio) {
  return ratio ? text::FixedText(*ratio, 2) : "";
}

std::string RatioText(const CallSum& a, const CallSum& b) {
  return a.calls > 0 && b.calls > 0 ? RatioText(RatioOf(a, b)) : "";
}

// Marks the ratio with ~ if the middle halves of the calls' times allow both orders.
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

std::vector<std::string> TotalsRow(const std::string& label, const CallSum& a, const CallSum& b) {
  return {label, CallsText(a), TimeText(a), CallsText(b), TimeText(b), RatioText(a, b)};
}

void AddSeconds(const std::string& label, const std::optional<double>& a,
                const std::optional<double>& b, formats::Cells& cells) {
  if (!(a.value_or(0) > 0) && !(b.value_or(0) > 0)) return;
  const bool both = a.value_or(0) > 0 && b;
  cells.push_back(
      {label, "", TimeText(a), "", TimeText(b), both ? text::FixedText(*b / *a, 2) : ""});
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
                     text::WithPrefix(all, "s"));
}

// Returns how both sides spend the time of a step.
formats::Cells TotalsCells(const ProgramPairReport& report) {
  const auto& [a, b] = std::tie(report.pair.a, report.pair.b);
  formats::Cells cells = {{report.pair.per_step ? "a step" : "the whole programs", "A calls",
                           "A time", "B calls", "B time", "B/A"}};
  cells.push_back(TotalsRow("primitives with FLOPs", a.computing, b.computing));
  cells.push_back(TotalsRow("primitives with zero FLOPs", a.moving, b.moving));
  if (a.unknown.calls > 0 || b.unknown.calls > 0)
    cells.push_back(TotalsRow("primitives with unknown FLOPs", a.unknown, b.unknown));
  AddSeconds("creation of primitives", a.creation_seconds, b.creation_seconds, cells);
  AddSeconds("outside oneDNN", a.outside_seconds, b.outside_seconds, cells);
  AddSeconds("wall time", a.wall_seconds, b.wall_seconds, cells);
  return cells;
}

formats::Cells KindCells(const ProgramPairReport& report) {
  formats::Cells cells = {
      {"kinds", "direction", "FLOPs", "A calls", "A time", "B calls", "B time", "B/A"}};
  for (const auto& row : report.pair.kinds)
    cells.push_back({row.kind, row.direction, row.moves_data ? "none" : "", CallsText(row.a),
                     TimeText(row.a), CallsText(row.b), TimeText(row.b), RatioText(row.a, row.b)});
  return cells;
}

// Returns at most `most` rows of problems on both sides. A row's last cell has the numbers of its
// differences (from 1) in `differences`, to which new ones are added.
formats::Cells ProblemCells(const ProgramPairReport& report, std::size_t most,
                            std::vector<std::string>& differences) {
  const bool roofs = std::ranges::any_of(report.pair.rows, [](const ProblemRow& row) {
    return row.a.roof_seconds || row.b.roof_seconds;
  });
  formats::Cells cells = {{"on both sides", "A calls", "A time", "B calls", "B time", "B/A"}};
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

// Returns at most `most` problems that only one side has.
formats::Cells UnmatchedCells(const std::vector<ProblemRow>& rows, bool of_a, std::size_t most) {
  formats::Cells cells = {{of_a ? "only in A" : "only in B", "calls", "time", "implementation"}};
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const auto& side = of_a ? rows[i].a : rows[i].b;
    cells.push_back({NameOf(rows[i]), CallsText(side.sum), TimeText(side.sum),
                     side.primitives.front()->text.implementation});
  }
  return cells;
}

// Returns sentences: the programs, their differences, and how much of their time is matched.
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
      fmt::format("problems in both programs: {}; they take {} and {} in primitives that compute",
                  pair.rows.size(), MatchText("A", pair.a), MatchText("B", pair.b)));
  const bool either = std::ranges::any_of(
      pair.rows, [](const ProblemRow& row) { return RatioText(row).starts_with('~'); });
  if (either) notes.emplace_back("~ the middle halves of their calls' times allow both orders");
  return notes;
}

constexpr std::size_t kShownProblems = 12, kShownUnmatched = 6;  // rows in a terminal

json ToJson(const CallSum& sum) { return {{"calls", sum.calls}, {"seconds", sum.seconds}}; }

json ToJson(const ProblemSide& side) {
  json written = ToJson(side.sum);
  if (side.roof_seconds) written["roof_seconds"] = *side.roof_seconds;
  for (const auto* primitive : side.primitives) written["records"].push_back(primitive->record);
  return written;
}

json ToJson(const ProblemRow& row) {
  json written = {{"kind", row.kind}, {"problem", row.problem}, {"types", row.types}};
  if (!row.direction.empty()) written["direction"] = row.direction;
  if (!row.a.primitives.empty()) written["a"] = ToJson(row.a);
  if (!row.b.primitives.empty()) written["b"] = ToJson(row.b);
  if (row.a.primitives.empty() || row.b.primitives.empty()) return written;
  if (const auto ratio = RatioOf(row.a.sum, row.b.sum)) written["b_over_a"] = *ratio;
  if (row.ratio_between)
    written["b_over_a_middle_halves"] = {row.ratio_between->first, row.ratio_between->second};
  written["differences"] = row.differences;
  return written;
}

json ToJson(const KindRow& row) {
  json written = {{"kind", row.kind}, {"a", ToJson(row.a)}, {"b", ToJson(row.b)}};
  if (!row.direction.empty()) written["direction"] = row.direction;
  if (row.moves_data) written["moves"] = true;
  return written;
}

json ToJson(const SideTotals& totals, const ComparedProgram& program) {
  json written = {{"file", program.where},
                  {"computing", ToJson(totals.computing)},
                  {"moving", ToJson(totals.moving)},
                  {"unknown_flops", ToJson(totals.unknown)},
                  {"matched", ToJson(totals.matched)},
                  {"creation_seconds", totals.creation_seconds}};
  if (!program.summary.command.empty()) written["command"] = program.summary.command;
  if (!program.summary.version.empty()) written["onednn"] = program.summary.version;
  if (totals.outside_seconds) written["outside_seconds"] = *totals.outside_seconds;
  if (totals.wall_seconds) written["wall_seconds"] = *totals.wall_seconds;
  return written;
}

template <class Row>
json ListJson(const std::vector<Row>& rows) {
  json list = json::array();
  for (const auto& row : rows) list.push_back(ToJson(row));
  return list;
}

void WriteMore(std::size_t rows, std::size_t shown, std::ostream& out) {
  if (rows > shown)
    fmt::print(out, "  {} more (--format=markdown, csv or json has them)\n", rows - shown);
}

void WriteUnmatched(const std::vector<ProblemRow>& rows, bool of_a, int width, std::ostream& out) {
  if (rows.empty()) return;
  out << '\n';
  text::WriteAligned(formats::PrintableCells(UnmatchedCells(rows, of_a, kShownUnmatched)), width,
                     out);
  WriteMore(rows.size(), kShownUnmatched, out);
}

std::string SideFields(const ProblemSide& side) {
  if (side.primitives.empty()) return ",,,,";
  std::vector<std::string> implementations, records;
  for (const auto* primitive : side.primitives) {
    implementations.push_back(primitive->text.implementation);
    records.push_back(primitive->record);
  }
  return fmt::format("{},{},{},{},{}", side.sum.calls, side.sum.seconds,
                     formats::NumberField(side.roof_seconds),
                     formats::CsvText(fmt::format("{}", fmt::join(implementations, " + "))),
                     formats::CsvText(fmt::format("{}", fmt::join(records, " + "))));
}

void WriteCsvRows(const std::vector<ProblemRow>& rows, std::ostream& out) {
  for (const auto& row : rows) {
    const bool both = !row.a.primitives.empty() && !row.b.primitives.empty();
    const auto ratio = both ? RatioOf(row.a.sum, row.b.sum) : std::nullopt;
    fmt::print(out, "{},{},{},{},{},{},{},{}\n", formats::CsvText(row.kind),
               formats::CsvText(row.direction), formats::CsvText(row.problem),
               formats::CsvText(row.types), SideFields(row.a), SideFields(row.b),
               formats::NumberField(ratio),
               formats::CsvText(fmt::format("{}", fmt::join(row.differences, "; "))));
  }
}

// Writes the totals, the kinds, the problems of both programs with the largest differences, and the
// longest unmatched ones.
void WritePairTable(const ProgramPairReport& report, std::ostream& out) {
  const int width = text::TerminalColumns();
  const auto& pair = report.pair;
  for (const auto& note : PairNotes(report)) out << text::Printable(note) << '\n';
  out << '\n';
  text::WriteAligned(formats::PrintableCells(TotalsCells(report)), width, out);
  out << '\n';
  text::WriteAligned(formats::PrintableCells(KindCells(report)), width, out);
  std::vector<std::string> differences;
  if (!pair.rows.empty()) {
    out << '\n';
    text::WriteAligned(formats::PrintableCells(ProblemCells(report, kShownProblems, differences)),
                       width, out);
    WriteMore(pair.rows.size(), kShownProblems, out);
  }
  WriteUnmatched(pair.only_a, true, width, out);
  WriteUnmatched(pair.only_b, false, width, out);
  if (!differences.empty()) out << "\ndiffers (A | B):\n";
  for (std::size_t i = 0; i < differences.size(); ++i)
    fmt::print(out, "{:>3}  {}\n", i + 1, text::Printable(differences[i]));
}

// Writes the same tables with all rows.
void WritePairMarkdown(const ProgramPairReport& report, std::ostream& out) {
  const auto& pair = report.pair;
  for (const auto& note : PairNotes(report)) out << "- " << formats::MarkdownText(note) << '\n';
  std::vector<std::string> differences;
  std::vector<formats::Cells> tables = {TotalsCells(report), KindCells(report)};
  if (!pair.rows.empty()) tables.push_back(ProblemCells(report, pair.rows.size(), differences));
  if (!pair.only_a.empty()) tables.push_back(UnmatchedCells(pair.only_a, true, pair.only_a.size()));
  if (!pair.only_b.empty())
    tables.push_back(UnmatchedCells(pair.only_b, false, pair.only_b.size()));
  for (const auto& table : tables) {
    out << '\n';
    formats::WriteMarkdownTable(table, out);
  }
  if (!differences.empty()) out << "\nDiffers (A | B):\n\n";
  for (std::size_t i = 0; i < differences.size(); ++i)
    fmt::print(out, "{}. {}\n", i + 1, formats::MarkdownText(differences[i]));
}

// Writes one JSON object; unknown values have no key. Seconds are per step if "per_step" is true.
void WritePairJson(const ProgramPairReport& report, std::ostream& out) {
  const auto& pair = report.pair;
  const json written = {{"per_step", pair.per_step},        {"a", ToJson(pair.a, report.a)},
                        {"b", ToJson(pair.b, report.b)},    {"remarks", pair.remarks},
                        {"kinds", ListJson(pair.kinds)},    {"both", ListJson(pair.rows)},
                        {"a_alone", ListJson(pair.only_a)}, {"b_alone", ListJson(pair.only_b)}};
  out << written.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

// Writes a line per problem.
void WritePairCsv(const ProgramPairReport& report, std::ostream& out) {
  out << "kind,direction,problem,types,a_calls,a_seconds,a_roof_seconds,a_implementations,a_"
         "records,b_calls,b_seconds,b_roof_seconds,b_implementations,b_records,b_over_a,"
         "differences\n";
  for (const auto* rows : {&report.pair.rows, &report.pair.only_a, &report.pair.only_b})
    WriteCsvRows(*rows, out);
}

}  // namespace

const std::vector<ProgramPairWriter>& ProgramPairWriters() {
  static const std::vector<ProgramPairWriter> writers = {{"table", WritePairTable},
                                                         {"markdown", WritePairMarkdown},
                                                         {"json", WritePairJson},
                                                         {"csv", WritePairCsv}};
  return writers;
}

}  // namespace dlroof::programs
