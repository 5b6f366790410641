#include "reporters/roofline/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ceilings/machine/ceiling.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/warm_cache.h"

namespace dlroof::roofline {
namespace {

// Factor by which a ceiling that failed validation may be wrong, unless it is `unbounded`. It may
// be too slow (other programs; repetitions or passes that disagree; two hardware threads on one
// core) or too fast (the kernel did half of the work that it counts).
constexpr double kValidationFactor = 2;

// FLOPs, bytes and launches of a record, each from the most trusted provenance that has it.
struct KnownWork {
  const std::map<std::string, double>* flops = nullptr;  // by pipe, all from one provenance
  Provenance flops_from = Provenance::kModelled;
  std::map<Level, std::pair<double, Provenance>> bytes;
  std::optional<double> launches;
};

KnownWork BestKnown(const record::Record& record, const PlaceView& view) {
  KnownWork known;
  for (const Provenance from : AllProvenances()) {
    const auto found = record.work.find(from);
    if (found == record.work.end()) continue;
    const Work& work = found->second;
    if (known.flops == nullptr && !work.flops.empty()) {
      known.flops = &work.flops;
      known.flops_from = from;
    }
    for (const auto& [level, bytes] : work.bytes)
      if (view.levels.empty() || std::ranges::count(view.levels, level) > 0)
        known.bytes.try_emplace(level, bytes, from);
    if (!known.launches) known.launches = work.launches;
  }
  return known;
}

// Moves the compulsory bytes of a warm call from DRAM to the cache that holds them, unless bytes of
// that cache are known.
void MoveToCache(const record::Record& record, const machine::Machine& machine,
                 const PlaceView& view, KnownWork& known, std::vector<std::string>& asides) {
  const auto dram = known.bytes.find(Level::kDram);
  if (dram == known.bytes.end() || dram->second.second != Provenance::kModelled) return;
  const auto cache = HoldingCache(record, machine, dram->second.first);
  if (!cache) return;
  asides.push_back(HeldText(*cache));
  if (view.levels.empty() || std::ranges::count(view.levels, *cache) > 0)
    known.bytes.try_emplace(*cache, dram->second);
  known.bytes.erase(Level::kDram);
}

// Time at the compute roof or at one level's roof; the largest of these is the roof time.
struct RoofTerm {
  double seconds = 0;
  // [s] Upper limit: `seconds` of not validated ceilings x kValidationFactor, or infinite.
  double at_worst = 0;

  void Add(double more, const machine::Ceiling& ceiling) {
    seconds += more;
    at_worst += ceiling.AllowsPercentages() ? more
                : ceiling.unbounded         ? std::numeric_limits<double>::infinity()
                                            : kValidationFactor * more;
  }
  // Returns whether the term uses a not validated ceiling and is or could be the largest term.
  bool Uncertain(double largest_seconds) const {
    return at_worst > seconds && at_worst >= largest_seconds;
  }
};

// Roof times of one record.
struct RoofTimes {
  std::optional<RoofTerm> compute;
  std::map<std::string, std::string> compute_roofs;          // row of ceilings by pipe
  std::map<std::string, double> pipes;                       // [s] by pipe at its own ceiling
  std::map<std::string, std::string> compute_not_validated;  // reason by row
  std::map<Level, RoofTerm> memory;
  std::map<Level, std::string> memory_not_validated;  // reasons
  bool specified = false;                             // at least one of the ceilings is specified

  double Largest() const {
    double largest = compute->seconds;
    for (const auto& [level, term] : memory) largest = std::max(largest, term.seconds);
    return largest;
  }
  // Returns the larger of the compute time and the time of this level.
  double Largest(Level level) const { return std::max(compute->seconds, memory.at(level).seconds); }
  bool Uncertain(Level level) const {
    const double largest = Largest(level);
    return compute->Uncertain(largest) || memory.at(level).Uncertain(largest);
  }
  bool Uncertain() const {
    const double largest = Largest();
    return compute->Uncertain(largest) || std::ranges::any_of(memory, [&](const auto& term) {
             return term.second.Uncertain(largest);
           });
  }
};

bool IsRowOf(const std::string& pipe, const std::string& key) {
  return key.size() > pipe.size() && key.starts_with(pipe) && key[pipe.size()] == '.';
}

// Returns the best ceiling of a pipe among the rows whose instructions `isa` allows. If `isa` is
// unknown (empty) or allows no row, returns the plain row, which is the best of all. Returns null
// if the machine has no ceiling for the pipe.
const machine::CeilingRow* RoofOf(const std::string& pipe, const std::string& isa,
                                  const machine::CeilingSet& ceilings) {
  std::vector<const machine::CeilingRow*> rows;
  if (!isa.empty())
    for (auto row = ceilings.flops.upper_bound(pipe);
         row != ceilings.flops.end() && row->first.starts_with(pipe); ++row)
      if (IsRowOf(pipe, row->first) && machine::RowAllowed(row->first, isa)) rows.push_back(&*row);
  const machine::CeilingRow* best = machine::ChooseRoof(rows);
  if (best != nullptr) return best;
  const auto plain = ceilings.flops.find(pipe);
  return plain == ceilings.flops.end() ? nullptr : &*plain;
}

// Adds a remark if the ISA's roof is below the machine's.
void AddLowerRoofRemark(const std::string& pipe, const machine::CeilingRow& roof,
                        const std::string& isa, const machine::CeilingSet& ceilings,
                        std::vector<std::string>& remarks) {
  const auto plain = ceilings.flops.find(pipe);
  if (plain == ceilings.flops.end() || roof.second.per_second >= plain->second.per_second) return;
  remarks.push_back(fmt::format(
      "judged by {} ({:.4g} GFLOP/s), the best that {} allows, not by the machine's {} "
      "({:.4g} GFLOP/s)",
      roof.first, roof.second.per_second / 1e9, isa, pipe, plain->second.per_second / 1e9));
}

void AddCompute(const machine::CeilingRow& roof, double seconds, RoofTimes& times) {
  if (!times.compute) times.compute = RoofTerm{};
  times.compute->Add(seconds, roof.second);
  if (roof.second.IsSpecified())
    times.specified = true;
  else if (!roof.second.IsValidated())
    times.compute_not_validated[roof.first] = roof.second.ReasonText();
}

// By pipe: its FLOPs, and the ceiling that they are divided by.
using JudgedPipes = std::map<std::string, std::pair<double, const machine::CeilingRow*>>;
// Returns an empty map and adds a remark if one of the pipes has no ceiling.
JudgedPipes Judged(const std::map<std::string, double>& flops, const std::string& isa,
                   const machine::CeilingSet& ceilings, std::vector<std::string>& remarks) {
  JudgedPipes judged;
  for (const auto& [pipe, count] : flops) {
    if (count == 0) continue;
    const auto* roof = RoofOf(pipe, isa, ceilings);
    if (roof == nullptr) {
      remarks.push_back(fmt::format("the machine has no measured {} ceiling", pipe));
      return {};
    }
    judged[pipe] = {count, roof};
  }
  return judged;
}

void AddComputeTime(const KnownWork& known, const std::string& isa,
                    const machine::CeilingSet& ceilings, RoofTimes& times,
                    std::vector<std::string>& remarks) {
  for (const auto& [pipe, judged] : Judged(*known.flops, isa, ceilings, remarks)) {
    const auto& [flops, roof] = judged;
    times.pipes[pipe] = flops / roof->second.per_second;
    AddCompute(*roof, times.pipes[pipe], times);
    times.compute_roofs[pipe] = roof->first;
    AddLowerRoofRemark(pipe, *roof, isa, ceilings, remarks);
  }
}

// For PlaceView::tensor_balance: divides the FLOPs of all pipes by the matrix units' ceiling.
void AddTensorTime(const KnownWork& known, const std::string& isa,
                   const machine::CeilingSet& ceilings, RoofTimes& times,
                   std::vector<std::string>& remarks) {
  const machine::CeilingRow* best = nullptr;
  for (const machine::CeilingRow& row : ceilings.flops)
    if (row.first.find(".matrix") != std::string::npos &&
        (best == nullptr || row.second.per_second > best->second.per_second))
      best = &row;
  if (best == nullptr) {
    remarks.emplace_back("the machine has no matrix ceiling to judge all FLOPs by");
    return;
  }
  std::vector<std::string> unused_remarks;
  for (const auto& [pipe, judged] : Judged(*known.flops, isa, ceilings, unused_remarks))
    times.pipes[pipe] = judged.first / judged.second->second.per_second;
  double flops = 0;
  for (const auto& [pipe, count] : *known.flops) {
    if (count == 0) continue;
    flops += count;
    times.compute_roofs[pipe] = best->first;
  }
  if (flops > 0) AddCompute(*best, flops / best->second.per_second, times);
}

struct TimedCall {
  const record::Record& record;
  const machine::Machine& machine;
  const machine::Ceiling& ceiling;  // of the level whose bytes are checked
  double seconds = 0;               // [s] measured time of the call
};

// Returns the least time [s] that the bytes can take, with the possible error of the ceiling.
double LeastSeconds(const machine::Ceiling& ceiling, Level level, double bytes) {
  const double seconds = bytes / ceiling.per_second;
  if (ceiling.IsSpecified()) return level == Level::kDram ? seconds : 0;
  return ceiling.IsValidated() ? seconds : seconds / kValidationFactor;
}

// Returns whether a call cannot have moved its compulsory bytes through DRAM: caches may be warm,
// the bytes fit the largest cache, and the call is shorter than the roof time.
bool CachesRefute(const TimedCall& call, double bytes, double roof_seconds) {
  double largest_cache = 0;
  for (const auto& [level, capacity] : call.machine.cache_bytes)
    largest_cache = std::max(largest_cache, capacity);
  return call.record.cache != "cold" && bytes <= largest_cache && roof_seconds > call.seconds;
}

// Returns why bytes [byte] that were not measured are left out, if they are: the call is too fast
// to have moved them, even if the ceiling is too slow. A specified rate excludes only DRAM traffic
// that fits a cache; other points above their roof are drawn and reported.
std::optional<Reason> RefutedReason(const TimedCall& call, Level level,
                                    std::pair<double, Provenance> known) {
  const auto [bytes, from] = known;
  if (from == Provenance::kMeasured) return std::nullopt;
  const double roof_seconds = LeastSeconds(call.ceiling, level, bytes);
  if (from == Provenance::kModelled && level == Level::kDram) {
    if (!CachesRefute(call, bytes, roof_seconds)) return std::nullopt;
    return Reason{fmt::format(
        "left out at dram: its {:.3g} MB stay in a warm cache (moving them through DRAM would take "
        "longer than the call), so compulsory traffic does not apply",
        bytes / 1e6)};
  }
  if (roof_seconds <= call.seconds) return std::nullopt;
  return Reason{fmt::format(
      "left out at {}: moving its {:.3g} MB ({}) would take {:.2g} times as long as the call, so "
      "the call cannot have moved them",
      Key(level), bytes / 1e6, Key(from), roof_seconds / call.seconds)};
}

void AddMemoryTimes(const record::Record& record, const KnownWork& known,
                    const machine::Machine& machine, const machine::CeilingSet& ceilings,
                    double seconds, RoofTimes& times, std::vector<std::string>& remarks) {
  for (const auto& [level, known_bytes] : known.bytes) {
    const double bytes = known_bytes.first;
    const auto ceiling = ceilings.bytes.find(level);
    if (ceiling == ceilings.bytes.end()) {
      remarks.push_back(fmt::format("the machine has no measured {} ceiling", Key(level)));
      continue;
    }
    if (bytes == 0) continue;
    const double roof_seconds = bytes / ceiling->second.per_second;
    if (const auto reason =
            RefutedReason({record, machine, ceiling->second, seconds}, level, known_bytes)) {
      remarks.push_back(reason->text);
      continue;
    }
    times.memory[level].Add(roof_seconds, ceiling->second);
    if (ceiling->second.IsSpecified())
      times.specified = true;
    else if (!ceiling->second.IsValidated())
      times.memory_not_validated[level] = ceiling->second.ReasonText();
  }
}

// A ceiling that is not validated, and the roof term that uses it.
struct NotValidated {
  const RoofTerm& term;
  std::string name;
  std::vector<std::string_view> levels;  // levels whose percentages are uncertain
  std::string reason;
};

std::string NotValidatedRemark(const RoofTimes& times, const NotValidated& one) {
  const auto& [term, name, levels, reason] = one;
  const double largest = times.Largest();
  if (term.seconds >= largest)
    return fmt::format("no slowdown: the {} ceiling binds and is not validated: {}", name, reason);
  if (term.Uncertain(largest) && std::isinf(term.at_worst))
    return fmt::format(
        "no slowdown: the {} ceiling is not validated and may be wrong by any factor: {}", name,
        reason);
  if (term.Uncertain(largest))
    return fmt::format(
        "no slowdown: the {} ceiling is not validated and at half its rate would bind: {}", name,
        reason);
  return fmt::format("no percent at {}: the {} ceiling is not validated: {}",
                     fmt::join(levels, ", "), name, reason);
}

void ReportNotValidated(const RoofTimes& times, const NotValidated& one, Placement& placement) {
  const double largest = times.Largest();
  if (one.term.seconds < largest && !one.term.Uncertain(largest) && one.levels.empty()) {
    placement.asides.push_back(
        fmt::format("the {} ceiling is not validated, but at half its rate would not bind: {}",
                    one.name, one.reason));
    return;
  }
  placement.remarks.push_back(NotValidatedRemark(times, one));
  placement.uncertain[one.name] = one.reason;
}

void ReportUncertainRoofs(const RoofTimes& times, Placement& placement) {
  if (!times.compute) return;  // nothing is placed
  if (times.specified)
    placement.remarks.emplace_back(
        "placed under roofs that are specified, not measured: nothing validates them; bound and "
        "percentages are only as accurate as they are");
  std::vector<std::string_view> of_compute;
  for (const auto& [level, term] : times.memory)
    if (times.compute->Uncertain(times.Largest(level))) of_compute.push_back(Key(level));
  for (const auto& [row, reason] : times.compute_not_validated)
    ReportNotValidated(times, {*times.compute, row, of_compute, reason}, placement);
  for (const auto& [level, reason] : times.memory_not_validated) {
    const auto& term = times.memory.at(level);
    std::vector<std::string_view> own;
    if (term.Uncertain(times.Largest(level))) own.push_back(Key(level));
    ReportNotValidated(times, {term, std::string(Key(level)), own, reason}, placement);
  }
}

std::vector<ClassicPoint> PlaceClassic(const KnownWork& known, const RoofTimes& times,
                                       const record::Timing& timing) {
  std::vector<ClassicPoint> points;
  if (!times.compute) return points;
  const double flops = TotalFlops({.flops = *known.flops}).value();
  for (const auto& [level, memory] : times.memory) {
    ClassicPoint point;
    const auto& [bytes, bytes_from] = known.bytes.at(level);
    const double roof_seconds = times.Largest(level);
    point.level = level;
    point.intensity = flops / bytes;
    point.flops_per_second = flops / timing.median;
    if (timing.ci95) {
      const double executed = point.flops_per_second * timing.median;
      point.ci95 = {executed / timing.ci95->second, executed / timing.ci95->first};
    }
    point.roof = flops / roof_seconds;
    point.memory_bound = memory.seconds > times.compute->seconds;
    if (!times.Uncertain(level)) point.fraction = roof_seconds / timing.median;
    point.flops_from = known.flops_from;
    point.bytes_from = bytes_from;
    points.push_back(point);
  }
  return points;
}

std::optional<double> OverheadSeconds(const record::Record& record, const KnownWork& known,
                                      const machine::CeilingSet& ceilings, double seconds) {
  if (record.timed == record::timed::kKernels) return std::nullopt;
  if (const auto cost = LaunchCost(record, ceilings); cost && known.launches)
    return *known.launches * *cost;
  if (known.launches || record.timed != record::timed::kCall) return std::nullopt;
  const auto graph = record::SampleMedian(record, &record::GpuSample::graph_seconds);
  return graph && *graph < seconds ? std::optional(seconds - *graph) : std::nullopt;
}

std::optional<TimePoint> PlaceInTime(const record::Record& record, const KnownWork& known,
                                     const RoofTimes& times, const machine::CeilingSet& ceilings,
                                     double seconds) {
  if (!times.compute) return std::nullopt;
  TimePoint point{.seconds = seconds,
                  .compute_seconds = times.compute->seconds,
                  .compute_roofs = times.compute_roofs,
                  .pipe_seconds = times.pipes};
  double roof_seconds = point.compute_seconds;
  for (const auto& [level, memory] : times.memory) {
    point.memory_seconds[level] = memory.seconds;
    if (times.Uncertain(level)) point.not_validated_levels.push_back(level);
    if (memory.seconds <= roof_seconds) continue;
    roof_seconds = memory.seconds;
    point.bound = Bound::kMemory;
    point.bound_level = level;
  }
  point.overhead_seconds = OverheadSeconds(record, known, ceilings, seconds);
  if (point.overhead_seconds) {
    if (roof_seconds < *point.overhead_seconds) {
      point.bound = Bound::kOverhead;
      point.bound_level.reset();
    }
  }
  if (!times.Uncertain()) point.slowdown = seconds / roof_seconds;
  point.specified = times.specified;
  return point;
}

void AddTimePoint(TimePoint& time) {
  if (!time.slowdown) return;
  time.point_compute_seconds = time.compute_seconds * *time.slowdown;
  for (const auto& [level, seconds] : time.memory_seconds)
    time.point_memory_seconds[level] = seconds * *time.slowdown;
}

RoofTimes RoofTimesOf(const record::Record& record, const KnownWork& known, double seconds,
                      const machine::Machine& machine, const machine::CeilingSet& ceilings,
                      const PlaceView& view, Placement& placement) {
  RoofTimes times;
  auto& remarks = placement.remarks;
  if (known.flops == nullptr)
    remarks.emplace_back("FLOPs are not known");
  else
    (view.tensor_balance ? AddTensorTime : AddComputeTime)(known, record.isa, ceilings, times,
                                                           remarks);
  AddMemoryTimes(record, known, machine, ceilings, seconds, times, remarks);
  ReportUncertainRoofs(times, placement);
  return times;
}

// Returns the sustained ceilings for a call that was timed after the clock had settled.
std::optional<machine::CeilingSet> SustainedIfSteady(const record::Record& record,
                                                     const machine::CeilingSet& ceilings) {
  return record::IsSteady(record) ? std::optional(machine::Sustained(ceilings)) : std::nullopt;
}

}  // namespace

std::string_view Key(Bound bound) {
  constexpr KeyRow<Bound> kBounds[] = {
      {Bound::kCompute, "compute"}, {Bound::kMemory, "memory"}, {Bound::kOverhead, "overhead"}};
  return KeyIn(kBounds, bound);
}

std::optional<double> LaunchCost(const record::Record& record,
                                 const machine::CeilingSet& ceilings) {
  const auto overhead = [&](const char* key) {
    const auto found = ceilings.overheads.find(key);
    return found == ceilings.overheads.end() ? std::nullopt : std::optional(found->second);
  };
  if (record.timed == record::timed::kKernels) return std::nullopt;
  if (record.timed == record::timed::kGraph) return overhead(machine::kGraphNodeOverhead);
  if (record.timed == record::timed::kDevice || record.timed == record::timed::kThroughput)
    return overhead(machine::kQueuedOverhead);
  return ceilings.launch_seconds;
}

Placement Place(const record::Record& record, const machine::Machine* machine,
                const PlaceView& view) {
  Placement placement;
  if (record.status != record::Status::kOk) return placement;
  const auto timing = record::TimeOf(record.repetitions);
  if (!timing) return placement;  // record.reason says why
  if (machine == nullptr) {
    placement.remarks.emplace_back("no ceilings of this device in the file");
    return placement;
  }
  const machine::CeilingSet* ceilings = machine::ForThreads(*machine, record.threads);
  if (ceilings == nullptr) {
    placement.remarks.push_back(
        record.threads ? fmt::format("no ceilings measured with {} threads", *record.threads)
                       : "no ceilings: the record's number of threads is not known");
    return placement;
  }
  const auto sustained = SustainedIfSteady(record, *ceilings);
  if (sustained) ceilings = &*sustained;
  KnownWork known = BestKnown(record, view);
  MoveToCache(record, *machine, view, known, placement.asides);
  const RoofTimes times =
      RoofTimesOf(record, known, timing->median, *machine, *ceilings, view, placement);
  placement.classic = PlaceClassic(known, times, *timing);
  placement.time = PlaceInTime(record, known, times, *ceilings, timing->median);
  if (placement.time) AddTimePoint(*placement.time);
  return placement;
}

std::optional<TimePoint> PlaceTime(const record::Record& record, double seconds,
                                   const machine::Machine& machine, const PlaceView& view) {
  const machine::CeilingSet* ceilings = machine::ForThreads(machine, record.threads);
  if (record.status != record::Status::kOk || ceilings == nullptr) return std::nullopt;
  const auto sustained = SustainedIfSteady(record, *ceilings);
  if (sustained) ceilings = &*sustained;
  KnownWork known = BestKnown(record, view);
  Placement unused;
  MoveToCache(record, machine, view, known, unused.asides);
  return PlaceInTime(record, known,
                     RoofTimesOf(record, known, seconds, machine, *ceilings, view, unused),
                     *ceilings, seconds);
}

}  // namespace dlroof::roofline
