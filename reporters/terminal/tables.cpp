#include "reporters/terminal/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "reporters/roofline/chart.h"
#include "reporters/terminal/ceilings_table.h"
#include "reporters/text/json_access.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

// The lowest of a record's roofs is the one that binds; its entry, null where nothing is placed.
const json& BindingEntry(const json& record) {
  static const json null;
  const json* binding = &null;
  const auto& entries = Member(record, "classic");
  if (!entries.is_array()) return null;
  for (const auto& entry : entries) {
    const auto roof = Number(entry, "roof");
    if (roof && (binding->is_null() || *roof <= *Number(*binding, "roof"))) binding = &entry;
  }
  return *binding;
}

std::string SpreadText(const json& seconds) {
  const auto median = Positive(seconds, "median");
  const auto& ci95 = Member(seconds, "ci95");
  if (!median || !ci95.is_array() || ci95.size() != 2 || !ci95[0].is_number() ||
      !ci95[1].is_number())
    return "";
  const double half = std::max(*median - ci95[0].get<double>(), ci95[1].get<double>() - *median);
  return fmt::format("{:.1f} %", 100 * half / *median);
}

std::string BoundText(const json& time) {
  const auto bound = Text(time, "bound");
  return bound == "memory" ? Printable(LevelName(Text(time, "bound_level"))) : Printable(bound);
}

std::string Rendered(std::optional<double> value, std::string_view unit) {
  return value ? WithPrefix(*value, unit) : "";
}

std::string PercentText(double fraction) {
  return fmt::format("{:.{}f}", 100 * fraction, fraction < 0.0995 ? 2 : 1);
}

Row RecordRow(const json& record) {
  const auto& entry = BindingEntry(record);
  const auto& time = Member(record, "time");
  const auto intensity = Number(entry, "intensity");
  const auto gap = Number(time, "gap");
  const auto fraction = gap ? Number(entry, "fraction") : std::nullopt;  // else another may bind
  return {Printable(Text(record, "name")),
          Rendered(Number(Member(record, "seconds"), "median"), "s"),
          SpreadText(Member(record, "seconds")),
          Rendered(Number(entry, "flops_per_second"), "FLOP/s"),
          intensity ? ThreeDigits(*intensity) : "",
          entry.is_null() ? "" : Printable(LevelName(Text(entry, "level"))),
          fraction ? PercentText(*fraction) : "",
          BoundText(time),
          gap ? ThreeDigits(*gap) + "x" : ""};
}

// Why a record has no time, and what is to be said of one that has: text -> names, in order of
// appearance.
using Notes = std::vector<std::pair<std::string, std::vector<std::string>>>;

void AddNote(const std::string& text, const json& record, Notes& notes) {
  if (text.empty()) return;
  const auto found = std::find_if(notes.begin(), notes.end(),
                                  [&](const auto& note) { return note.first == text; });
  auto& note = found == notes.end() ? notes.emplace_back(text, std::vector<std::string>()) : *found;
  note.second.push_back(Text(record, "name"));
}

void WriteNotes(std::string_view title, const Notes& notes, std::ostream& out) {
  if (notes.empty()) return;
  out << '\n' << title << '\n';
  for (const auto& [text, names] : notes) {
    out << "  " << Printable(names.front());
    if (names.size() > 1) out << " and " << names.size() - 1 << " more";
    out << "\n    " << Printable(text) << '\n';
  }
}

void WriteRecords(const json& run_file, int width, std::ostream& out) {
  std::vector<Row> rows = {
      {"benchmark", "time", "±", "FLOP/s", "FLOP/byte", "of", "% roof", "bound", "gap"}};
  Notes missing, remarks;
  const auto& records = Member(run_file, "records");
  if (records.is_array()) {
    for (const auto& record : records) {
      const auto status = Text(record, "status"), reason = Text(record, "reason");
      const bool timed = Number(Member(record, "seconds"), "median").has_value();
      if (timed) rows.push_back(RecordRow(record));
      if (status != "ok" || !timed)
        AddNote((status == "ok" ? "no time" : status) + ": " +
                    (reason.empty() ? "no reason given" : reason),
                record, missing);
      const auto& texts = Member(record, "remarks");
      if (!texts.is_array()) continue;
      for (const auto& text : texts)
        if (text.is_string()) AddNote(text.get<std::string>(), record, remarks);
    }
  }
  if (rows.size() > 1) WriteAligned(rows, width, out);
  WriteNotes("not measured", missing, out);
  WriteNotes("remarks", remarks, out);
}

// "resnet50 Conv2D/cpu/onednn/fwd/f32": the suite, and what its layers' names share.
std::string ModelName(const json& model) {
  std::string name = Text(model, "suite");
  char between = ' ';
  const auto add = [&](const std::string& part) {
    if (!part.empty()) name += std::exchange(between, '/') + part;
  };
  for (const char* key : {"op", "device", "library", "direction", "type"}) add(Text(model, key));
  const auto& options = Member(model, "options");
  if (options.is_array())
    for (const auto& option : options)
      if (option.is_string()) add(option.get<std::string>());
  return Printable(name);
}

// "53", or "40 of 53" when some have no time.
std::string PartText(const json& part) {
  const auto measured = Number(part, "measured"), total = Number(part, "total");
  if (!measured || !total) return "";
  if (*measured == *total) return fmt::format("{:.0f}", *total);
  return fmt::format("{:.0f} of {:.0f}", *measured, *total);
}

Row ModelRow(const json& model) {
  const auto& roof = Member(model, "roof");
  const auto fraction = Number(roof, "fraction"), placed = Number(roof, "layers");
  std::string roof_text = fraction ? PercentText(*fraction) : "";
  if (placed && placed != Number(Member(model, "layers"), "measured"))
    roof_text += fmt::format(" ({:.0f} layer{})", *placed, *placed == 1 ? "" : "s");
  return {ModelName(model),
          PartText(Member(model, "layers")),
          PartText(Member(model, "calls")),
          Rendered(Number(model, "seconds"), "s"),
          Rendered(Number(model, "flops"), "FLOP"),
          Rendered(Number(model, "flops_per_second"), "FLOP/s"),
          roof_text};
}

// The layers that lose most time; `any`: whether the title stands already.
void WriteFixFirst(const json& model, bool& any, std::ostream& out) {
  const auto& layers = Member(model, "fix_first");
  if (!layers.is_array() || layers.empty()) return;
  if (!std::exchange(any, true)) out << "\nfix first (time above the roof x occurrences)\n";
  out << "  " << ModelName(model) << '\n';
  for (const auto& layer : layers) {
    const auto share = Number(layer, "share"), count = Number(layer, "count");
    out << fmt::format(
        "    {} % of the time, {} of it above the roof: {}{}\n", share ? PercentText(*share) : "?",
        Rendered(Number(layer, "above_roof_seconds"), "s"), Printable(Text(layer, "name")),
        count ? fmt::format(" x{:.0f}", *count) : "");
  }
}

// Kernels without FLOPs stand on no roof: how many, and their share of the time.
void WriteCensus(const json& census, int width, std::ostream& out) {
  if (!census.is_array() || census.empty()) return;
  std::vector<Row> rows = {{"kernels without FLOPs", "names", "launches", "of launches", "of time",
                            "time of all", "FLOP", "by matrix units", "FLOP/s"}};
  const auto percent = [](const json& of, const char* key) {
    const auto share = Number(of, key);
    return share ? PercentText(*share) + " %" : "";
  };
  const auto count = [](const json& of, const char* key) {
    const auto number = Number(of, key);
    return number ? fmt::format("{:.0f}", *number) : "";
  };
  for (const json& one : census) {
    const auto set = Text(one, "set");
    rows.push_back({set.empty() ? "all" : Printable(set), count(one, "zero_flop_kernels"),
                    count(one, "zero_flop_launches"), percent(one, "zero_flop_launch_share"),
                    percent(one, "zero_flop_time_share"), Rendered(Number(one, "seconds"), "s"),
                    Rendered(Number(one, "flops"), "FLOP"), percent(one, "matrix_share"),
                    Rendered(Number(one, "flops_per_second"), "FLOP/s")});
  }
  out << '\n';
  WriteAligned(rows, width, out);
}

}  // namespace

void WriteModels(const json& models, int width, std::ostream& out) {
  if (!models.is_array() || models.empty()) return;
  std::vector<Row> rows = {{"model", "layers", "calls", "time", "FLOP", "FLOP/s", "% roof"}};
  for (const auto& model : models) rows.push_back(ModelRow(model));
  out << '\n';
  WriteAligned(rows, width, out);
  bool any = false;
  for (const auto& model : models) WriteFixFirst(model, any, out);
}

void WriteTables(const json& run_file, int width, std::ostream& out) {
  WriteRecords(run_file, width, out);
  WriteModels(Member(run_file, "models"), width, out);
  WriteCensus(Member(run_file, "census"), width, out);
  WriteCeilings(run_file, width, out);
}

}  // namespace dlroof
