#include "reporters/roofline/roofline.h"

#include <fmt/format.h>

#include <algorithm>

#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/chart.h"

namespace dlroof::roofline {
namespace {

// [1] If a ceiling failed validation (interference, disagreeing passes, two hardware threads on a
// core), the true rate may be up to so many times as high. Byte counts are rejected only beyond it.
constexpr double kValidationFactor = 2;

// The ceiling by which work is divided: the roof, or a lower limit of it (a measured rate).
struct UsedCeiling {
  std::string name;                           // name of the row, mix or level
  const machine::Ceiling* ceiling = nullptr;  // null if every candidate may be wrong by any factor
  bool replaced = false;  // stands for the fastest ceiling, which may be wrong by any factor
  // Reasons why the true rate may be higher, by the ceiling's name. Empty if `ceiling` is the roof.
  std::map<std::string, std::string> not_validated = {};
};

using Rows = std::vector<const machine::CeilingRow*>;

// Returns the rows of `key` (of "fp32.vector" e.g. "fp32.vector.avx2") that `allowed` accepts.
template <class Allowed>
Rows RowsOf(const std::string& key, const std::map<std::string, machine::Ceiling>& all,
            const Allowed& allowed) {
  Rows rows;
  for (auto row = all.upper_bound(key); row != all.end() && row->first.starts_with(key); ++row)
    if (row->first[key.size()] == '.' && allowed(row->first)) rows.push_back(&*row);
  return rows;
}

// Returns `ceiling` unless its rate may be wrong by any factor (unbounded). If it is unbounded,
// returns the best of `others` that is not (a lower limit of the true rate), or a null ceiling.
UsedCeiling Use(const std::string& name, const machine::Ceiling& ceiling, Rows others) {
  UsedCeiling used{name, &ceiling};
  if (ceiling.AllowsPercentages()) return used;
  auto& reason = used.not_validated[name] = ceiling.ReasonText();
  if (!ceiling.unbounded) return used;
  std::erase_if(others, [](const auto* row) { return row->second.unbounded; });
  const auto* next = machine::ChooseRoof(others);
  used.ceiling = next == nullptr ? nullptr : &next->second;
  if (next == nullptr) return used;
  used.name = next->first;
  used.replaced = true;
  reason += fmt::format("; placed under {} instead", next->first);
  if (!next->second.AllowsPercentages())
    used.not_validated[next->first] = next->second.ReasonText();
  return used;
}

// Returns the best ceiling of a pipe among the rows whose instructions `isa` allows or, if `isa` is
// unknown (empty) or allows no row, the pipe's roof. Use() replaces an unbounded ceiling. Returns
// nullopt if the machine has no ceiling for the pipe.
std::optional<UsedCeiling> RoofOf(const std::string& pipe, const std::string& isa,
                                  const machine::CeilingSet& ceilings) {
  if (!isa.empty()) {
    const auto rows = RowsOf(pipe, ceilings.flops,
                             [&](const auto& row) { return machine::RowAllowed(row, isa); });
    if (const auto* best = machine::ChooseRoof(rows)) {
      auto used = Use(best->first, best->second, rows);
      if (const auto reason = machine::FasterNotValidated(best->second, rows))
        used.not_validated.emplace(best->first, *reason);
      return used;
    }
  }
  const auto* const plain = FindValue(ceilings.flops, pipe);
  if (plain == nullptr) return std::nullopt;
  const auto any = [&](const auto&) { return plain->unbounded; };
  return Use(pipe, *plain, RowsOf(pipe, ceilings.flops, any));
}

// Returns the ceiling of a memory level (one of its mixes if the ceiling is unbounded), or nullopt
// if the machine has no ceiling for the level.
std::optional<UsedCeiling> RoofOf(Level level, const machine::CeilingSet& ceilings) {
  const auto* const roof = FindValue(ceilings.bytes, level);
  if (roof == nullptr) return std::nullopt;
  const std::string name(Key(level));
  const auto any = [&](const auto&) { return roof->unbounded; };
  return Use(name, *roof, RowsOf(name, ceilings.mixes, any));
}

// Returns the highest ceiling of the matrix units (the best bounded one if it is unbounded), or
// nullopt if the machine has none.
std::optional<UsedCeiling> MatrixRoof(const machine::CeilingSet& ceilings) {
  Rows rows;
  for (const machine::CeilingRow& row : ceilings.flops)
    if (row.first.find(".matrix") != std::string::npos) rows.push_back(&row);
  const auto higher = [](const auto* a, const auto* b) {
    return a->second.per_second < b->second.per_second;
  };
  const auto best = std::ranges::max_element(rows, higher);
  if (best == rows.end()) return std::nullopt;
  return Use((*best)->first, (*best)->second, rows);
}

// If a warm cache holds all tensors of the call, removes the modelled bytes of DRAM and adds them
// to this cache level, unless the level's bytes are known or `view` excludes it. Adds an aside.
void MoveToCache(const record::Record& record, const machine::Machine& machine,
                 const PlaceView& view, KnownWork& known, std::vector<std::string>& asides) {
  const auto dram = FindCopy(known.bytes, Level::kDram);
  if (!dram || dram->second != Provenance::kModelled) return;
  const auto cache = HoldingCache(record, machine, dram->first);
  if (!cache) return;
  asides.push_back(fmt::format(
      "its tensors fit {0}, which is warm: only counters tell how much of them goes through DRAM; "
      "they pass {0} at least once",
      LevelName(Key(*cache))));
  if (view.levels.empty() || std::ranges::count(view.levels, *cache) > 0)
    known.bytes.try_emplace(*cache, *dram);
  known.bytes.erase(Level::kDram);
}

// The call's time at the compute roof or at one level's roof.
struct RoofTerm {
  double seconds = 0;  // [s]
  // Reasons by ceiling. If there are any, the true ceiling may be higher and `seconds` too long.
  std::map<std::string, std::string> not_validated = {};

  bool AtMost() const { return !not_validated.empty(); }
  void Add(double more, const UsedCeiling& used) {
    seconds += more;
    not_validated.insert(used.not_validated.begin(), used.not_validated.end());
  }
};

// Returns the term with the longer time; of equal terms one that is exact, if there is one.
const RoofTerm& Longer(const RoofTerm& a, const RoofTerm& b) {
  if (a.seconds != b.seconds) return a.seconds > b.seconds ? a : b;
  return a.AtMost() ? b : a;
}

struct RoofTimes {
  std::optional<RoofTerm> compute;
  std::map<std::string, std::string> compute_roofs;  // by pipe: name of the ceiling used for it
  std::map<std::string, double> pipes;               // [s] by pipe, at the pipe's own ceiling
  std::map<Level, RoofTerm> memory;
  // Levels whose roof the call exceeds; they are not in `memory`.
  std::map<Level, std::pair<RoofTerm, WrongPart>> above;
  std::vector<std::string> above_remarks;  // on `above`, and on cache levels' refuted bytes
  bool specified = false;                  // at least one of the ceilings is specified

  const RoofTerm* Longest() const {
    const RoofTerm* longest = compute ? &*compute : nullptr;
    for (const auto& [level, term] : memory)
      longest = longest == nullptr ? &term : &Longer(*longest, term);
    return longest;
  }
};

// Adds a remark if the pipe's roof for this ISA is below the machine's roof of the pipe.
void AddLowerRoofRemark(const std::string& pipe, const UsedCeiling& roof, const std::string& isa,
                        const machine::CeilingSet& ceilings, std::vector<std::string>& remarks) {
  const auto* const plain = FindValue(ceilings.flops, pipe);
  const double rate = roof.ceiling->per_second;
  if (isa.empty() || roof.replaced || plain == nullptr || rate >= plain->per_second) return;
  remarks.push_back(
      fmt::format("judged by {} ({:.4g} GFLOP/s), the best that {} allows, not by the machine's {} "
                  "({:.4g} GFLOP/s)",
                  roof.name, rate / 1e9, isa, pipe, plain->per_second / 1e9));
}

// Adds remarks "WHAT: REASON" with the reasons why the ceiling is unusable, and adds it to
// `placement.unusable`. `what` is the consequence, e.g. "not placed".
void AddUnusable(const UsedCeiling& used, const std::string& what, Placement& placement) {
  for (const auto& [name, reason] : used.not_validated) {
    placement.remarks.push_back(
        fmt::format("{}: the {} ceiling may be wrong by any factor: {}", what, name, reason));
    placement.unusable[name] = reason;
  }
}

void AddCompute(const UsedCeiling& roof, double seconds, RoofTimes& times) {
  if (!times.compute) times.compute = RoofTerm{};
  times.compute->Add(seconds, roof);
  times.specified = times.specified || roof.ceiling->IsSpecified();
}

// By pipe: its FLOPs, and the ceiling by which they are divided.
using JudgedPipes = std::map<std::string, std::pair<double, UsedCeiling>>;
// Returns the pipes with FLOPs. If one of them has no ceiling, or only unbounded ceilings, adds a
// remark and returns an empty map.
JudgedPipes Judged(const std::map<std::string, double>& flops, const std::string& isa,
                   const machine::CeilingSet& ceilings, Placement& placement) {
  JudgedPipes judged;
  for (const auto& [pipe, count] : flops) {
    if (count == 0) continue;
    auto roof = RoofOf(pipe, isa, ceilings);
    if (!roof) {
      placement.remarks.push_back(fmt::format("the machine has no measured {} ceiling", pipe));
      return {};
    }
    if (roof->ceiling == nullptr) {
      AddUnusable(*roof, "not placed", placement);
      return {};
    }
    judged[pipe] = {count, std::move(*roof)};
  }
  return judged;
}

void AddComputeTime(const KnownWork& known, const std::string& isa,
                    const machine::CeilingSet& ceilings, RoofTimes& times, Placement& placement) {
  for (const auto& [pipe, judged] : Judged(*known.flops, isa, ceilings, placement)) {
    const auto& [flops, roof] = judged;
    times.pipes[pipe] = flops / roof.ceiling->per_second;
    AddCompute(roof, times.pipes[pipe], times);
    times.compute_roofs[pipe] = roof.name;
    AddLowerRoofRemark(pipe, roof, isa, ceilings, placement.remarks);
  }
}

// For PlaceView::tensor_balance: divides the FLOPs of all pipes by the matrix units' ceiling.
void AddTensorTime(const KnownWork& known, const std::string& isa,
                   const machine::CeilingSet& ceilings, RoofTimes& times, Placement& placement) {
  const auto best = MatrixRoof(ceilings);
  if (!best) {
    placement.remarks.emplace_back("the machine has no matrix ceiling to judge all FLOPs by");
    return;
  }
  if (best->ceiling == nullptr) {
    AddUnusable(*best, "not placed", placement);
    return;
  }
  Placement unused;
  for (const auto& [pipe, judged] : Judged(*known.flops, isa, ceilings, unused))
    times.pipes[pipe] = judged.first / judged.second.ceiling->per_second;
  double flops = 0;
  for (const auto& [pipe, count] : *known.flops) {
    if (count == 0) continue;
    flops += count;
    times.compute_roofs[pipe] = best->name;
  }
  if (flops > 0) AddCompute(*best, flops / best->ceiling->per_second, times);
}

// Returns the minimum time [s] that the bytes need, even if the ceiling is too low by the possible
// error. Returns 0 for a specified ceiling of a cache level, which refutes no bytes.
double LeastSeconds(const LevelUse& use, const UsedCeiling& roof) {
  const double seconds = use.bytes / use.ceiling.per_second;
  if (roof.ceiling->IsSpecified()) return use.level == Level::kDram ? seconds : 0;
  return roof.not_validated.empty() ? seconds : seconds / kValidationFactor;
}

// Returns whether the call cannot have moved its compulsory bytes through DRAM: its caches may be
// warm, the bytes fit the largest cache, and moving them would take longer than the call.
bool CachesRefute(const LevelUse& use, double roof_seconds) {
  return use.record.cache != "cold" && use.bytes <= LargestCache(use.machine) &&
         roof_seconds > use.seconds;
}

// Returns whether measured bytes may be too many: a GPU's DRAM bytes are counted in another run of
// the call, which may find less of its tensors in L2 than the timed run.
bool CountedElsewhere(const LevelUse& use) {
  return use.record.device == "gpu" && use.level == Level::kDram && use.record.cache != "cold";
}

// Returns a reason to ignore a level's bytes if the call was too fast to move them, even with the
// ceiling's possible error; nullopt if they count. Measured bytes are ignored only if they are
// CountedElsewhere. Under a specified ceiling only DRAM bytes that fit a cache are ignored.
std::optional<Reason> RefutedReason(const LevelUse& use, const UsedCeiling& roof) {
  const double roof_seconds = LeastSeconds(use, roof);
  if (use.bytes_from == Provenance::kMeasured) {
    if (!CountedElsewhere(use) || roof.ceiling->IsSpecified() ||
        roof_seconds <= LongestSeconds(use.record, use.seconds))
      return std::nullopt;
    return Reason{fmt::format(
        "left out at dram: moving its {:.3g} MB would take {:.3g} times as long as the call; they "
        "were counted in another run of it, which found less in the caches",
        use.bytes / 1e6, roof_seconds / use.seconds)};
  }
  if (use.bytes_from == Provenance::kModelled && use.level == Level::kDram) {
    if (!CachesRefute(use, roof_seconds)) return std::nullopt;
    return Reason{fmt::format(
        "left out at dram: its {:.3g} MB stay in a warm cache (moving them through DRAM would take "
        "longer than the call), so compulsory traffic does not apply",
        use.bytes / 1e6)};
  }
  if (roof_seconds <= use.seconds) return std::nullopt;
  return Reason{fmt::format(
      "left out at {}: moving its {:.3g} MB ({}) would take {:.2g} times as long as the call, so "
      "the call cannot have moved them, so the {} bytes are wrong",
      Key(use.level), use.bytes / 1e6, Key(use.bytes_from), roof_seconds / use.seconds,
      Key(use.bytes_from))};
}

// Returns whether the call exceeds the level's roof. If it does, adds the level to `times.above`
// and adds a remark.
bool AddAboveRoof(const LevelUse& use, const UsedCeiling& roof, RoofTimes& times,
                  std::vector<std::string>& remarks) {
  const auto wrong = WrongPartOf(use);
  if (!wrong) return false;
  auto& [term, part] = times.above[use.level];
  term.Add(use.bytes / use.ceiling.per_second, roof);
  part = *wrong;
  if (use.ceiling.IsSpecified()) times.specified = true;
  times.above_remarks.push_back(AboveRoofRemark(use, *wrong));
  remarks.push_back(times.above_remarks.back());
  return true;
}

void AddMemoryTimes(const record::Record& record, const KnownWork& known,
                    const machine::Machine& machine, const machine::CeilingSet& ceilings,
                    double seconds, RoofTimes& times, Placement& placement) {
  for (const auto& [level, known_bytes] : known.bytes) {
    const double bytes = known_bytes.first;
    const auto roof = RoofOf(level, ceilings);
    if (!roof) {
      placement.remarks.push_back(
          fmt::format("the machine has no measured {} ceiling", Key(level)));
      continue;
    }
    if (bytes == 0) continue;
    if (roof->ceiling == nullptr) {
      AddUnusable(*roof, fmt::format("left out at {}", Key(level)), placement);
      continue;
    }
    const machine::Ceiling lower_limit{.per_second = roof->ceiling->per_second,
                                       .status = machine::CeilingStatus::kNotValidated};
    const auto& ceiling = roof->replaced ? lower_limit : *roof->ceiling;
    const LevelUse use{record, machine, ceiling, level, bytes, known_bytes.second, seconds};
    if (const auto reason = RefutedReason(use, *roof)) {
      placement.remarks.push_back(reason->text);
      if (level != Level::kDram) times.above_remarks.push_back(reason->text);
      continue;
    }
    if (AddAboveRoof(use, *roof, times, placement.remarks)) continue;
    times.memory[level].Add(bytes / roof->ceiling->per_second, *roof);
    times.specified = times.specified || roof->ceiling->IsSpecified();
  }
}

// Adds the reasons why a term's ceilings are not validated: to `uncertain` if the term binds (then
// the distance to the roof is a limit), otherwise to `asides`.
void ReportNotValidated(const RoofTerm& term, const RoofTerm& longest, Placement& placement) {
  const bool binds = longest.AtMost() && term.seconds >= longest.seconds;
  for (const auto& [name, reason] : term.not_validated)
    if (binds)
      placement.uncertain[name] = reason;
    else
      placement.asides.push_back(
          fmt::format("the {} ceiling is not validated, but does not bind: {}", name, reason));
}

void ReportRoofs(const KnownWork& known, const RoofTimes& times, Placement& placement) {
  const RoofTerm* longest = times.Longest();
  if (longest == nullptr || (known.flops != nullptr && !times.compute))
    return;  // nothing is placed
  if (times.specified && times.compute)
    placement.remarks.emplace_back(
        "placed under roofs that are specified, not measured: nothing validates them; bound and "
        "percentages are only as accurate as they are");
  if (times.compute) ReportNotValidated(*times.compute, *longest, placement);
  for (const auto& [level, term] : times.memory) ReportNotValidated(term, *longest, placement);
}

std::vector<ClassicPoint> PlaceClassic(const KnownWork& known, const RoofTimes& times,
                                       const record::Timing& timing) {
  std::vector<ClassicPoint> points;
  if (!times.compute) return points;
  const double flops = TotalFlops({.flops = *known.flops}).value();
  std::map<Level, RoofTerm> terms = times.memory;
  for (const auto& [level, above] : times.above) terms.emplace(level, above.first);
  for (const auto& [level, memory] : terms) {
    ClassicPoint point;
    const auto& [bytes, bytes_from] = known.bytes.at(level);
    const RoofTerm& longest = Longer(*times.compute, memory);
    point.level = level;
    point.intensity = flops / bytes;
    point.flops_per_second = flops / timing.median;
    if (timing.ci95) point.ci95 = {flops / timing.ci95->second, flops / timing.ci95->first};
    point.roof = flops / longest.seconds;
    point.memory_bound = memory.seconds > times.compute->seconds;
    point.share = {longest.seconds / timing.median, longest.AtMost()};
    point.flops_from = known.flops_from;
    point.bytes_from = bytes_from;
    points.push_back(point);
  }
  return points;
}

std::optional<BandwidthPoint> PlaceBandwidth(const KnownWork& known, const RoofTimes& times,
                                             const machine::CeilingSet& ceilings, double seconds) {
  std::optional<BandwidthPoint> point;
  double longest = 0;
  for (const auto& [level, term] : times.memory) {
    if (term.seconds <= longest) continue;
    longest = term.seconds;
    const auto& [bytes, from] = known.bytes.at(level);
    point = BandwidthPoint{.level = level,
                           .bytes_per_second = bytes / seconds,
                           .roof = bytes / term.seconds,
                           .share = {term.seconds / seconds, term.AtMost()},
                           .specified = ceilings.bytes.at(level).IsSpecified(),
                           .bytes_from = from};
  }
  return point;
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
    if (Longer(*times.compute, memory).AtMost()) point.not_validated_levels.push_back(level);
    if (memory.seconds <= roof_seconds) continue;
    roof_seconds = memory.seconds;
    point.bound = Bound::kMemory;
    point.bound_level = level;
  }
  for (const auto& [level, above] : times.above) point.above_roof[level] = above.second;
  point.overhead_seconds = OverheadSeconds(record, known, ceilings, seconds);
  if (roof_seconds < point.overhead_seconds.value_or(0)) {
    point.bound = Bound::kOverhead;
    point.bound_level.reset();
  }
  point.times_over_roof = seconds / roof_seconds;
  point.at_least = times.Longest()->AtMost();
  point.specified = times.specified;
  return point;
}

RoofTimes RoofTimesOf(const record::Record& record, const KnownWork& known, double seconds,
                      const machine::Machine& machine, const machine::CeilingSet& ceilings,
                      const PlaceView& view, Placement& placement) {
  RoofTimes times;
  if (known.flops == nullptr)
    placement.remarks.emplace_back("FLOPs are not known");
  else
    (view.tensor_balance ? AddTensorTime : AddComputeTime)(known, record.isa, ceilings, times,
                                                           placement);
  AddMemoryTimes(record, known, machine, ceilings, seconds, times, placement);
  placement.above_roof_remarks = times.above_remarks;
  ReportRoofs(known, times, placement);
  return times;
}

// Returns the sustained ceilings if the call was timed after the clock had settled, else nullopt.
std::optional<machine::CeilingSet> SustainedIfSteady(const record::Record& record,
                                                     const machine::CeilingSet& ceilings) {
  return record::IsSteady(record) ? std::optional(machine::Sustained(ceilings)) : std::nullopt;
}

}  // namespace

KnownWork BestKnown(const record::Record& record, const PlaceView& view) {
  KnownWork known;
  for (const Provenance from : AllProvenances()) {
    const auto* const work = FindValue(record.work, from);
    if (work == nullptr) continue;
    if (known.flops == nullptr && !work->flops.empty()) {
      known.flops = &work->flops;
      known.flops_from = from;
    }
    for (const auto& [level, bytes] : work->bytes)
      if (view.levels.empty() || std::ranges::count(view.levels, level) > 0)
        known.bytes.try_emplace(level, bytes, from);
    if (!known.launches) known.launches = work->launches;
  }
  return known;
}

double LargestCache(const machine::Machine& machine) {
  double largest = 0;
  for (const auto& [level, capacity] : machine.cache_bytes) largest = std::max(largest, capacity);
  return largest;
}

std::optional<Level> HoldingCache(const record::Record& record, const machine::Machine& machine,
                                  double bytes) {
  if (record.cache != "warm") return std::nullopt;
  const bool gpu = record.device == "gpu";
  for (const auto& [level, capacity] : machine.cache_bytes) {
    if (gpu && level != Level::kL2) continue;
    const bool per_core = !gpu && (level == Level::kL1 || level == Level::kL2);
    if (bytes <= capacity * (per_core ? record.threads.value_or(1) : 1)) return level;
  }
  return std::nullopt;
}

std::string_view Key(Bound bound) {
  constexpr KeyRow<Bound> kBounds[] = {
      {Bound::kCompute, "compute"}, {Bound::kMemory, "memory"}, {Bound::kOverhead, "overhead"}};
  return KeyIn(kBounds, bound);
}

std::string_view Key(WrongPart part) {
  constexpr KeyRow<WrongPart> kParts[] = {
      {WrongPart::kRoof, "roof"}, {WrongPart::kBytes, "bytes"}, {WrongPart::kUnknown, "unknown"}};
  return KeyIn(kParts, part);
}

std::optional<double> LaunchCost(const record::Record& record,
                                 const machine::CeilingSet& ceilings) {
  if (record.timed == record::timed::kKernels) return std::nullopt;
  if (record.timed == record::timed::kGraph)
    return FindCopy(ceilings.overheads, machine::kGraphNodeOverhead);
  if (record.timed == record::timed::kDevice || record.timed == record::timed::kThroughput)
    return FindCopy(ceilings.overheads, machine::kQueuedOverhead);
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
  if (auto& time = placement.time) {
    time->point_compute_seconds = time->compute_seconds * time->times_over_roof;
    for (const auto& [level, seconds] : time->memory_seconds)
      time->point_memory_seconds[level] = seconds * time->times_over_roof;
  }
  if (known.flops == nullptr)
    placement.bandwidth = PlaceBandwidth(known, times, *ceilings, timing->median);
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
