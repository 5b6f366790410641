#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_report.h"
#include "counters/base/keys.h"
#include "reporters/document/document.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

constexpr std::size_t kMaxKernels = 20;  // rows of the table
constexpr std::size_t kMaxWork = 20;     // rows of the table of ranges

using document::Cell;
using document::Document;
using document::PartKind;
using document::Table;

// Finds kernels' records in a run by name. The run must outlive this object.
struct KernelPlaces {
  explicit KernelPlaces(const roofline::PlacedRun& of) : run(of) {
    for (std::size_t i = 0; i < run.places.size(); ++i) index[run.file.records[i].name] = i;
  }

  // Returns the index of the kernel's record in run.file.records.
  std::optional<std::size_t> Find(const GpuKernelUse& use) const {
    return use.record.empty() ? std::nullopt : FindCopy(index, use.record);
  }

  // Returns the FLOPs of the kernel's launches in a step [flop]; nullopt if it was not counted.
  std::optional<double> FlopsOf(const GpuKernelUse& use) const {
    const auto record = Find(use);
    if (!record) return std::nullopt;
    const auto* measured = FindValue(run.file.records[*record].work, Provenance::kMeasured);
    return measured == nullptr ? std::nullopt : TotalFlops(*measured);
  }

  std::optional<roofline::RoofShare> RoofShareOf(const GpuKernelUse& use) const {
    const auto record = Find(use);
    return record ? roofline::RoofShareOf(run.places[*record].placement) : std::nullopt;
  }

  const roofline::PlacedRun& run;
  std::map<std::string_view, std::size_t> index;  // by the record's name
};

// [s] The kernels' time, split at their roofs. The four times add up to it.
struct RoofTimes {
  double roof_seconds = 0;       // time that the roofs require
  double above_seconds = 0;      // the rest of the time of kernels with a roof
  double zero_flop_seconds = 0;  // of counted kernels without FLOPs
  double uncounted_seconds = 0;  // of kernels without counts or without a roof
  bool at_most = false;          // roof_seconds is an upper limit: a roof is not validated

  void Add(const GpuKernelUse& use, double seconds, const KernelPlaces& places) {
    if (const auto flops = places.FlopsOf(use); flops && *flops == 0) {
      zero_flop_seconds += seconds;
    } else if (const auto share = places.RoofShareOf(use)) {
      const double at_roof = seconds * std::clamp(share->value, 0.0, 1.0);
      at_most = at_most || share->at_most;
      roof_seconds += at_roof;
      above_seconds += seconds - at_roof;
    } else {
      uncounted_seconds += seconds;
    }
  }
};

void AddHead(const GpuProgram& program, const GpuTimeline& timeline, Document& document) {
  Say(document, "GPU work of {}: {}, {} of {} kernels in {}",
      program.command.empty() ? timeline.command : program.command,
      timeline.device_name.empty() ? fmt::format("GPU {}", timeline.device) : timeline.device_name,
      Counted(timeline.launches, "launch"), timeline.kernels.size(), Time(timeline.wall_seconds));
  if (program.stopped) Say(document, "{}: this is what was seen until then", *program.stopped);
}

std::string FoundText(const GpuSteps& steps) {
  switch (steps.from) {
    case StepsFrom::kSpecified:
      return "as specified";
    case StepsFrom::kGraphs:
      return "which begin with launches of a CUDA graph";
    case StepsFrom::kMarks:
      return fmt::format("which begin with the program's ranges '{}'", steps.range);
    default:
      return "found as the period of the kernels (--steps N if a step has several)";
  }
}

void AddSteps(const GpuSteps& steps, Document& document) {
  if (steps.count == 0) {
    Say(document, "{}; times are sums of the whole trace",
        steps.reason ? steps.reason->text : "no steps were found");
    return;
  }
  Say(document, "{} of {:.0f} launches, {}; before them a warm-up of {} in {}",
      Counted(steps.count, "step"), steps.launches, FoundText(steps),
      Counted(steps.warm_up_launches, "launch"), Time(steps.warm_up_seconds));
}

std::string BarTitle(const GpuTimeline& timeline) {
  const auto& steps = timeline.steps;
  if (steps.count == 0) return fmt::format("the trace: {}", Time(timeline.times.wall_seconds));
  return fmt::format("a step: {} (median; middle half {} to {}, all {} to {}){}",
                     Time(steps.median_seconds), Time(steps.lower_seconds),
                     Time(steps.upper_seconds), Time(steps.least_seconds), Time(steps.most_seconds),
                     steps.outliers > 0
                         ? fmt::format("; {} longer than 1.5 times the median left out",
                                       Counted(steps.outliers, "step"))
                         : "");
}

// Returns parts of the bar that add up to the wall time.
std::vector<document::Part> PartsOf(const GpuTimeline& timeline, const KernelPlaces& places) {
  RoofTimes kernels;
  for (const auto& use : timeline.kernels) kernels.Add(use, use.step_wall_seconds, places);
  const bool counted = kernels.roof_seconds + kernels.above_seconds + kernels.zero_flop_seconds > 0;
  const auto& times = timeline.times;
  std::vector<document::Part> parts = {
      {PartKind::kRoof,
       kernels.at_most ? "kernels, needed by the roofs at most" : "kernels, needed by the roofs",
       kernels.roof_seconds},
      {PartKind::kAboveRoof, "kernels, above their roofs", kernels.above_seconds},
      {PartKind::kZeroFlop, "kernels without FLOPs", kernels.zero_flop_seconds},
      {PartKind::kOther, counted ? "kernels that were not counted" : "kernels",
       kernels.uncounted_seconds},
      {PartKind::kZeroFlop, "copies, no kernel runs", times.copy_seconds},
      {PartKind::kZeroFlop, "fills of memory, nothing else runs", times.fill_seconds}};
  const double all_idle = times.idle_seconds + times.graph_idle_seconds;
  if (const auto idle = IdleOf(timeline); idle.seen) {
    parts.push_back({PartKind::kIdle, "idle", times.idle_seconds});
    parts.push_back(
        {PartKind::kIdle, "CUDA graphs, beside their kernels", times.graph_idle_seconds});
  } else if (idle.most_seconds) {
    parts.push_back({PartKind::kIdle, "idle, at most", *idle.most_seconds});
    parts.push_back(
        {PartKind::kOther, "made by the trace, at least", all_idle - *idle.most_seconds});
  } else {
    parts.push_back({PartKind::kOther, "idle, or made by the trace", all_idle});
  }
  std::erase_if(parts, [](const auto& part) { return part.seconds <= 0; });
  return parts;
}

void AddBar(const GpuTimeline& timeline, const KernelPlaces& places, Document& document) {
  document::Bar bar{.title = BarTitle(timeline), .parts = PartsOf(timeline, places)};
  const auto& times = timeline.times;
  if (times.overlap_seconds > 1e-3 * times.wall_seconds)
    bar.notes.push_back(
        fmt::format("{} of kernels run at the same time as others", Time(times.overlap_seconds)));
  if (times.hidden_copy_seconds > 1e-3 * times.wall_seconds)
    bar.notes.push_back(
        fmt::format("{} of copies run while kernels run", Time(times.hidden_copy_seconds)));
  document.Add(std::move(bar));
}

void AddTraceCost(const GpuTimeline& timeline, Document& document) {
  const auto& steps = timeline.steps;
  if (steps.node_seconds)
    Say(document,
        "CUDA graphs were timed as a whole; their kernels, copies and fills are those of another "
        "run, whose steps take {} with each node traced",
        Time(*steps.node_seconds));
  const auto idle = IdleOf(timeline);
  if (!idle.most_seconds) {
    Say(document, "how much of the idle time the trace made is not known: {}",
        steps.untraced_call_seconds ? "the host is ahead of the GPU"
                                    : "there was no run without it, or it had other steps");
  } else if (steps.call_seconds && steps.untraced_call_seconds) {
    const double share = *steps.call_seconds / *steps.untraced_call_seconds - 1;
    Say(document,
        "a step takes {} longer with the trace: {} between the calls that begin steps, {} in a run "
        "without it{}",
        text::PercentText(std::max(share, 0.0)), Time(*steps.call_seconds),
        Time(*steps.untraced_call_seconds),
        idle.seen ? "" : fmt::format("; at most {} of it are idle then", Time(*idle.most_seconds)));
  }
}

using Names = std::map<std::string, std::string>;

// Returns full name -> displayed name: a short unique name, or with `full_names` the full name.
Names NamesOf(const GpuTimeline& timeline, bool full_names) {
  std::vector<std::string> whole;
  Names names;
  for (const auto& use : timeline.kernels)
    if (names.try_emplace(use.name).second) whole.push_back(use.name);
  const auto shortened = full_names ? whole : text::ShortKernelNames(whole);
  for (std::size_t i = 0; i < whole.size(); ++i) names[whole[i]] = shortened[i];
  return names;
}

// Returns a cell with the short and the full name of a kernel. `whole`: its full name.
Cell NameCell(const std::string& whole, const Names& names) {
  const auto name = FindCopy(names, whole).value_or(whole);
  return {name, name == whole ? "" : whole};
}

constexpr std::size_t kKernelColumns = 12;

Table::Row KernelRow(const GpuKernelUse& use, const Names& names, const std::string& share,
                     const KernelPlaces& places) {
  Table::Row row = {NameCell(use.name, names),
                    {SizeText(use.grid)},
                    {SizeText(use.block)},
                    {Time(use.step_wall_seconds)},
                    {share},
                    {text::ThreeDigits(use.step_launches)},
                    {Time(use.step_seconds / use.step_launches)}};
  row.resize(kKernelColumns);
  const auto index = places.Find(use);
  if (!index) return row;
  const auto& record = places.run.file.records[*index];
  const auto& placed = places.run.places[*index];
  if (!placed.timing) return row;
  const auto rate = roofline::WorkRateOf(record, *placed.timing, places.run.view);
  if (rate) row[7].text = text::WithPrefix(rate->flops_per_second, "FLOP/s");
  if (rate && rate->intensity)
    row[8].text = fmt::format("{} {:<4}", text::ThreeDigits(*rate->intensity),
                              roofline::LevelName(Key(*rate->level)));
  row[9].text =
      roofline::RoofShareText(roofline::RoofShareOf(placed.placement), placed.timing->noisy);
  if (const auto& time = placed.placement.time) {
    row[10].text = roofline::BoundText(*time);
    row[11].text = roofline::TimesOverRoofText(*time, placed.timing->noisy);
  }
  return row;
}

// Adds a row per kernel of a step: each launch is in one row, and the shares add up to 100.0 %.
void AddKernels(const GpuTimeline& timeline, const KernelPlaces& places, const Names& names,
                bool all, Document& document) {
  const bool steps = timeline.steps.count > 0;
  Table table{
      .columns = {steps ? "kernels of a step" : "kernels", "grid", "block", "time", "share",
                  "launches", "per launch", "FLOP/s", "FLOP/byte", "% roof", "bound", "x roof"},
      .first = all ? 0 : kMaxKernels};
  const auto tenths =
      document::Tenths(VectorOf<double>(timeline.kernels, &GpuKernelUse::step_wall_seconds));
  double rest_seconds = 0, rest_launches = 0, outside = 0;
  int rest_tenths = 0;
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    const auto& use = timeline.kernels[i];
    if (steps) outside += use.step_launches > 0 ? 0 : use.launches;
    if (use.step_launches <= 0) continue;
    table.rows.push_back(KernelRow(use, names, document::TenthsText(tenths[i]), places));
    if (table.rows.size() <= kMaxKernels) continue;
    rest_seconds += use.step_wall_seconds;
    rest_launches += use.step_launches;
    rest_tenths += tenths[i];
  }
  if (table.rows.size() > kMaxKernels) {
    table.rest = {{fmt::format("{} more kernels", table.rows.size() - kMaxKernels)},
                  {},
                  {},
                  {Time(rest_seconds)},
                  {document::TenthsText(rest_tenths)},
                  {text::ThreeDigits(rest_launches)}};
    table.rest.resize(kKernelColumns);
  }
  if (outside > 0)
    table.notes.push_back(
        fmt::format("{} of kernels that are in no step", Counted(outside, "launch")));
  document.Add(std::move(table));
}

void AddCounting(const GpuProgram& program, const GpuTimeline& timeline, const KernelPlaces& places,
                 Document& document) {
  const auto& counting = program.counting;
  if (counting.reason) Say(document, "not counted: {}", counting.reason->text);
  if (counting.kernels <= 0) return;
  Say(document, "counted by Nsight Compute in one step: {}, {} of the kernels' time{}",
      Counted(counting.kernels, "kernel"), text::PercentText(counting.share),
      counting.seconds > 0 ? fmt::format("; the second run took {}", Time(counting.seconds)) : "");
  double kernels = 0, launches = 0, seconds = 0, all_launches = 0, all_seconds = 0;
  for (const auto& use : timeline.kernels) {
    const auto flops = places.FlopsOf(use);
    if (!flops) continue;
    all_launches += use.step_launches;
    all_seconds += use.step_wall_seconds;
    if (*flops > 0) continue;
    kernels += 1;
    launches += use.step_launches;
    seconds += use.step_wall_seconds;
  }
  if (kernels > 0 && all_seconds > 0)
    Say(document, "zero-FLOP kernels: {} of {} counted, {} of their launches, {} of their time",
        kernels, counting.kernels, text::PercentText(launches / all_launches),
        text::PercentText(seconds / all_seconds));
}

void AddAboveRoof(const GpuTimeline& timeline, const KernelPlaces& places, const Names& names,
                  Document& document) {
  constexpr double kAbove = 1.02;  // [1] share of the roof that is beyond noise
  double kernels = 0, seconds = 0, most = kAbove;
  const GpuKernelUse* highest = nullptr;
  for (const auto& use : timeline.kernels) {
    const auto share = places.RoofShareOf(use);
    if (!share || share->value <= kAbove) continue;
    kernels += 1;
    seconds += use.step_wall_seconds;
    if (share->value > most) highest = &use;
    most = std::max(most, share->value);
  }
  if (highest == nullptr) return;
  Say(document,
      "{} ({} of a step) faster than the roofs: the counted step did other work, or a roof is too "
      "low (report --verbose). The highest: {}, {}",
      Counted(kernels, "kernel"), Time(seconds), names.at(highest->name), text::PercentText(most));
}

void AddCopies(const GpuTimeline& timeline, Document& document) {
  Table table{.columns = {"copies", "number", "bytes", "time", "bytes/s", "not pinned"}};
  for (const auto& copies : timeline.copy_kinds)
    table.rows.push_back(
        {{copies.kind},
         {text::ThreeDigits(copies.copies)},
         {text::WithPrefix(copies.bytes, "B")},
         {Time(copies.seconds)},
         {copies.seconds > 0 ? text::WithPrefix(copies.bytes / copies.seconds, "B/s") : ""},
         {copies.bytes > 0 ? text::PercentText(copies.pageable_bytes / copies.bytes) : ""}});
  document.Add(std::move(table));
}

// Adds each slice of a lane as an interval with the busy share of its time.
void AddIntervals(const std::vector<double>& shares, PartKind kind, const char* label,
                  double slice_seconds, document::Strip::Row& row) {
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0)
      row.intervals.push_back({.begin = static_cast<double>(i) * slice_seconds,
                               .end = static_cast<double>(i + 1) * slice_seconds,
                               .kind = kind,
                               .label = label,
                               .busy = std::min(shares[i], 1.0)});
}

void AddLanes(const GpuTimeline& timeline, Document& document) {
  document::Strip strip{
      .title = fmt::format("streams of {}, {}", timeline.steps.count > 0 ? "one step" : "the trace",
                           Time(timeline.lane_seconds)),
      .seconds = timeline.lane_seconds};
  for (const auto& lane : timeline.lanes) {
    document::Strip::Row row{.name = fmt::format("stream {}", lane.stream)};
    if (lane.kernels.empty()) continue;
    const double slice = timeline.lane_seconds / static_cast<double>(lane.kernels.size());
    AddIntervals(lane.kernels, PartKind::kRoof, "kernels", slice, row);
    AddIntervals(lane.copies, PartKind::kZeroFlop, "copies", slice, row);
    strip.rows.push_back(std::move(row));
  }
  document.Add(std::move(strip));
}

// Adds kernel time by NVTX range: of all ranges (`all`), or of the kMaxWork with the most time.
void AddRangeWork(const GpuTimeline& timeline, const Names& names, bool all, Document& document) {
  const auto& rows = timeline.range_work;
  if (rows.empty() && timeline.range_reason)
    Say(document, "no kernel is in an NVTX range: {}", timeline.range_reason->text);
  double whole = 0, least = 0;
  for (const auto& row : rows) whole += row.depth == 0 ? row.seconds : 0;
  if (whole <= 0) return;
  auto seconds = VectorOf<double>(rows, &GpuRangeWork::seconds);
  std::ranges::sort(seconds, std::ranges::greater{});
  if (!all && seconds.size() > kMaxWork) least = seconds[kMaxWork - 1];
  Table table{.columns = {timeline.steps.count > 0
                              ? "kernels of a step by the NVTX range that launched them"
                              : "kernels by the NVTX range that launched them",
                          "ranges", "launches", "time", "share", "most of it"}};
  for (const auto& row : rows) {
    if (row.seconds < least && !row.name.empty()) continue;
    table.rows.push_back(
        {{fmt::format("{:{}}{}", "", 2 * row.depth, row.name.empty() ? "in no range" : row.name)},
         {row.ranges > 0 ? text::ThreeDigits(row.ranges) : ""},
         {text::ThreeDigits(row.launches)},
         {Time(row.seconds)},
         {Percent(row.seconds, whole)},
         names.contains(row.kernel) ? NameCell(row.kernel, names) : Cell{}});
  }
  if (table.rows.size() < rows.size())
    table.notes.push_back(fmt::format("{} ranges with less than {} each: --full-names",
                                      rows.size() - table.rows.size(), Time(least)));
  if (timeline.steps.count > 0)
    table.notes.push_back(fmt::format("means of the {} that {} ranges",
                                      Counted(timeline.range_steps, "step"),
                                      timeline.range_steps == 1 ? "has" : "have"));
  table.notes.emplace_back(
      "a row has the kernels of the ranges within it, too; sums of durations, by the call that "
      "launched them");
  document.Add(std::move(table));
}

void AddOthers(const GpuProgram& program, Document& document) {
  for (std::size_t i = 1; i < program.timelines.size(); ++i) {
    const auto& other = program.timelines[i];
    Say(document, "also: process {} on GPU {}: {} of {} kernels, {} of device time in {}{}",
        other.pid.value_or(0), other.device, Counted(other.launches, "launch"),
        other.kernels.size(), Time(other.KernelSeconds()), Time(other.wall_seconds),
        other.steps.count > 0 ? fmt::format(", {} of {}", Counted(other.steps.count, "step"),
                                            Time(other.steps.median_seconds))
                              : "");
  }
}

void AddProcess(const GpuProcess& process, Document& document) {
  const auto pid = process.pid.value_or(0);
  if (process.full) Say(document, "process {}: its trace is full, what followed is lost", pid);
  if (!process.failure.empty())
    Say(document, "process {}: not traced: {}", pid, process.failure);
  else if (!process.ended)
    Say(document,
        "process {} ended without its exit handlers (killed, or _exit): its last moments, about "
        "0.2 s, may be missing",
        pid);
  for (const auto& remark : process.remarks) document.Say(remark);
}

void AddTrace(const GpuProgram& program, Document& document) {
  const auto sum = [&](double GpuProcess::*member) {
    double all = 0;
    for (const auto& process : program.processes) all += process.*member;
    return all;
  };
  const double dropped = sum(&GpuProcess::dropped), untimed = sum(&GpuProcess::untimed);
  Say(document, "trace: {}, {:.0f} copies, {:.0f} fills, {:.0f} calls and {:.0f} ranges of {}",
      Counted(sum(&GpuProcess::launches), "launch"), sum(&GpuProcess::copies),
      sum(&GpuProcess::fills), sum(&GpuProcess::calls), sum(&GpuProcess::ranges),
      Counted(static_cast<double>(program.processes.size()), "process"));
  if (dropped > 0)
    Say(document, "{:.0f} records were lost: numbers of launches and sums are lower limits",
        dropped);
  if (untimed > 0) Say(document, "{:.0f} records have no time and are left out", untimed);
  for (const auto& process : program.processes) AddProcess(process, document);
}

}  // namespace

Document GpuProgramDocument(const roofline::PlacedRun& run, bool full_names) {
  Document document;
  const auto program = GpuProgramOf(run.file.context);
  if (!program) return document;
  if (const auto nothing = NothingTraced(*program)) {
    document.Say(nothing->text);
    return document;
  }
  const auto& timeline = program->timelines.front();
  const KernelPlaces places(run);
  const auto names = NamesOf(timeline, full_names);
  AddHead(*program, timeline, document);
  for (const auto& advice : AdviceOf(timeline)) document.Advise(advice.text);
  AddSteps(timeline.steps, document);
  AddBar(timeline, places, document);
  AddTraceCost(timeline, document);
  AddKernels(timeline, places, names, full_names, document);
  AddRangeWork(timeline, names, full_names, document);
  AddAboveRoof(timeline, places, names, document);
  AddCounting(*program, timeline, places, document);
  AddLanes(timeline, document);
  AddCopies(timeline, document);
  AddOthers(*program, document);
  AddTrace(*program, document);
  return document;
}

}  // namespace dlroof::programs
