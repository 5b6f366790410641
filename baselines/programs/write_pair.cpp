#include "baselines/programs/write_pair.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/formats/export.h"
#include "baselines/formats/markdown_text.h"
#include "baselines/formats/page_text.h"
#include "baselines/programs/pair_cells.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

using nlohmann::json;

constexpr std::size_t kShown = 12, kShownAlone = 6;  // rows in a terminal

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
  if (row.moves) written["moves"] = true;
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

void WriteAlone(const std::vector<ProblemRow>& rows, bool of_a, int width, std::ostream& out) {
  if (rows.empty()) return;
  out << '\n';
  WriteAligned(PrintableCells(AloneCells(rows, of_a, kShownAlone)), width, out);
  WriteMore(rows.size(), kShownAlone, out);
}

void WriteTableOfTerminal(const ProgramPairReport& report, std::ostream& out) {
  WritePairTable(report, TerminalColumns(), out);
}

std::string SideFields(const ProblemSide& side) {
  if (side.primitives.empty()) return ",,,,";
  std::vector<std::string> implementations, records;
  for (const auto* primitive : side.primitives) {
    implementations.push_back(primitive->text.implementation);
    records.push_back(primitive->record);
  }
  return fmt::format("{},{},{},{},{}", side.sum.calls, side.sum.seconds,
                     side.roof_seconds ? fmt::format("{}", *side.roof_seconds) : "",
                     CsvText(fmt::format("{}", fmt::join(implementations, " + "))),
                     CsvText(fmt::format("{}", fmt::join(records, " + "))));
}

void WriteCsvRows(const std::vector<ProblemRow>& rows, std::ostream& out) {
  for (const auto& row : rows) {
    const bool both = !row.a.primitives.empty() && !row.b.primitives.empty();
    const auto ratio = both ? RatioOf(row.a.sum, row.b.sum) : std::nullopt;
    fmt::print(out, "{},{},{},{},{},{},{},{}\n", CsvText(row.kind), CsvText(row.direction),
               CsvText(row.problem), CsvText(row.types), SideFields(row.a), SideFields(row.b),
               ratio ? fmt::format("{}", *ratio) : "",
               CsvText(fmt::format("{}", fmt::join(row.differences, "; "))));
  }
}

}  // namespace

void WritePairTable(const ProgramPairReport& report, int width, std::ostream& out) {
  const auto& pair = report.pair;
  for (const auto& note : PairNotes(report)) out << Printable(note) << '\n';
  out << '\n';
  WriteAligned(PrintableCells(TotalsCells(report)), width, out);
  out << '\n';
  WriteAligned(PrintableCells(KindCells(report)), width, out);
  std::vector<std::string> differences;
  if (!pair.rows.empty()) {
    out << '\n';
    WriteAligned(PrintableCells(ProblemCells(report, kShown, differences)), width, out);
    WriteMore(pair.rows.size(), kShown, out);
  }
  WriteAlone(pair.only_a, true, width, out);
  WriteAlone(pair.only_b, false, width, out);
  if (!differences.empty()) out << "\ndiffers (A | B):\n";
  for (std::size_t i = 0; i < differences.size(); ++i)
    fmt::print(out, "{:>3}  {}\n", i + 1, Printable(differences[i]));
}

void WritePairMarkdown(const ProgramPairReport& report, std::ostream& out) {
  const auto& pair = report.pair;
  for (const auto& note : PairNotes(report)) out << "- " << MarkdownText(note) << '\n';
  std::vector<std::string> differences;
  std::vector<Cells> tables = {TotalsCells(report), KindCells(report)};
  if (!pair.rows.empty()) tables.push_back(ProblemCells(report, pair.rows.size(), differences));
  if (!pair.only_a.empty()) tables.push_back(AloneCells(pair.only_a, true, pair.only_a.size()));
  if (!pair.only_b.empty()) tables.push_back(AloneCells(pair.only_b, false, pair.only_b.size()));
  for (const auto& table : tables) {
    out << '\n';
    WriteMarkdownTable(table, out);
  }
  if (!differences.empty()) out << "\nDiffers (A | B):\n\n";
  for (std::size_t i = 0; i < differences.size(); ++i)
    fmt::print(out, "{}. {}\n", i + 1, MarkdownText(differences[i]));
}

void WritePairJson(const ProgramPairReport& report, std::ostream& out) {
  const auto& pair = report.pair;
  const json written = {{"per_step", pair.per_step},        {"a", ToJson(pair.a, report.a)},
                        {"b", ToJson(pair.b, report.b)},    {"remarks", pair.remarks},
                        {"kinds", ListJson(pair.kinds)},    {"both", ListJson(pair.rows)},
                        {"a_alone", ListJson(pair.only_a)}, {"b_alone", ListJson(pair.only_b)}};
  out << written.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

void WritePairCsv(const ProgramPairReport& report, std::ostream& out) {
  out << "kind,direction,problem,types,a_calls,a_seconds,a_roof_seconds,a_implementations,a_"
         "records,b_calls,b_seconds,b_roof_seconds,b_implementations,b_records,b_over_a,"
         "differences\n";
  for (const auto* rows : {&report.pair.rows, &report.pair.only_a, &report.pair.only_b})
    WriteCsvRows(*rows, out);
}

const std::vector<ProgramPairWriter>& ProgramPairWriters() {
  static const std::vector<ProgramPairWriter> writers = {{"table", WriteTableOfTerminal},
                                                         {"markdown", WritePairMarkdown},
                                                         {"json", WritePairJson},
                                                         {"csv", WritePairCsv}};
  return writers;
}

}  // namespace dlroof
