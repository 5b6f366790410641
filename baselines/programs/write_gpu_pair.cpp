#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <variant>

#include "baselines/formats/export.h"
#include "baselines/formats/page_text.h"
#include "baselines/programs/gpu_pair.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using nlohmann::json;

json NumberJson(double number) { return text::WholeOrReal(text::Rounded(number)); }

json ToJson(const LaunchSum& sum) {
  return {{"launches", NumberJson(sum.launches)}, {"seconds", NumberJson(sum.seconds)}};
}

json ToJson(const GpuKernelUse& use, PairedTimes times) {
  const bool durations = times == PairedTimes::kDurations;
  json written = {
      {"grid", use.grid},
      {"block", use.block},
      {"launches", NumberJson(durations ? use.launches : use.step_launches)},
      {"seconds", NumberJson(durations ? use.seconds : use.step_wall_seconds)},
  };
  if (!use.record.empty()) written["record"] = use.record;
  return written;
}

json ToJson(const KernelSide& side, PairedTimes times) {
  json written = ToJson(side.sum);
  if (side.roof_share)
    written[side.roof_share->at_most ? "roof_share_at_most" : "roof_share"] =
        NumberJson(side.roof_share->value);
  written["kernels"] = json::array();
  for (const auto* use : side.uses) written["kernels"].push_back(ToJson(*use, times));
  return written;
}

json ToJson(const KernelRow& row, PairedTimes times) {
  json written = {{"name", row.name}, {"kind", Key(row.kind)}};
  if (!row.a.uses.empty()) written["a"] = ToJson(row.a, times);
  if (!row.b.uses.empty()) written["b"] = ToJson(row.b, times);
  if (row.a.uses.empty() || row.b.uses.empty()) return written;
  if (const auto ratio = RatioOf(row.a.sum, row.b.sum)) written["b_over_a"] = NumberJson(*ratio);
  written["differences"] = row.differences;
  return written;
}

json ToJson(const RoofTimes& roofs) {
  return {{roofs.at_most ? "roof_seconds_at_most" : "roof_seconds", NumberJson(roofs.roof_seconds)},
          {"above_seconds", NumberJson(roofs.above_seconds)},
          {"zero_flop_seconds", NumberJson(roofs.zero_flop_seconds)},
          {"zero_flop_launches", NumberJson(roofs.zero_flop_launches)},
          {"uncounted_seconds", NumberJson(roofs.uncounted_seconds)}};
}

json ToJson(const GpuCopies& copies) {
  return {{"kind", copies.kind},
          {"copies", NumberJson(copies.copies)},
          {"bytes", NumberJson(copies.bytes)},
          {"seconds", NumberJson(copies.seconds)},
          {"pageable_bytes", NumberJson(copies.pageable_bytes)}};
}

json ToJson(const GpuSteps& steps) {
  return {{"count", steps.count},
          {"median_seconds", NumberJson(steps.median_seconds)},
          {"lower_seconds", NumberJson(steps.lower_seconds)},
          {"upper_seconds", NumberJson(steps.upper_seconds)}};
}

json ToJson(const GpuSideTotals& totals, const ComparedGpuProgram& program) {
  const auto& timeline = program.program.timelines.front();
  json written = {{"file", program.where},
                  {"kernels", ToJson(totals.kernels)},
                  {"matched", ToJson(totals.matched)},
                  {"by_roof", ToJson(totals.roofs)},
                  {"wall_seconds", NumberJson(totals.wall_seconds)}};
  if (!program.program.command.empty()) written["command"] = program.program.command;
  if (!timeline.device_name.empty()) written["gpu"] = timeline.device_name;
  if (timeline.steps.count > 0) written["steps"] = ToJson(timeline.steps);
  if (totals.graph_share) written["graph_share"] = NumberJson(*totals.graph_share);
  if (!totals.times) return written;
  const auto& times = *totals.times;
  written["copy_seconds"] = NumberJson(times.copy_seconds);
  written["fill_seconds"] = NumberJson(times.fill_seconds);
  written["idle_seconds"] = NumberJson(times.idle_seconds);
  written["overlap_seconds"] = NumberJson(times.overlap_seconds);
  written["hidden_copy_seconds"] = NumberJson(times.hidden_copy_seconds);
  written["copies"] = json::array();
  for (const auto& copies : totals.copies) written["copies"].push_back(ToJson(copies));
  return written;
}

json RowsJson(const std::vector<KernelRow>& rows, PairedTimes times) {
  json list = json::array();
  for (const auto& row : rows) list.push_back(ToJson(row, times));
  return list;
}

// Writes one JSON object; unknown values have no key. "times" says what the seconds are of.
void WriteJson(const GpuPairReport& report, std::ostream& out) {
  const auto& pair = report.pair;
  json written = {{"device", "gpu"},
                  {"times", Key(pair.times)},
                  {"per_step", pair.times == PairedTimes::kSteps},
                  {"a", ToJson(pair.a, report.a)},
                  {"b", ToJson(pair.b, report.b)},
                  {"differences", pair.differences},
                  {"remarks", pair.remarks},
                  {"kinds", json::array()},
                  {"both", RowsJson(pair.rows, pair.times)},
                  {"a_alone", RowsJson(pair.only_a, pair.times)},
                  {"b_alone", RowsJson(pair.only_b, pair.times)}};
  for (const auto& row : pair.kinds)
    written["kinds"].push_back(
        {{"kind", Key(row.kind)}, {"a", ToJson(row.a)}, {"b", ToJson(row.b)}});
  out << written.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

std::string SideFields(const KernelSide& side) {
  if (side.uses.empty()) return ",,,,";
  std::vector<std::string> sizes, records;
  for (const auto* use : side.uses) {
    sizes.push_back(fmt::format("{}/{}", SizeText(use->grid), SizeText(use->block)));
    if (!use->record.empty()) records.push_back(use->record);
  }
  return fmt::format("{},{},{},{},{}", side.sum.launches, side.sum.seconds,
                     side.roof_share ? formats::NumberField(side.roof_share->value) : "",
                     formats::CsvText(fmt::format("{}", fmt::join(sizes, " + "))),
                     formats::CsvText(fmt::format("{}", fmt::join(records, " + "))));
}

// Writes a line per kernel's name. Times are rounded nowhere.
void WriteCsv(const GpuPairReport& report, std::ostream& out) {
  out << "kernel,kind,a_launches,a_seconds,a_roof_share,a_grids_and_blocks,a_records,b_launches,"
         "b_seconds,b_roof_share,b_grids_and_blocks,b_records,b_over_a,differences\n";
  for (const auto* rows : {&report.pair.rows, &report.pair.only_a, &report.pair.only_b})
    for (const auto& row : *rows) {
      const bool both = !row.a.uses.empty() && !row.b.uses.empty();
      fmt::print(out, "{},{},{},{},{},{}\n", formats::CsvText(row.name), Key(row.kind),
                 SideFields(row.a), SideFields(row.b),
                 formats::NumberField(both ? RatioOf(row.a.sum, row.b.sum) : std::nullopt),
                 formats::CsvText(fmt::format("{}", fmt::join(row.differences, "; "))));
    }
}

void WriteTable(const GpuPairReport& report, std::ostream& out) {
  document::Write(GpuPairDocument(report, false), text::TerminalColumns(), out);
}

void WriteMarkdownBlock(const document::Table& table, std::ostream& out) {
  formats::Cells cells = {table.columns};
  for (const auto* rows : {&table.rows, &table.last})
    for (const auto& row : *rows) {
      auto& texts = cells.emplace_back();
      for (const auto& cell : row) texts.push_back(cell.text);
    }
  out << '\n';
  formats::WriteMarkdownTable(cells, out);
  if (!table.notes.empty()) out << '\n';
  for (const auto& note : table.notes) formats::WriteMarkdownItem("-", note, out);
}

// Writes the same sentences and tables with all kernels.
void WriteMarkdown(const GpuPairReport& report, std::ostream& out) {
  bool after_table = false;
  for (const auto& block : GpuPairDocument(report, true).blocks) {
    const auto* table = std::get_if<document::Table>(&block);
    if (table == nullptr && after_table) out << '\n';
    if (const auto* sentences = std::get_if<document::Sentences>(&block))
      for (const auto& text : sentences->texts) formats::WriteMarkdownItem("-", text, out);
    if (table != nullptr) WriteMarkdownBlock(*table, out);
    after_table = table != nullptr;
  }
}

}  // namespace

const std::vector<GpuPairWriter>& GpuPairWriters() {
  static const std::vector<GpuPairWriter> writers = {
      {"table", WriteTable}, {"markdown", WriteMarkdown}, {"json", WriteJson}, {"csv", WriteCsv}};
  return writers;
}

}  // namespace dlroof::programs
