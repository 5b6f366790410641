// The facts of a record's ledger from its placement.

#include <algorithm>

#include "reporters/ledger/gpu_ledger.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof {
namespace {

// Fills in the binding roof and the levels beside it.
void AddRoofs(const Placement& placement, LedgerFacts& facts, std::optional<Level>& binding) {
  const auto& time = *placement.time;
  if (!placement.classic.empty()) facts.roof_from = placement.classic.front().flops_from;
  for (const auto& point : placement.classic) {
    const auto seconds = time.memory_seconds.find(point.level);
    if (seconds == time.memory_seconds.end() || seconds->second <= facts.roof_seconds) continue;
    facts.roof_seconds = seconds->second;
    facts.roof = LevelName(Key(point.level));
    facts.roof_from = point.bytes_from;
    facts.arithmetic = false;
    binding = point.level;
  }
  for (const auto& point : placement.classic) {
    const auto seconds = time.memory_seconds.find(point.level);
    if (seconds == time.memory_seconds.end() || point.level == binding || point.level == Level::kL1)
      continue;
    facts.levels.push_back({LevelName(Key(point.level)), seconds->second, point.bytes_from});
  }
}

// Returns the nearest cache of all threads together that holds so many bytes; absent: none does.
std::optional<Level> HolderOf(double bytes, const Machine& machine, int threads) {
  for (const auto& [level, capacity] : machine.cache_bytes) {
    const bool own = level == Level::kL1 || level == Level::kL2;
    if (bytes <= capacity * (own ? threads : 1)) return level;
  }
  return std::nullopt;
}

// A warm call's compulsory bytes that a cache holds never come from DRAM: they are that cache's,
// unless the model of its loops has told its bytes.
void MoveToHolder(const Record& record, const Machine& machine, const CeilingSet& ceilings,
                  std::vector<LevelTime>& levels) {
  if (record.cache != "warm") return;
  const auto dram = std::ranges::find(levels, LevelName(Key(Level::kDram)), &LevelTime::level);
  const auto rate = ceilings.bytes.find(Level::kDram);
  if (dram == levels.end() || dram->from != Provenance::kModelled || rate == ceilings.bytes.end())
    return;
  const double bytes = dram->seconds * rate->second.per_second;
  const auto holder = HolderOf(bytes, machine, record.threads);
  if (!holder) return;
  levels.erase(dram);
  const auto own = ceilings.bytes.find(*holder);
  const auto name = LevelName(Key(*holder));
  if (*holder == Level::kL1 || own == ceilings.bytes.end() ||
      std::ranges::find(levels, name, &LevelTime::level) != levels.end())
    return;
  levels.push_back({name, bytes / own->second.per_second, Provenance::kModelled});
}

// Fills in what the same roof asks for under the ceilings of one thread.
void AddAlone(const Record& record, const Machine& machine, const PlaceView& view,
              const std::optional<Level>& binding, LedgerFacts& facts) {
  Record alone = record;
  alone.threads = 1;
  const auto time = PlaceTime(alone, facts.seconds, machine, view);
  if (!time) return;
  facts.alone_compute_seconds = time->compute_seconds;
  if (!binding)
    facts.alone_roof_seconds = time->compute_seconds;
  else if (const auto found = time->memory_seconds.find(*binding);
           found != time->memory_seconds.end())
    facts.alone_roof_seconds = found->second;
}

// [s] of the vector loads at the rate of vectors of that width from L1.
std::optional<double> LoadSeconds(const ParallelTime& parallel, const CeilingSet& ceilings) {
  if (!parallel.vector_loads || !parallel.vector_bytes) return std::nullopt;
  const auto* isa = *parallel.vector_bytes == 64   ? "avx512"
                    : *parallel.vector_bytes == 32 ? "avx2"
                                                   : "sse2";
  const auto loads = ceilings.mixes.find(std::string("l1.load.") + isa);
  if (loads == ceilings.mixes.end()) return std::nullopt;
  return *parallel.vector_loads * *parallel.vector_bytes / loads->second.per_second;
}

std::optional<Ledger> GpuLedgerOf(const Record& record, const LedgerFacts& facts) {
  return MakeGpuLedger({.seconds = facts.seconds,
                        .roof_seconds = facts.roof_seconds,
                        .roof_from = facts.roof_from,
                        .roof = facts.roof,
                        .launch_seconds = facts.call_seconds,
                        .levels = facts.levels,
                        .kernels = record.kernels});
}

}  // namespace

std::optional<Ledger> LedgerOf(const Record& record, const Placement& placement,
                               const Machine& machine, const PlaceView& view) {
  const auto* ceilings = ForThreads(machine, record.threads);
  const bool gpu = record.device == "gpu";
  if ((!gpu && !record.parallel) || !placement.time || ceilings == nullptr) return std::nullopt;
  LedgerFacts facts{.seconds = placement.time->seconds,
                    .roof_seconds = placement.time->compute_seconds,
                    .roof = "arithmetic",
                    .call_seconds = ceilings->launch_seconds,
                    .parallel = record.parallel.value_or(ParallelTime{})};
  std::optional<Level> binding;
  AddRoofs(placement, facts, binding);
  if (gpu) return GpuLedgerOf(record, facts);
  MoveToHolder(record, machine, *ceilings, facts.levels);
  AddAlone(record, machine, view, binding, facts);
  facts.load_seconds = LoadSeconds(facts.parallel, *ceilings);
  return MakeLedger(facts);
}

}  // namespace dlroof
