#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "baselines/programs/gpu_program.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/kernel_name.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

constexpr std::size_t kMostKernels = 20;  // rows of the table
constexpr std::size_t kMostGaps = 3;      // listed
constexpr std::size_t kMostRanges = 5;    // listed
constexpr int kBarWidth = 40;             // [columns]
constexpr std::size_t kStripWidth = 100;  // [columns] at most

std::string Time(double seconds) { return text::WithPrefix(seconds, "s"); }
std::string Count(double number, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", number, noun,
                     number == 1            ? ""
                     : noun.ends_with("ch") ? "es"
                                            : "s");
}
std::string Tenths(int tenths) { return fmt::format("{}.{} %", tenths / 10, tenths % 10); }

// The records of a run by name, with their places.
class Places {
 public:
  explicit Places(const roofline::PlacedRun& run) : run_(run) {
    for (std::size_t i = 0; i < run.places.size(); ++i) index_[run.file.records[i].name] = i;
  }
  std::optional<std::size_t> Find(const GpuKernelUse& use) const {
    const auto found = index_.find(use.record);
    if (use.record.empty() || found == index_.end()) return std::nullopt;
    return found->second;
  }
  const roofline::PlacedRun& run() const { return run_; }

 private:
  const roofline::PlacedRun& run_;
  std::map<std::string_view, std::size_t> index_;
};

// [flop] of a counted kernel's launches in a step; nullopt if it was not counted.
std::optional<double> FlopsOf(const GpuKernelUse& use, const Places& places) {
  const auto record = places.Find(use);
  if (!record) return std::nullopt;
  const auto& work = places.run().file.records[*record].work;
  const auto measured = work.find(Provenance::kMeasured);
  if (measured == work.end()) return std::nullopt;
  return TotalFlops(measured->second);
}

void WriteHead(const GpuProgram& program, const GpuTimeline& timeline, std::ostream& out) {
  fmt::print(out, "GPU work of {}: {}, {} of {} kernels in {}\n",
             text::Printable(program.command.empty() ? timeline.command : program.command),
             timeline.device_name.empty() ? fmt::format("GPU {}", timeline.device)
                                          : text::Printable(timeline.device_name),
             Count(timeline.launches, "launch"), timeline.kernels.size(),
             Time(timeline.wall_seconds));
  if (program.stopped) fmt::print(out, "{}: this is what was seen until then\n", *program.stopped);
}

void WriteSteps(const GpuSteps& steps, std::ostream& out) {
  if (steps.count == 0) {
    fmt::print(out, "no steps: {}; times are sums of the whole trace\n",
               steps.reason ? text::Printable(steps.reason->text) : "none were found");
    return;
  }
  fmt::print(
      out, "{} of {:.0f} launches, {}; before them {} in {}\n", Count(steps.count, "step"),
      steps.launches,
      steps.from == StepsFrom::kSpecified ? "as specified" : "found as the period of the kernels",
      Count(steps.warm_up_launches, "launch"), Time(steps.warm_up_seconds));
  if (steps.doubt) fmt::print(out, "doubtful: {}\n", text::Printable(steps.doubt->text));
  fmt::print(out, "a step: {} (median; middle half {} to {}, all {} to {}){}\n",
             Time(steps.median_seconds), Time(steps.lower_seconds), Time(steps.upper_seconds),
             Time(steps.least_seconds), Time(steps.most_seconds),
             steps.outliers > 0 ? fmt::format("; {} longer than 1.5 times the median left out",
                                              Count(steps.outliers, "step"))
                                : "");
}

struct Part {
  std::string label;
  double seconds = 0;
};

// Splits the wall time. The parts add up to it.
std::vector<Part> PartsOf(const GpuTimeline& timeline, const Places& places) {
  double roof = 0, above = 0, zero = 0, rest = 0;
  bool at_most = false;
  for (const auto& use : timeline.kernels) {
    const double seconds = use.step_wall_seconds;
    const auto flops = FlopsOf(use, places);
    const auto record = places.Find(use);
    const auto share =
        record ? roofline::RoofShareOf(places.run().places[*record].placement) : std::nullopt;
    if (flops && *flops == 0) {
      zero += seconds;
    } else if (share) {
      const double at_roof = seconds * std::clamp(share->value, 0.0, 1.0);
      at_most = at_most || share->at_most;
      roof += at_roof;
      above += seconds - at_roof;
    } else {
      rest += seconds;
    }
  }
  const auto& times = timeline.times;
  std::vector<Part> parts = {
      {at_most ? "kernels, needed by the roofs at most" : "kernels, needed by the roofs", roof},
      {"kernels, above their roofs", above},
      {"kernels without FLOPs", zero},
      {roof + above + zero > 0 ? "kernels that were not counted" : "kernels", rest},
      {"copies, no kernel runs", times.copy_seconds},
      {"fills of memory, nothing else runs", times.fill_seconds},
      {"idle", times.idle_seconds}};
  std::erase_if(parts, [](const Part& part) { return part.seconds <= 0; });
  return parts;
}

void WriteBar(const std::vector<Part>& parts, std::ostream& out) {
  std::vector<double> seconds;
  double sum = 0;
  for (const auto& part : parts) {
    seconds.push_back(part.seconds);
    sum += part.seconds;
  }
  const auto tenths = SharesInTenths(seconds);
  double before = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto begin = static_cast<int>(kBarWidth * before / sum + 0.5);
    before += parts[i].seconds;
    const auto end = std::max(begin, static_cast<int>(kBarWidth * before / sum + 0.5));
    fmt::print(out, "  |{}{}{}|  {:>8}  {:>7}  {}\n", std::string(begin, ' '),
               std::string(end - begin, '#'), std::string(kBarWidth - end, ' '),
               Time(parts[i].seconds), Tenths(tenths[i]), parts[i].label);
  }
}

void WriteTimes(const GpuTimeline& timeline, std::ostream& out) {
  const auto& times = timeline.times;
  if (times.overlap_seconds > 1e-3 * times.wall_seconds)
    fmt::print(out, "  {} of kernels run at the same time as others\n",
               Time(times.overlap_seconds));
  if (times.hidden_copy_seconds > 1e-3 * times.wall_seconds)
    fmt::print(out, "  {} of copies run while kernels run\n", Time(times.hidden_copy_seconds));
}

void WriteAdvice(const GpuTimeline& timeline, const roofline::PlacedRun& run, std::ostream& out) {
  const auto advice = AdviceOf(timeline, &run);
  if (advice.empty()) return;
  out << "\nwhat would give most\n";
  for (std::size_t i = 0; i < advice.size(); ++i)
    fmt::print(out, "  {}. {}\n", i + 1, text::Printable(advice[i].text));
}

std::string GridText(const gpu_trace::Size3& size) {
  if (size[2] > 1) return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{}x{}", size[0], size[1]) : fmt::format("{}", size[0]);
}

// The short name of each whole name; different ones stay different.
std::map<std::string, std::string> NamesOf(const GpuTimeline& timeline, bool full_names) {
  std::vector<std::string> whole;
  std::map<std::string, std::string> names;
  for (const auto& use : timeline.kernels)
    if (names.try_emplace(use.name).second) whole.push_back(use.name);
  const auto shortened = full_names ? whole : text::ShortKernelNames(whole);
  for (std::size_t i = 0; i < whole.size(); ++i) names[whole[i]] = text::Printable(shortened[i]);
  return names;
}

std::vector<std::string> KernelRow(const GpuKernelUse& use, const std::string& name,
                                   const std::string& share, const Places& places) {
  std::vector<std::string> row = {name,
                                  GridText(use.grid),
                                  GridText(use.block),
                                  Time(use.step_wall_seconds),
                                  share,
                                  text::ThreeDigits(use.step_launches),
                                  Time(use.step_seconds / use.step_launches),
                                  "",
                                  "",
                                  "",
                                  "",
                                  ""};
  const auto index = places.Find(use);
  if (!index) return row;
  const auto& record = places.run().file.records[*index];
  const auto& placed = places.run().places[*index];
  if (!placed.timing) return row;
  const auto rate =
      roofline::WorkRateOf(record, *placed.timing, placed.placement, places.run().view);
  if (rate) row[7] = text::WithPrefix(rate->flops_per_second, "FLOP/s");
  if (rate && rate->intensity)
    row[8] = fmt::format("{} {:<4}", text::ThreeDigits(*rate->intensity),
                         roofline::LevelName(Key(*rate->level)));
  row[9] = roofline::RoofShareText(roofline::RoofShareOf(placed.placement), false);
  if (const auto& time = placed.placement.time) {
    row[10] = roofline::BoundText(*time);
    row[11] = roofline::SlowdownText(*time);
  }
  return row;
}

void WriteKernelTable(const GpuTimeline& timeline, const Places& places, int width, bool full_names,
                      std::ostream& out) {
  const bool steps = timeline.steps.count > 0;
  std::vector<std::vector<std::string>> rows = {
      {steps ? "kernels of a step" : "kernels", "grid", "block", "time", "share", "launches",
       "per launch", "FLOP/s", "FLOP/byte", "% roof", "bound", "slowdown"}};
  const auto names = NamesOf(timeline, full_names);
  std::vector<double> seconds;
  for (const auto& use : timeline.kernels) seconds.push_back(use.step_wall_seconds);
  const auto tenths = SharesInTenths(seconds);
  double rest_seconds = 0, rest_launches = 0, outside = 0;
  int rest_tenths = 0;
  std::size_t shown = 0, rest = 0;
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    const auto& use = timeline.kernels[i];
    if (steps) outside += use.step_launches > 0 ? 0 : use.launches;
    if (use.step_launches <= 0) continue;
    if (full_names || shown < kMostKernels) {
      rows.push_back(KernelRow(use, names.at(use.name), Tenths(tenths[i]), places));
      ++shown;
      continue;
    }
    ++rest;
    rest_seconds += use.step_wall_seconds;
    rest_launches += use.step_launches;
    rest_tenths += tenths[i];
  }
  if (rest > 0)
    rows.push_back({fmt::format("{} more kernels", rest), "", "", Time(rest_seconds),
                    Tenths(rest_tenths), text::ThreeDigits(rest_launches), "", "", "", "", "", ""});
  out << '\n';
  text::WriteAligned(rows, full_names ? 0 : width, out);
  if (outside > 0)
    fmt::print(out, "  {} of kernels that are in no step\n", Count(outside, "launch"));
}

void WriteCounting(const GpuProgram& program, const GpuTimeline& timeline, const Places& places,
                   std::ostream& out) {
  const auto& counting = program.counting;
  if (counting.reason) fmt::print(out, "not counted: {}\n", text::Printable(counting.reason->text));
  if (counting.kernels <= 0) return;
  fmt::print(out, "counted by Nsight Compute, once each: {}, {} of the kernels' time\n",
             Count(counting.kernels, "kernel"), text::PercentText(counting.share));
  double kernels = 0, launches = 0, seconds = 0, all_launches = 0, all_seconds = 0;
  for (const auto& use : timeline.kernels) {
    const auto flops = FlopsOf(use, places);
    if (!flops) continue;
    all_launches += use.step_launches;
    all_seconds += use.step_wall_seconds;
    if (*flops > 0) continue;
    kernels += 1;
    launches += use.step_launches;
    seconds += use.step_wall_seconds;
  }
  if (kernels > 0 && all_seconds > 0)
    fmt::print(out, "zero-FLOP kernels: {} of {} counted, {} of their launches, {} of their time\n",
               kernels, counting.kernels, text::PercentText(launches / all_launches),
               text::PercentText(seconds / all_seconds));
}

void WriteCopies(const GpuTimeline& timeline, int width, std::ostream& out) {
  if (timeline.copy_kinds.empty()) return;
  std::vector<std::vector<std::string>> rows = {
      {"copies", "number", "bytes", "time", "bytes/s", "not pinned"}};
  for (const auto& copies : timeline.copy_kinds)
    rows.push_back(
        {copies.kind, text::ThreeDigits(copies.copies), text::WithPrefix(copies.bytes, "B"),
         Time(copies.seconds),
         copies.seconds > 0 ? text::WithPrefix(copies.bytes / copies.seconds, "B/s") : "",
         copies.bytes > 0 ? text::PercentText(copies.pageable_bytes / copies.bytes) : ""});
  out << '\n';
  text::WriteAligned(rows, width, out);
}

void WriteGaps(const GpuTimeline& timeline, const std::map<std::string, std::string>& names,
               std::ostream& out) {
  if (timeline.gaps.empty()) return;
  out << "\nlongest times in which nothing runs\n";
  const auto name = [&](const std::string& whole) {
    const auto found = names.find(whole);
    return found == names.end() ? text::Printable(whole) : found->second;
  };
  for (std::size_t i = 0; i < std::min(kMostGaps, timeline.gaps.size()); ++i) {
    const auto& gap = timeline.gaps[i];
    fmt::print(out, "  {} at {}: after {}, before {}{}\n", Time(gap.seconds), Time(gap.at_seconds),
               name(gap.before), name(gap.after),
               gap.range.empty() ? "" : fmt::format(", in '{}'", text::Printable(gap.range)));
  }
}

void WriteLanes(const GpuTimeline& timeline, int width, std::ostream& out) {
  if (timeline.lanes.empty()) return;
  const auto parts = timeline.lanes.front().kernels.size();
  const std::size_t columns = std::clamp<std::size_t>(
      width > 0 ? static_cast<std::size_t>(width) - 16 : kStripWidth, 20, kStripWidth);
  fmt::print(out, "\nstreams of {}, {} (# kernels, + half of the time, c copies, . idle)\n",
             timeline.steps.count > 0 ? "one step" : "the trace", Time(timeline.lane_seconds));
  for (const auto& lane : timeline.lanes) {
    std::string strip;
    for (std::size_t i = 0; i < columns; ++i) {
      double kernels = 0, copies = 0;
      const std::size_t begin = i * parts / columns;
      const std::size_t end = std::max(begin + 1, (i + 1) * parts / columns);
      for (std::size_t j = begin; j < std::min(end, parts); ++j) {
        if (j < lane.kernels.size()) kernels += lane.kernels[j];
        if (j < lane.copies.size()) copies += lane.copies[j];
      }
      const auto number = static_cast<double>(end - begin);
      strip += kernels >= 0.75 * number                        ? '#'
               : kernels >= 0.25 * number && kernels >= copies ? '+'
               : copies >= 0.25 * number                       ? 'c'
                                                               : '.';
    }
    fmt::print(out, "  stream {:<4} {}\n", lane.stream, strip);
  }
}

void WriteRanges(const GpuTimeline& timeline, std::ostream& out) {
  if (timeline.ranges.empty()) return;
  out << "\nNVTX ranges of the host, by time\n";
  for (std::size_t i = 0; i < std::min(kMostRanges, timeline.ranges.size()); ++i) {
    const auto& range = timeline.ranges[i];
    fmt::print(out, "  {}: {:.0f} times, {}\n", text::Printable(range.name), range.count,
               Time(range.seconds));
  }
}

void WriteOthers(const GpuProgram& program, std::ostream& out) {
  for (std::size_t i = 1; i < program.timelines.size(); ++i) {
    const auto& other = program.timelines[i];
    double seconds = 0;
    for (const auto& kernel : other.kernels) seconds += kernel.seconds;
    fmt::print(out, "also: process {} on GPU {}: {} of {} kernels, {} of device time in {}{}\n",
               other.pid.value_or(0), other.device, Count(other.launches, "launch"),
               other.kernels.size(), Time(seconds), Time(other.wall_seconds),
               other.steps.count > 0 ? fmt::format(", {} of {}", Count(other.steps.count, "step"),
                                                   Time(other.steps.median_seconds))
                                     : "");
  }
}

void WriteTrace(const GpuProgram& program, std::ostream& out) {
  double launches = 0, copies = 0, fills = 0, dropped = 0, untimed = 0;
  double library = 0, cupti = 0, records = 0;
  for (const auto& process : program.processes) {
    launches += process.launches;
    copies += process.copies;
    fills += process.fills;
    dropped += process.dropped;
    untimed += process.untimed;
    library += process.library_seconds.value_or(0);
    cupti += process.cupti_seconds.value_or(0);
    records += process.records.value_or(0);
  }
  fmt::print(out, "\ntrace: {}, {:.0f} copies and {:.0f} fills of {}\n", Count(launches, "launch"),
             copies, fills,
             program.processes.size() == 1 ? "1 process"
                                           : fmt::format("{} processes", program.processes.size()));
  if (records > 0) {
    fmt::print(out, "cost of the trace: {} a record in dlroof's library, {} in all",
               Time(library / records), Time(library));
    if (program.wall_seconds && *program.wall_seconds > 0)
      fmt::print(out, " ({} of the program's time)",
                 text::PercentText(library / *program.wall_seconds));
    if (cupti > 0) fmt::print(out, "; CUPTI says that it took {} itself", Time(cupti));
    out << '\n';
  }
  if (dropped > 0)
    fmt::print(out, "{:.0f} records were lost: numbers of launches and sums are lower limits\n",
               dropped);
  if (untimed > 0) fmt::print(out, "{:.0f} records have no time and are left out\n", untimed);
  for (const auto& process : program.processes) {
    const auto pid = process.pid.value_or(0);
    if (process.full)
      fmt::print(out, "process {}: its trace is full, what followed is lost\n", pid);
    if (!process.failure.empty())
      fmt::print(out, "process {}: not traced: {}\n", pid, text::Printable(process.failure));
    else if (!process.ended)
      fmt::print(out,
                 "process {} ended without its exit handlers (killed, or _exit): its last moments, "
                 "about 0.2 s, may be missing\n",
                 pid);
    for (const auto& remark : process.remarks) fmt::print(out, "{}\n", text::Printable(remark));
  }
}

}  // namespace

void WriteGpuProgram(const roofline::PlacedRun& run, int width, std::ostream& out,
                     bool full_names) {
  const auto program = GpuProgramOf(run.file.context);
  if (!program) return;
  if (const auto nothing = NothingTraced(*program)) {
    fmt::print(out, "{}\n", text::Printable(nothing->text));
    return;
  }
  const auto& timeline = program->timelines.front();
  const Places places(run);
  WriteHead(*program, timeline, out);
  WriteSteps(timeline.steps, out);
  WriteBar(PartsOf(timeline, places), out);
  WriteTimes(timeline, out);
  WriteAdvice(timeline, run, out);
  WriteKernelTable(timeline, places, width, full_names, out);
  WriteCounting(*program, timeline, places, out);
  WriteCopies(timeline, width, out);
  WriteGaps(timeline, NamesOf(timeline, full_names), out);
  WriteLanes(timeline, width, out);
  WriteRanges(timeline, out);
  WriteOthers(*program, out);
  WriteTrace(*program, out);
}

}  // namespace dlroof::programs
