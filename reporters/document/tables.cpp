#include "reporters/document/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reporters/record/run_file.h"
#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::document {
namespace {

using Row = Table::Row;

std::string Rendered(std::optional<double> value, std::string_view unit) {
  return value ? text::WithPrefix(*value, unit) : "";
}

// Returns the record's name. A kernel's name lacks the program and, unless `full_names`, is
// shortened (text::ShortKernelName), so several kernels may have the same.
std::string ShownName(const record::Record& record, bool full_names) {
  if (!record::IsKernelSum(record)) return record.name;
  const auto kernel = record::KernelNameOf(record).kernel;
  return full_names ? text::RepairedKernelName(kernel) : text::ShortKernelName(kernel);
}

// Returns the memory level for the column FLOP/byte: DRAM or, if no benchmark has DRAM bytes, the
// farthest level for which a benchmark has bytes. Returns nullopt if no benchmark has bytes.
std::optional<Level> IntensityLevel(const roofline::PlacedRun& run) {
  std::optional<Level> level;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    if (!run.places[i].timing) continue;
    const auto rate = WorkRateOf(run.file.records[i], *run.places[i].timing, run.view);
    if (!rate || !rate->level) continue;
    if (rate->level == Level::kDram) return rate->level;
    level = std::max(level, rate->level);
  }
  return level;
}

std::string IntensityHeading(const std::optional<Level>& level) {
  return level ? "FLOP/B " + roofline::LevelName(Key(*level)) : "FLOP/B";
}

// Appends the cells % roof, bound, x roof, FLOP/s or B/s, and FLOP/byte.
void AddPlace(const record::Record& record, const roofline::Placed& placed,
              const roofline::PlaceView& view, const std::optional<Level>& level, Row& row) {
  const auto& [timing, placement, breakdown] = placed;
  const auto rate = roofline::WorkRateOf(record, *timing, view);
  const auto& time = placement.time;
  const auto& bandwidth = placement.bandwidth;
  row.emplace_back(RoofShareText(roofline::RoofShareOf(placement), timing->noisy));
  row.emplace_back(time        ? roofline::BoundText(*time)
                   : bandwidth ? roofline::BoundText(*bandwidth)
                               : "");
  row.emplace_back(time ? roofline::TimesOverRoofText(*time, timing->noisy) : "");
  row.emplace_back(rate        ? text::WithPrefix(rate->flops_per_second, "FLOP/s")
                   : bandwidth ? text::WithPrefix(bandwidth->bytes_per_second, "B/s")
                               : "");
  row.emplace_back(
      rate && rate->intensity && rate->level == level ? text::ThreeDigits(*rate->intensity) : "");
}

// Returns whether the record has GPU times in addition to `seconds`.
bool HasGpuTimes(const record::Record& record) {
  return record::SampleMedian(record, &record::GpuSample::graph_seconds) ||
         record::SampleMedian(record, &record::GpuSample::call_seconds);
}

// Appends the times of a call with its launch, a queued call, and (older files) a call in a graph.
void AddGpuTimes(const record::Record& record, const record::Timing& timing, Row& row) {
  auto call = record::SampleMedian(record, &record::GpuSample::call_seconds);
  if (record.timed == record::timed::kCall) call = timing.median;
  row.emplace_back(Rendered(call, "s"));
  for (const auto field : {&record::GpuSample::queued_seconds, &record::GpuSample::graph_seconds})
    row.emplace_back(Rendered(record::SampleMedian(record, field), "s"));
}

void AddGpuTimesMeaning(const roofline::PlacedRun& run, std::vector<std::string>& notes) {
  constexpr std::pair<const char*, const char*> kKinds[] = {
      {record::timed::kGraph, "calls that follow each other in a CUDA graph"},
      {record::timed::kThroughput, "calls that follow each other"},
      {record::timed::kDevice, "queued calls, with two events"}};
  std::vector<std::string> texts;
  for (const auto& [kind, text] : kKinds)
    if (std::ranges::count(run.file.records, kind, &record::Record::timed) > 0)
      texts.emplace_back(text);
  if (!texts.empty())
    notes.push_back(fmt::format("time: of {}; call: with its launch, on an idle GPU",
                                fmt::join(texts, ", or of ")));
}

using Notes = text::InOrder<std::vector<const record::Record*>>;

void AddNote(const std::string& text, const record::Record& record, Notes& notes) {
  if (!text.empty()) notes[text].push_back(&record);
}

List NotesList(std::string title, const Notes& notes, bool full_names) {
  List list{.title = std::move(title)};
  for (const auto& [text, records] : notes.all)
    list.items.push_back(
        {AndMore(ShownName(*records.front(), full_names), records.size()), {text}});
  return list;
}

// Returns e.g. "bf16, f16: 36 benchmarks", or the name of a single benchmark.
std::string CountText(const std::vector<const record::Record*>& records) {
  if (records.size() == 1) return records.front()->name;
  std::set<std::string> types;
  for (const auto* record : records)
    if (!record->type.empty()) types.insert(record->type);
  return fmt::format("{}{}{} benchmarks", fmt::join(types, ", "), types.empty() ? "" : ": ",
                     records.size());
}

List ReasonsList(std::string title, const Notes& notes, bool verbose) {
  List list{.title = std::move(title)};
  for (const auto& [text, records] : notes.all) {
    auto& item =
        list.items.emplace_back(List::Item{fmt::format("{}, {}", CountText(records), text)});
    if (!verbose || records.size() == 1) continue;
    for (const auto* record : records) item.details.push_back(record->name);
  }
  return list;
}

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

// Returns a line per ceiling and reason that makes shares of the roof upper limits.
List LimitsList(const roofline::PlacedRun& run) {
  Notes limits;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    for (const auto& [ceiling, reason] : run.places[i].placement.uncertain)
      AddNote(fmt::format("{} is not validated: {}", ceiling, reason), run.file.records[i], limits);
  return ReasonsList(
      fmt::format("{} (when the machine is quiet, dlroof machine --remeasure measures it again)",
                  roofline::kLimitMeaning),
      limits, false);
}

// Returns the EstimateText of each record whose estimate is below the times of all repetitions.
List EstimatesList(const roofline::PlacedRun& run, bool full_names) {
  List list{.title = "estimates below every repetition"};
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& timing = run.places[i].timing;
    const auto text =
        timing ? record::EstimateText(run.file.records[i].repetitions, *timing) : std::string();
    if (!text.empty()) list.items.push_back({ShownName(run.file.records[i], full_names), {text}});
  }
  return list;
}

// Returns a sentence with the number of estimated times, why, and what to do; "" without estimates.
std::string NoiseSentence(const roofline::PlacedRun& run) {
  int estimates = 0, times = 0;
  for (const auto& placed : run.places) {
    times += placed.timing ? 1 : 0;
    estimates += placed.timing && placed.timing->noisy ? 1 : 0;
  }
  if (estimates == 0) return "";
  const auto reason = record::NoiseText(run.file.records);
  return fmt::format("{} ({} of {} times){}{}", record::kEstimateMeaning, estimates, times,
                     reason.empty() ? "" : ": ", reason);
}

Table RecordsTable(const roofline::PlacedRun& run) {
  constexpr std::size_t kRate = 6, kIntensity = 7;
  const auto level = IntensityLevel(run);
  Table table{.columns = {"benchmark", "time", "±", "% roof", "bound", "x roof", "FLOP/s",
                          IntensityHeading(level)},
              .droppable = {kIntensity, kRate}};
  const bool gpu_times = std::ranges::any_of(run.file.records, HasGpuTimes);
  if (gpu_times) table.columns.insert(table.columns.end(), {"call", "queued", "graph"});
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& record = run.file.records[i];
    if (!run.places[i].timing || record::IsKernelSum(record)) continue;
    table.rows.push_back(ResultRow(record, run.places[i], run.view, level));
    if (gpu_times) AddGpuTimes(record, *run.places[i].timing, table.rows.back());
  }
  if (HasShortSpread(run)) table.notes.emplace_back(roofline::kSpreadMeaning);
  AddGpuTimesMeaning(run, table.notes);
  if (auto noise = NoiseSentence(run); !noise.empty()) table.notes.push_back(std::move(noise));
  table.DropEmptyColumns();
  return table;
}

List RemarksList(const roofline::PlacedRun& run, const TableOptions& options) {
  Notes remarks;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& placement = run.places[i].placement;
    for (const auto& remark : placement.remarks) AddNote(remark, run.file.records[i], remarks);
    if (!options.verbose) continue;
    for (const auto& aside : placement.asides) AddNote(aside, run.file.records[i], remarks);
  }
  return NotesList("remarks", remarks, options.full_names);
}

// Returns the suite and what its layers' names share, e.g. "resnet50 Conv2D/cpu/onednn/fwd/f32".
std::string ModelName(const roofline::ModelSummary& model) {
  std::string name = model.suite;
  char between = ' ';
  const auto add = [&](const std::string& part) {
    if (!part.empty()) name += std::exchange(between, '/') + part;
  };
  const auto& parts = model.parts;
  for (const auto* part : {&parts.op, &parts.device, &parts.library, &parts.direction, &parts.type})
    add(*part);
  for (const auto& option : parts.options) add(option);
  return name;
}

// Returns e.g. "53", or "40 of 53" if only 40 were measured.
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

Table ZeroFlopTable(const std::vector<roofline::ZeroFlopSummary>& sets) {
  Table table{.columns = {"zero-FLOP kernels", "names", "launches", "of launches", "of time",
                          "time of all", "FLOP", "by matrix units", "FLOP/s"}};
  const auto percent = [](std::optional<double> share) {
    return share ? text::PercentText(*share) : "";
  };
  for (const auto& set : sets)
    table.rows.push_back(
        {set.set.empty() ? "all" : set.set, std::to_string(set.zero_flop_kernels),
         set.zero_flop_launches ? fmt::format("{:.0f}", *set.zero_flop_launches) : "",
         percent(set.ZeroFlopLaunchShare()), percent(set.ZeroFlopTimeShare()),
         text::WithPrefix(set.seconds, "s"), text::WithPrefix(set.flops, "FLOP"),
         percent(set.MatrixShare()), text::WithPrefix(set.FlopsPerSecond(), "FLOP/s")});
  return table;
}

// Returns e.g. "package-0 12.3 J, psys 15.0 J (not added)".
std::string DomainsText(const energy::Energy& energy) {
  std::string text;
  const auto add = [&](const auto& domains, std::string_view mark) {
    for (const auto& [name, joules] : domains)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name,
                          text::WithPrefix(joules, "J"), mark);
  };
  add(energy.domains, "");
  add(energy.beside, " (not added)");
  return text;
}

Row EnergyRow(const record::Record& record, const energy::Energy& energy) {
  const auto flops = roofline::BestKnownFlops(record);
  const auto mark = roofline::MarkOf(energy::HasOthersEnergy(energy));
  const auto& ci95 = energy.ci95;
  return {record.name,
          fmt::format("{}{}", mark, text::WithPrefix(energy.joules, "J")),
          ci95 ? text::PercentText((ci95->second - ci95->first) / 2 / energy.joules) : "",
          flops.value_or(0) > 0
              ? fmt::format("{}{}", mark, text::WithPrefix(*flops / energy.joules, "FLOP/J"))
              : "",
          fmt::format("{}{}", mark, text::WithPrefix(energy.joules / energy.seconds, "W")),
          DomainsText(energy)};
}

struct Kernel {
  std::size_t index = 0;  // index into the run's records
  double seconds = 0;     // [s] total of all launches
  std::optional<double> launches;
};

// Returns {program, its kernels, the longest first}, the programs in order of appearance.
std::vector<std::pair<std::string, std::vector<Kernel>>> KernelsBySet(
    const roofline::PlacedRun& run) {
  text::InOrder<std::vector<Kernel>> sets;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& record = run.file.records[i];
    if (!record::IsKernelSum(record) || !run.places[i].timing) continue;
    sets[record::KernelNameOf(record).set].push_back(
        {i, run.places[i].timing->median, roofline::BestKnown(record).launches});
  }
  for (auto& [set, kernels] : sets.all)
    std::ranges::stable_sort(kernels, std::ranges::greater{}, &Kernel::seconds);
  return std::move(sets.all);
}

std::vector<std::string> NamesOf(const roofline::PlacedRun& run, const std::vector<Kernel>& kernels,
                                 bool full_names) {
  std::vector<std::string> names;
  for (const auto& kernel : kernels) {
    const auto name = record::KernelNameOf(run.file.records[kernel.index]).kernel;
    names.push_back(full_names ? text::RepairedKernelName(name) : std::string(name));
  }
  return full_names ? names : text::ShortKernelNames(names);
}

Row KernelRow(const std::string& name, const Kernel& kernel, double all_seconds,
              const std::optional<Level>& level, const roofline::PlacedRun& run) {
  Row row = {name, text::WithPrefix(kernel.seconds, "s"),
             text::PercentText(kernel.seconds / all_seconds),
             kernel.launches ? fmt::format("{:.0f}", *kernel.launches) : "",
             kernel.launches && *kernel.launches > 0
                 ? text::WithPrefix(kernel.seconds / *kernel.launches, "s")
                 : ""};
  AddPlace(run.file.records[kernel.index], run.places[kernel.index], run.view, level, row);
  return row;
}

// Returns a table's title, e.g. "GPU kernels of app: 503 µs of device time in 240 launches (...)".
std::string KernelsTitle(const std::string& set, const std::vector<Kernel>& kernels,
                         double seconds) {
  double launches = 0;
  bool known = true;
  for (const auto& kernel : kernels) {
    known = known && kernel.launches;
    launches += kernel.launches.value_or(0);
  }
  return fmt::format(
      "GPU kernels{}: {} of device time{} (times are sums over launches, without the cost of "
      "launching)",
      set.empty() ? "" : " of " + set, text::WithPrefix(seconds, "s"),
      known ? fmt::format(" in {:.0f} launch{}", launches, launches == 1 ? "" : "es") : "");
}

void AddKernels(const roofline::PlacedRun& run, bool full_names, Document& document) {
  const auto level = IntensityLevel(run);
  for (const auto& [set, kernels] : KernelsBySet(run)) {
    double seconds = 0;
    for (const auto& kernel : kernels) seconds += kernel.seconds;
    Table table{.title = KernelsTitle(set, kernels, seconds),
                .columns = {"kernel", "time", "% of all", "launches", "per launch", "% roof",
                            "bound", "x roof", "FLOP/s", IntensityHeading(level)}};
    const auto names = NamesOf(run, kernels, full_names);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      table.rows.push_back(KernelRow(names[i], kernels[i], seconds, level, run));
    document.Add(std::move(table));
  }
}

}  // namespace

Table ModelsTable(const std::vector<roofline::ModelSummary>& models) {
  Table table{.columns = {"model", "layers", "calls", "time", "FLOP", "FLOP/s", "% roof"}};
  for (const auto& model : models) table.rows.push_back(ModelRow(model));
  return table;
}

bool HasShortSpread(const roofline::PlacedRun& run) {
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (const auto& timing = run.places[i].timing;
        timing && !timing->ci95 && !record::IsKernelSum(run.file.records[i]))
      return true;
  return false;
}

Sentences HeuristicSentences(const std::vector<record::Record>& records) {
  Sentences sentences;
  for (const auto& summary : roofline::SummarizeHeuristics(records))
    sentences.texts.push_back(roofline::HeuristicText(summary));
  return sentences;
}

List UnsupportedList(const std::vector<record::Record>& records, bool verbose) {
  Notes missing;
  for (const auto& record : records)
    if (record.status == record::Status::kUnsupported) AddNote(record.reason, record, missing);
  return ReasonsList("unsupported", missing, verbose);
}

List OpportunitiesList(const roofline::PlacedRun& run, bool full_names) {
  List list{.title = "most time above the roof (all occurrences)"};
  for (const auto& [index, count, seconds, above, at_least] : roofline::Opportunities(run)) {
    const auto& [timing, placement, breakdown] = run.places[index];
    const auto mark = roofline::MarkOf(timing->noisy);
    auto& item = list.items.emplace_back(List::Item{fmt::format(
        "{}{}: {}{} of {}{}, bound by {}, {} its roof",
        ShownName(run.file.records[index], full_names),
        count > 1 ? fmt::format(" x{:.0f}", count) : "",
        timing->noisy ? mark : roofline::AtLeastMark(at_least), text::WithPrefix(above, "s"), mark,
        text::WithPrefix(seconds, "s"), roofline::BoundText(*placement.time),
        roofline::TimesOverRoofText(*placement.time, timing->noisy))});
    if (!placement.advice.empty()) item.details = {placement.advice};
  }
  return list;
}

Table EnergyTable(const std::vector<record::Record>& records) {
  Table table{.columns = {"energy of a call", "energy", "±", "FLOP/J", "power", "by domain"}};
  std::set<std::string> sources;
  bool noisy = false;
  std::map<std::string, std::vector<const record::Record*>> missing;
  for (const auto& record : records) {
    for (const auto& note : record.counting)
      if (note.source == "energy") missing[note.text].push_back(&record);
    if (!record.energy) continue;
    table.rows.push_back(EnergyRow(record, *record.energy));
    sources.insert(fmt::format("by {}: {}", record.energy->from, record.energy->covers));
    noisy = noisy || energy::HasOthersEnergy(*record.energy);
  }
  if (noisy)
    table.notes.emplace_back("~ other programs used the CPUs meanwhile: their energy is included");
  table.notes.insert(table.notes.end(), sources.begin(), sources.end());
  for (const auto& [reason, without] : missing)
    table.notes.push_back(
        fmt::format("energy of {} {}", AndMore(without.front()->name, without.size()), reason));
  return table;
}

Document CaveatsDocument(const roofline::PlacedRun& run) {
  Document document;
  document.Add(LimitsList(run));
  Notes missing;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    for (const auto& [ceiling, reason] : run.places[i].placement.unusable)
      AddNote(fmt::format("{} may be wrong by any factor: {}", ceiling, reason),
              run.file.records[i], missing);
  document.Add(ReasonsList(
      "placed under other roofs only, or not at all, because a ceiling failed its checks", missing,
      false));
  return document;
}

Table::Row ResultRow(const record::Record& record, const roofline::Placed& placed,
                     const roofline::PlaceView& view, const std::optional<Level>& level) {
  Row row;
  row.reserve(8);  // a table of 10^5 rows has no cells to spare
  row.emplace_back(record.name);
  row.emplace_back(fmt::format("{}{}", roofline::MarkOf(placed.timing->noisy),
                               text::WithPrefix(placed.timing->median, "s")));
  row.emplace_back(roofline::SpreadText(*placed.timing));
  AddPlace(record, placed, view, level, row);
  return row;
}

Document RunDocument(const roofline::PlacedRun& run, const TableOptions& options) {
  Document document;
  document.Add(RecordsTable(run));
  AddKernels(run, options.full_names, document);
  document.Add(EstimatesList(run, options.full_names));
  document.Add(ReasonsList("not measured", Missing(run.file.records), options.verbose));
  document.Add(LimitsList(run));
  document.Add(RemarksList(run, options));
  document.Add(EnergyTable(run.file.records));
  document.Add(ModelsTable(run.models));
  document.Add(HeuristicSentences(run.file.records));
  document.Add(ZeroFlopTable(run.zero_flop_kernels));
  document.Add(CeilingsDocument(run.file.machines, options.verbose));
  document.Add(OpportunitiesList(run, options.full_names));
  return document;
}

Document SummaryDocument(const roofline::PlacedRun& run, bool verbose) {
  Document document;
  Notes above;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    for (const auto& remark : run.places[i].placement.above_roof_remarks)
      AddNote(remark, run.file.records[i], above);
  document.Add(NotesList("above a roof", above, false));
  document.Add(EstimatesList(run, false));
  document.Add(EnergyTable(run.file.records));
  document.Add(UnsupportedList(run.file.records, verbose));
  document.Add(CaveatsDocument(run));
  document.Add(ModelsTable(run.models));
  document.Add(HeuristicSentences(run.file.records));
  document.Add(OpportunitiesList(run));
  return document;
}

Bar BarOf(const roofline::Breakdown& breakdown) {
  Bar bar;
  const auto percent = [&](double seconds) { return 100 * seconds / breakdown.seconds; };
  const auto is_noise = [&](const roofline::Component& component) {
    return component.kind != roofline::ComponentKind::kRoof &&
           component.seconds <= breakdown.noise_seconds;
  };
  const bool fold = std::ranges::count_if(breakdown.components, is_noise) > 1;
  std::vector<std::string_view> small;
  double small_seconds = 0;
  for (const auto& component : breakdown.components) {
    if (fold && is_noise(component)) {
      small.push_back(roofline::Words(component.kind));
      small_seconds += component.seconds;
      continue;
    }
    const bool roof = component.kind == roofline::ComponentKind::kRoof;
    auto& part = bar.parts.emplace_back(Part{roof ? PartKind::kRoof : PartKind::kOther,
                                             std::string(roofline::Words(component.kind)),
                                             component.seconds});
    if (!component.how.empty())
      part.label += fmt::format(" ({}: {})", dlroof::Key(component.from), component.how);
    if (const auto& ci95 = component.ci95)
      part.range = fmt::format("{:.0f}..{:.0f}", percent(ci95->first), percent(ci95->second));
  }
  if (fold)
    bar.parts.push_back(
        {PartKind::kOther,
         fmt::format("within the noise of {}: {}", text::WithPrefix(breakdown.noise_seconds, "s"),
                     fmt::join(small, "; ")),
         small_seconds});
  const auto& found = breakdown.efficiencies;
  if (!found) return bar;
  bar.notes = {fmt::format(
      "parallel efficiency {:.0f} % = load balance {:.0f} % x serialisation {:.0f} % x transfer "
      "{:.0f} %",
      100 * found->parallel, 100 * found->load_balance, 100 * found->serialisation,
      100 * found->transfer)};
  if (found->computation)
    bar.notes.push_back(
        fmt::format("computation scaling {:.0f} %: useful time on one thread over that of all",
                    100 * *found->computation));
  return bar;
}

}  // namespace dlroof::document
