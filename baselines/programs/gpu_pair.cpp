#include "baselines/programs/gpu_pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

constexpr KeyRow<PairedTimes> kPairedTimes[] = {{PairedTimes::kSteps, "steps"},
                                                {PairedTimes::kTraces, "traces"},
                                                {PairedTimes::kDurations, "durations"}};

const GpuTimeline& TimelineOf(const ComparedGpuProgram& one) {
  return one.program.timelines.front();
}

bool HasSteps(const ComparedGpuProgram& one) { return TimelineOf(one).steps.count > 0; }

PairedTimes TimesOf(const ComparedGpuProgram& a, const ComparedGpuProgram& b) {
  if (HasSteps(a) != HasSteps(b)) return PairedTimes::kDurations;
  return HasSteps(a) ? PairedTimes::kSteps : PairedTimes::kTraces;
}

LaunchSum SumOf(const GpuKernelUse& use, PairedTimes times) {
  if (times == PairedTimes::kDurations) return {use.launches, use.seconds};
  return {use.step_launches, use.step_wall_seconds};
}

// The kernels of one program by name. Without those that are in no step.
using Sides = std::map<std::string_view, KernelSide>;

// Adds the kernel to its side, with its time at the roof.
struct SideBuilder {
  KernelSide& side;
  double roof_seconds = 0;  // [s]
  bool at_most = false, placed = true;

  void Add(const GpuKernelUse& use, const LaunchSum& sum, const KernelPlaces& places) {
    side.uses.push_back(&use);
    side.sum.Add(sum);
    const auto share = places.RoofShareOf(use);
    placed = placed && share;
    if (!share) return;
    roof_seconds += sum.seconds * share->value;
    at_most = at_most || share->at_most;
  }
  void Finish(PairedTimes times) {
    if (placed && side.sum.seconds > 0)
      side.roof_share = roofline::RoofShare{roof_seconds / side.sum.seconds, at_most};
    std::ranges::stable_sort(side.uses, std::ranges::greater{}, [times](const GpuKernelUse* use) {
      return SumOf(*use, times).seconds;
    });
  }
};

Sides SidesOf(const ComparedGpuProgram& one, PairedTimes times, GpuSideTotals& totals) {
  const KernelPlaces places(one.run);
  Sides sides;
  std::map<std::string_view, SideBuilder> builders;
  for (const auto& use : TimelineOf(one).kernels) {
    const auto sum = SumOf(use, times);
    if (sum.launches <= 0) continue;
    auto& side = sides[use.name];
    builders.try_emplace(use.name, SideBuilder{side}).first->second.Add(use, sum, places);
    totals.kernels.Add(sum);
    totals.roofs.Add(use, sum.launches, sum.seconds, places);
  }
  for (auto& [name, builder] : builders) builder.Finish(times);
  return sides;
}

// Returns texts(use) of all kernels in ascending order, each once: "128, 256".
template <class Value>
std::string ValuesOf(const KernelSide& side, const std::function<Value(const GpuKernelUse&)>& value,
                     const std::function<std::string(const Value&)>& text) {
  constexpr std::size_t kMost = 4;
  std::set<Value> values;
  for (const auto* use : side.uses) values.insert(value(*use));
  std::vector<std::string> texts;
  for (const auto& one : values)
    if (texts.size() < kMost) texts.push_back(text(one));
  auto joined = fmt::format("{}", fmt::join(texts, ", "));
  if (values.size() > kMost) joined += fmt::format(" and {} more", values.size() - kMost);
  return joined;
}

std::vector<std::string> DifferencesOf(const KernelSide& a, const KernelSide& b) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const auto& text) {
    const auto of_a = text(a), of_b = text(b);
    if (of_a != of_b) differences.push_back(fmt::format("{}: {} | {}", what, of_a, of_b));
  };
  using gpu_trace::Size3;
  compare("grid", [](const KernelSide& side) {
    return ValuesOf<Size3>(
        side, [](const auto& use) { return use.grid; }, SizeText);
  });
  compare("block", [](const KernelSide& side) {
    return ValuesOf<Size3>(
        side, [](const auto& use) { return use.block; }, SizeText);
  });
  const auto number = [](const double& value) { return fmt::format("{:.0f}", value); };
  compare("registers", [&](const KernelSide& side) {
    return ValuesOf<double>(
        side, [](const auto& use) { return use.registers; }, number);
  });
  compare("bytes of shared memory", [&](const KernelSide& side) {
    return ValuesOf<double>(
        side, [](const auto& use) { return use.shared_bytes; }, number);
  });
  return differences;
}

// Returns the size of a difference [ps]: whole, so that rounding of sums makes no order.
double SizeOf(double seconds) { return std::round(std::abs(seconds) * 1e12); }

double LongerOf(const KernelRow& row) { return std::max(row.a.sum.seconds, row.b.sum.seconds); }

// Distributes the kernels' names to those of both programs and those of one.
void Match(Sides&& a, Sides&& b, GpuPair& pair) {
  for (auto& [name, side] : a) {
    KernelRow row{.name = std::string(name), .kind = KernelKindOf(name), .a = std::move(side)};
    const auto partner = b.find(name);
    if (partner == b.end()) {
      pair.only_a.push_back(std::move(row));
      continue;
    }
    row.b = std::move(partner->second);
    b.erase(partner);
    row.differences = DifferencesOf(row.a, row.b);
    pair.a.matched.Add(row.a.sum);
    pair.b.matched.Add(row.b.sum);
    pair.rows.push_back(std::move(row));
  }
  for (auto& [name, side] : b)
    pair.only_b.push_back(
        {.name = std::string(name), .kind = KernelKindOf(name), .b = std::move(side)});
  for (auto* rows : {&pair.only_a, &pair.only_b})
    std::ranges::stable_sort(*rows, std::ranges::greater{}, LongerOf);
  // Of equal differences, the longest first.
  std::ranges::stable_sort(pair.rows, std::ranges::greater{}, [](const KernelRow& row) {
    return std::pair(SizeOf(row.b.sum.seconds - row.a.sum.seconds), LongerOf(row));
  });
}

void AddKinds(GpuPair& pair) {
  std::map<KernelKind, KernelKindRow> kinds;
  for (const auto* rows : {&pair.rows, &pair.only_a, &pair.only_b})
    for (const auto& row : *rows) {
      auto& kind = kinds[row.kind];
      kind.kind = row.kind;
      kind.a.Add(row.a.sum);
      kind.b.Add(row.b.sum);
    }
  for (const auto& [kind, row] : kinds) pair.kinds.push_back(row);
  std::ranges::stable_sort(pair.kinds, std::ranges::greater{}, [](const KernelKindRow& row) {
    return std::max(row.a.seconds, row.b.seconds);
  });
}

void AddTotals(const GpuTimeline& timeline, PairedTimes times, GpuSideTotals& totals) {
  if (times == PairedTimes::kDurations) {
    totals.wall_seconds = timeline.wall_seconds;
  } else {
    totals.wall_seconds = timeline.times.wall_seconds;
    totals.times = timeline.times;
    totals.copies = timeline.copy_kinds;
  }
  double launches = 0, of_graphs = 0;
  for (const auto& use : timeline.kernels) {
    launches += use.launches;
    of_graphs += use.graph_launches;
  }
  if (launches > 0) totals.graph_share = of_graphs / launches;
}

std::string MachinesOf(const record::RunFile& file) {
  std::vector<std::string> names;
  for (const auto& machine : file.machines) names.push_back(machine.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string CountedOf(const GpuProgram& program) {
  return program.counting.kernels > 0 ? text::PercentText(program.counting.share) : "none";
}

std::string GraphsOf(const GpuSideTotals& totals) {
  return totals.graph_share ? text::PercentText(*totals.graph_share) : "unknown";
}

std::vector<std::string> OtherDifferences(const ComparedGpuProgram& a, const ComparedGpuProgram& b,
                                          const GpuPair& pair) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) differences.push_back(fmt::format("{}: {} | {}", what, of_a, of_b));
  };
  const auto gpu = [](const ComparedGpuProgram& one) {
    const auto& name = TimelineOf(one).device_name;
    return name.empty() ? std::string("unknown") : name;
  };
  compare("GPU", gpu(a), gpu(b));
  compare("machine of the roofs", MachinesOf(a.run.file), MachinesOf(b.run.file));
  compare("counted, of the kernels' time", CountedOf(a.program), CountedOf(b.program));
  compare("launches from CUDA graphs, of the whole trace", GraphsOf(pair.a), GraphsOf(pair.b));
  return differences;
}

void AddRemarksOn(const ComparedGpuProgram& one, PairedTimes times,
                  std::vector<std::string>& remarks) {
  const auto& steps = TimelineOf(one).steps;
  if (times != PairedTimes::kSteps && !HasSteps(one))
    remarks.push_back(fmt::format(
        "{} has no steps ({}), so all times are of the whole traces, which can be compared only if "
        "both do the same work; --steps N of dlroof profile tells the number{}",
        one.where, steps.reason ? steps.reason->text : "none were found",
        times == PairedTimes::kDurations
            ? "; kernels' times are sums of their durations, and idle times are not compared"
            : ""));
  if (const auto others = one.program.timelines.size() - 1; others > 0)
    remarks.push_back(
        fmt::format("{} has {} processes or GPUs, and only the one with the most kernel time is "
                    "compared",
                    one.where, others + 1));
  if (one.program.stopped)
    remarks.push_back(fmt::format("{}: {}", one.where, *one.program.stopped));
  double dropped = 0;
  for (const auto& process : one.program.processes) dropped += process.dropped + process.untimed;
  if (dropped > 0)
    remarks.push_back(fmt::format("{}: {:.0f} records were lost: its numbers are lower limits",
                                  one.where, dropped));
}

}  // namespace

std::string_view Key(PairedTimes times) { return KeyIn(kPairedTimes, times); }

bool IsGpuProgram(const record::RunFile& file) { return GpuProgramOf(file.context).has_value(); }

ComparedGpuProgram ComparedGpuProgramOf(const std::string& where, roofline::PlacedRun run) {
  auto program = GpuProgramOf(run.file.context);
  if (!program)
    throw BadInput(
        "{}: not the run file of a program on a GPU, expected context.dlroof.gpu_program as "
        "written by dlroof profile --gpu",
        where);
  if (const auto nothing = NothingTraced(*program))
    throw BadInput("{}: expected GPU work to compare, but {}", where, nothing->text);
  return {where, std::move(run), *std::move(program)};
}

GpuPair PairGpuPrograms(const ComparedGpuProgram& a, const ComparedGpuProgram& b) {
  GpuPair pair{.times = TimesOf(a, b)};
  auto of_a = SidesOf(a, pair.times, pair.a), of_b = SidesOf(b, pair.times, pair.b);
  Match(std::move(of_a), std::move(of_b), pair);
  AddKinds(pair);
  AddTotals(TimelineOf(a), pair.times, pair.a);
  AddTotals(TimelineOf(b), pair.times, pair.b);
  pair.differences = OtherDifferences(a, b, pair);
  for (const auto* one : {&a, &b}) AddRemarksOn(*one, pair.times, pair.remarks);
  return pair;
}

std::optional<double> RatioOf(const LaunchSum& a, const LaunchSum& b) {
  if (!(a.seconds > 0)) return std::nullopt;
  return b.seconds / a.seconds;
}

std::vector<GpuChange> ChangesOf(const GpuPair& pair) {
  std::vector<GpuChange> changes;
  for (const auto& row : pair.kinds)
    changes.push_back({fmt::format("{} kernels", Key(row.kind)), row.a.seconds, row.b.seconds});
  if (pair.a.times && pair.b.times) {
    const auto &a = *pair.a.times, &b = *pair.b.times;
    changes.push_back({"copies while no kernel runs", a.copy_seconds, b.copy_seconds});
    changes.push_back({"fills of memory", a.fill_seconds, b.fill_seconds});
    changes.push_back({"idle", a.idle_seconds, b.idle_seconds});
  }
  std::ranges::stable_sort(changes, std::ranges::greater{},
                           [](const GpuChange& one) { return SizeOf(one.Seconds()); });
  return changes;
}

}  // namespace dlroof::programs
