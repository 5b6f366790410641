#include "reporters/terminal/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "reporters/record/estimate.h"
#include "reporters/record/kernels.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::terminal {
namespace {

using Row = std::vector<std::string>;

std::string Rendered(std::optional<double> value, std::string_view unit) {
  return value ? text::WithPrefix(*value, unit) : "";
}

Row RecordRow(const record::Record& record, const roofline::Placed& placed,
              const roofline::PlaceView& view) {
  const record::Timing& timing = *placed.timing;
  const auto& time = placed.placement.time;
  const auto rate = roofline::WorkRateOf(record, timing, view);
  const auto mark = roofline::MarkOf(timing.noisy);
  const auto& bandwidth = placed.placement.bandwidth;
  return {text::Printable(record.name),
          fmt::format("{}{}", mark, text::WithPrefix(timing.median, "s")),
          roofline::SpreadText(timing),
          rate        ? text::WithPrefix(rate->flops_per_second, "FLOP/s")
          : bandwidth ? text::WithPrefix(bandwidth->bytes_per_second, "B/s")
                      : "",
          IntensityText(rate),
          RoofShareText(roofline::RoofShareOf(placed.placement), timing.noisy),
          time        ? fmt::format("{}{}", mark, roofline::BoundText(*time))
          : bandwidth ? roofline::BoundText(*bandwidth)
                      : "",
          time ? roofline::TimesOverRoofText(*time) : ""};
}

// Returns whether the record has times of a GPU beside `seconds`.
bool HasGpuTimes(const record::Record& record) {
  return record::SampleMedian(record, &record::GpuSample::graph_seconds) ||
         record::SampleMedian(record, &record::GpuSample::call_seconds);
}

// Appends the time with the launch and the time in a CUDA graph.
void AddGpuTimes(const record::Record& record, const record::Timing& timing, Row& row) {
  auto call = record::SampleMedian(record, &record::GpuSample::call_seconds);
  if (record.timed == record::timed::kCall) call = timing.median;
  row.push_back(Rendered(call, "s"));
  row.push_back(Rendered(record::SampleMedian(record, &record::GpuSample::graph_seconds), "s"));
}

// Says what the times of GPU calls are, and how long an empty kernel takes beside short ones.
void WriteGpuTimesMeaning(const roofline::PlacedRun& run, std::ostream& out) {
  constexpr double kShort = 10e-6;  // [s]
  bool device = false;
  std::optional<double> empty;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& record = run.file.records[i];
    if (record.timed != record::timed::kDevice || !run.places[i].timing) continue;
    device = true;
    if (run.places[i].timing->median < kShort && !empty)
      empty = record::SampleMedian(record, &record::GpuSample::empty_seconds);
  }
  if (!device) return;
  out << "time: of a queued call, by the GPU's clock; call: with its launch, on an idle GPU; "
         "graph: "
         "replayed in a CUDA graph\n";
  if (empty)
    out << fmt::format("an empty kernel takes {} in the column time\n",
                       text::WithPrefix(*empty, "s"));
}

// Texts, each with the records that it is about, in order of appearance.
using Notes = std::vector<std::pair<std::string, std::vector<const record::Record*>>>;

void AddNote(const std::string& text, const record::Record& record, Notes& notes) {
  if (text.empty()) return;
  const auto found = std::ranges::find(notes, text, &Notes::value_type::first);
  auto& note =
      found == notes.end() ? notes.emplace_back(text, Notes::value_type::second_type()) : *found;
  note.second.push_back(&record);
}

void WriteNotes(std::string_view title, const Notes& notes, bool full_names, std::ostream& out) {
  if (notes.empty()) return;
  out << '\n' << title << '\n';
  for (const auto& [text, records] : notes) {
    out << "  " << NameInTerminal(*records.front(), full_names);
    if (records.size() > 1) out << " and " << records.size() - 1 << " more";
    out << "\n    " << text::Printable(text) << '\n';
  }
}

// Returns "bf16, f16: 36 benchmarks", or the name of a single benchmark.
std::string CountText(const std::vector<const record::Record*>& records) {
  if (records.size() == 1) return text::Printable(records.front()->name);
  std::set<std::string> types;
  for (const auto* record : records)
    if (!record->type.empty()) types.insert(text::Printable(record->type));
  return fmt::format("{}{}{} benchmarks", fmt::join(types, ", "), types.empty() ? "" : ": ",
                     records.size());
}

// Writes a line for each reason, and with `verbose` one for each benchmark.
void WriteReasons(std::string_view title, const Notes& notes, bool verbose, std::ostream& out) {
  if (notes.empty()) return;
  out << '\n' << title << '\n';
  for (const auto& [text, records] : notes) {
    out << fmt::format("  {}, {}\n", CountText(records), text::Printable(text));
    if (!verbose || records.size() == 1) continue;
    for (const auto* record : records) out << "    " << text::Printable(record->name) << '\n';
  }
}

// Returns the reasons why records have no time.
Notes Missing(const std::vector<record::Record>& records) {
  Notes missing;
  for (const auto& record : records)
    if (!record::TimeOf(record.repetitions) || record.status != record::Status::kOk)
      AddNote(
          fmt::format("{}: {}",
                      record.status == record::Status::kOk ? "no time" : record::Key(record.status),
                      record.reason.empty() ? "no reason stored" : record.reason),
          record, missing);
  return missing;
}

// Writes why shares of a roof are limits: a line for each ceiling.
void WriteLimits(const roofline::PlacedRun& run, std::ostream& out) {
  Notes limits;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    for (const auto& [ceiling, reason] : run.places[i].placement.uncertain)
      AddNote(fmt::format("{} is not validated: {}", ceiling, reason), run.file.records[i], limits);
  WriteReasons(
      fmt::format("{} (when the machine is quiet, dlroof machine --remeasure measures it again)",
                  roofline::kLimitMeaning),
      limits, false, out);
}

void WriteRecords(const roofline::PlacedRun& run, int width, const TableOptions& options,
                  std::ostream& out) {
  std::vector<Row> rows = {
      {"benchmark", "time", "±", "FLOP/s", "FLOP/byte", "% roof", "bound", "x roof"}};
  const bool gpu_times = std::ranges::any_of(run.file.records, HasGpuTimes);
  if (gpu_times) rows.front().insert(rows.front().end(), {"call", "graph"});
  Notes remarks;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const record::Record& record = run.file.records[i];
    if (run.places[i].timing && !record::IsKernelSum(record)) {
      rows.push_back(RecordRow(record, run.places[i], run.view));
      if (gpu_times) AddGpuTimes(record, *run.places[i].timing, rows.back());
    }
    for (const auto& remark : run.places[i].placement.remarks) AddNote(remark, record, remarks);
    if (!options.verbose) continue;
    for (const auto& aside : run.places[i].placement.asides) AddNote(aside, record, remarks);
  }
  if (rows.size() > 1) text::WriteAligned(rows, width, out);
  WriteSpreadMeaning(run, out);
  WriteGpuTimesMeaning(run, out);
  WriteKernels(run, width, out, options.full_names);
  if (std::ranges::any_of(run.places, [](const roofline::Placed& placed) {
        return placed.timing && placed.timing->noisy;
      }))
    out << roofline::kNoisyMeaning << '\n';
  WriteEstimates(run, out, options.full_names);
  WriteReasons("not measured", Missing(run.file.records), options.verbose, out);
  WriteLimits(run, out);
  WriteNotes("remarks", remarks, options.full_names, out);
}

// Returns "resnet50 Conv2D/cpu/onednn/fwd/f32": the suite and the parts that its layers' names
// share.
std::string ModelName(const roofline::ModelSummary& model) {
  std::string name = model.suite;
  char between = ' ';
  const auto add = [&](const std::string& part) {
    if (!part.empty()) name += std::exchange(between, '/') + part;
  };
  for (const auto* part : {&model.op, &model.device, &model.library, &model.direction, &model.type})
    add(*part);
  for (const auto& option : model.options) add(option);
  return text::Printable(name);
}

// Returns "53", or "40 of 53" if some have no time.
std::string CountOfText(double measured, double total) {
  if (measured == total) return fmt::format("{:.0f}", total);
  return fmt::format("{:.0f} of {:.0f}", measured, total);
}

Row ModelRow(const roofline::ModelSummary& model) {
  const auto mark = roofline::MarkOf(model.noisy);
  std::string roof;
  if (model.roof_fraction)
    roof = roofline::RoofShareText(roofline::RoofShare{*model.roof_fraction, model.roof_at_most},
                                   model.noisy);
  if (model.roof_fraction && model.layers_placed != model.layers_measured)
    roof += fmt::format(" ({} layer{})", model.layers_placed, model.layers_placed == 1 ? "" : "s");
  if (model.roof_specified) roof += " (specified)";
  return {ModelName(model),
          CountOfText(model.layers_measured, model.layers_total),
          CountOfText(model.calls_measured, model.calls_total),
          fmt::format("{}{}", mark, Rendered(model.seconds, "s")),
          Rendered(model.flops, "FLOP"),
          Rendered(model.flops_per_second, "FLOP/s"),
          roof};
}

void WriteZeroFlopKernels(const std::vector<roofline::ZeroFlopSummary>& zero_flop_kernels,
                          int width, std::ostream& out) {
  if (zero_flop_kernels.empty()) return;
  std::vector<Row> rows = {{"zero-FLOP kernels", "names", "launches", "of launches", "of time",
                            "time of all", "FLOP", "by matrix units", "FLOP/s"}};
  const auto percent = [](std::optional<double> share) {
    return share ? text::PercentText(*share) : "";
  };
  for (const roofline::ZeroFlopSummary& one : zero_flop_kernels)
    rows.push_back({one.set.empty() ? "all" : text::Printable(one.set),
                    std::to_string(one.zero_flop_kernels),
                    one.zero_flop_launches ? fmt::format("{:.0f}", *one.zero_flop_launches) : "",
                    percent(roofline::ZeroFlopLaunchShare(one)),
                    percent(roofline::ZeroFlopTimeShare(one)), text::WithPrefix(one.seconds, "s"),
                    text::WithPrefix(one.flops, "FLOP"), percent(roofline::MatrixShare(one)),
                    text::WithPrefix(roofline::FlopsPerSecond(one), "FLOP/s")});
  out << '\n';
  text::WriteAligned(rows, width, out);
}

// Returns half the width of the interval divided by `joules`, in percent.
std::string EnergySpreadText(const std::optional<std::pair<double, double>>& ci95, double joules) {
  if (!ci95) return "";
  return text::PercentText((ci95->second - ci95->first) / 2 / joules);
}

std::optional<double> FlopsPer(double joules, const record::Record& record) {
  const auto flops = roofline::BestKnownFlops(record);
  if (!flops || !(*flops > 0)) return std::nullopt;
  return *flops / joules;
}

// Returns "package-0 12.3 J, psys 15.0 J (not added)".
std::string DomainsText(const energy::Energy& energy) {
  std::string text;
  const auto add = [&](const auto& domains, std::string_view mark) {
    for (const auto& [name, joules] : domains)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", text::Printable(name),
                          text::WithPrefix(joules, "J"), mark);
  };
  add(energy.domains, "");
  add(energy.beside, " (not added)");
  return text;
}

std::vector<std::string> EnergyRow(const record::Record& record, const energy::Energy& energy) {
  const auto rate = FlopsPerJoule(record);
  const auto mark = roofline::MarkOf(energy::HasOthersEnergy(energy));
  return {text::Printable(record.name),
          fmt::format("{}{}", mark, text::WithPrefix(energy.joules, "J")),
          EnergySpreadText(energy.ci95, energy.joules),
          rate ? fmt::format("{}{}", mark, text::WithPrefix(*rate, "FLOP/J")) : "",
          fmt::format("{}{}", mark, text::WithPrefix(energy.joules / energy.seconds, "W")),
          DomainsText(energy)};
}

// Writes the table of energies from counters.
void WriteCounted(const std::vector<record::Record>& records, int width, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {
      {"energy of a call", "energy", "±", "FLOP/J", "power", "by domain"}};
  std::set<std::string> sources;
  for (const auto& record : records) {
    if (!record.energy) continue;
    rows.push_back(EnergyRow(record, *record.energy));
    sources.insert(fmt::format("{}: {}", record.energy->from, record.energy->covers));
  }
  if (rows.size() == 1) return;
  text::WriteAligned(rows, width, out);
  const bool noisy = std::ranges::any_of(records, [](const record::Record& record) {
    return record.energy && energy::HasOthersEnergy(*record.energy);
  });
  if (noisy) out << "  ~ other programs used the CPUs meanwhile: their energy is included\n";
  for (const auto& source : sources) out << "  by " << text::Printable(source) << '\n';
}

}  // namespace

void WriteModels(const std::vector<roofline::ModelSummary>& models, int width, std::ostream& out) {
  if (models.empty()) return;
  std::vector<Row> rows = {{"model", "layers", "calls", "time", "FLOP", "FLOP/s", "% roof"}};
  for (const auto& model : models) rows.push_back(ModelRow(model));
  out << '\n';
  text::WriteAligned(rows, width, out);
}

void WriteSpreadMeaning(const roofline::PlacedRun& run, std::ostream& out) {
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (const auto& timing = run.places[i].timing;
        timing && !timing->ci95 && !record::IsKernelSum(run.file.records[i])) {
      out << roofline::kSpreadMeaning << '\n';
      return;
    }
}

void WriteEstimates(const roofline::PlacedRun& run, std::ostream& out, bool full_names) {
  bool any = false;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& timing = run.places[i].timing;
    const auto text =
        timing ? record::EstimateText(run.file.records[i].repetitions, *timing) : std::string();
    if (text.empty()) continue;
    if (!std::exchange(any, true)) out << "\nestimates below every repetition\n";
    out << fmt::format("  {}\n    {}\n", NameInTerminal(run.file.records[i], full_names), text);
  }
}

void WriteHeuristics(const std::vector<record::Record>& records, std::ostream& out) {
  for (const auto& summary : roofline::SummarizeHeuristics(records))
    out << fmt::format("\n{}\n", text::Printable(roofline::HeuristicText(summary)));
}

void WriteTables(const roofline::PlacedRun& run, int width, std::ostream& out,
                 const TableOptions& options) {
  WriteRecords(run, width, options, out);
  WriteEnergy(run.file.records, width, out);
  WriteModels(run.models, width, out);
  WriteHeuristics(run.file.records, out);
  WriteZeroFlopKernels(run.zero_flop_kernels, width, out);
  WriteCeilings(run.file.machines, width, out, options.verbose);
  WriteOpportunities(run, out, options.full_names);
}

void WriteUnsupported(const std::vector<record::Record>& records, std::ostream& out, bool verbose) {
  Notes missing;
  for (const auto& record : records)
    if (record.status == record::Status::kUnsupported) AddNote(record.reason, record, missing);
  WriteReasons("unsupported", missing, verbose, out);
}

void WriteCaveats(const roofline::PlacedRun& run, std::ostream& out) {
  WriteLimits(run, out);
  Notes missing;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    for (const auto& [ceiling, reason] : run.places[i].placement.unusable)
      AddNote(fmt::format("{} may be wrong by any factor: {}", ceiling, reason),
              run.file.records[i], missing);
  WriteReasons("placed under other roofs only, or not at all, because a ceiling failed its checks",
               missing, false, out);
}

void WriteOpportunities(const roofline::PlacedRun& run, std::ostream& out, bool full_names) {
  const auto opportunities = roofline::Opportunities(run);
  if (!opportunities.empty()) out << "\nmost time above the roof (all occurrences)\n";
  for (const auto& [index, count, seconds, above, at_least] : opportunities) {
    const auto& [timing, placement, breakdown] = run.places[index];
    const auto mark = roofline::MarkOf(timing->noisy);
    out << fmt::format("  {}{}: {}{}{} of {}{}, bound by {}, {} its roof\n",
                       NameInTerminal(run.file.records[index], full_names),
                       count > 1 ? fmt::format(" x{:.0f}", count) : "",
                       roofline::AtLeastMark(at_least), mark, text::WithPrefix(above, "s"), mark,
                       text::WithPrefix(seconds, "s"), roofline::BoundText(*placement.time),
                       roofline::TimesOverRoofText(*placement.time));
    if (!placement.advice.empty()) out << "    " << text::Printable(placement.advice) << '\n';
  }
}

std::optional<double> FlopsPerJoule(const record::Record& record) {
  return record.energy ? FlopsPer(record.energy->joules, record) : std::nullopt;
}

void WriteEnergy(const std::vector<record::Record>& records, int width, std::ostream& out) {
  std::map<std::string, std::vector<const record::Record*>> missing;
  for (const auto& record : records)
    for (const auto& note : record.counting)
      if (note.source == "energy") missing[note.text].push_back(&record);
  const bool any = std::ranges::any_of(
      records, [](const record::Record& record) { return record.energy.has_value(); });
  if (!any && missing.empty()) return;
  out << '\n';
  WriteCounted(records, width, out);
  for (const auto& [reason, records_without] : missing) {
    out << "  energy of " << text::Printable(records_without.front()->name);
    if (records_without.size() > 1) out << " and " << records_without.size() - 1 << " more";
    out << ' ' << text::Printable(reason) << '\n';
  }
}

}  // namespace dlroof::terminal
