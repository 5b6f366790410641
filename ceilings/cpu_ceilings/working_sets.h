// The working sets that confine memory kernels to one memory level. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::cpu_ceilings {

// A set smaller than this many times a nearer cache is partly served by that cache.
inline constexpr double kServedBelow = 2;
// [byte] DRAM set of all threads if the system reports no cache sizes.
inline constexpr double kUnknownCacheDramBytes = 1 << 30;

// One thread's data at a level.
struct WorkingSet {
  double bytes = 0;              // [byte] of one thread, all streams together
  std::string how;               // "16 KiB per thread, half of L1 (32 KiB)"
  std::optional<Reason> reason;  // why its rate cannot be a validated ceiling of the level
};

struct WorkingSets {
  std::map<Level, std::vector<WorkingSet>> sets;  // at least one per level, the usual best first
  std::map<Level, std::string> absent;            // the other levels, each with a reason
  double largest_bytes = 0;                       // [byte] largest set of one thread, for sweeps
};

// Chooses the sets of each level.
// L1, L2: a half, a quarter and three quarters of the thread's share. L2 sets below twice the share
// of
//   L1 are left out unless they are at least half of L2.
// L3: the geometric mean of the thread's shares of L2 and L3, half of its share of L3, and 3 x L2;
// at
//   least 3 x L2 and at most 3/4 of the share of L3. L3 has no set if its share is below 2 x L2.
// DRAM: over all threads 4 x the caches of all levels that they use, at least `least_dram_bytes`
// and
//   at most half of `available_bytes`.
WorkingSets ChooseWorkingSets(const cpu::Topology& topology, const std::vector<int>& cpus,
                              std::optional<double> available_bytes, double least_dram_bytes = 0);

// Returns one thread's share [byte] of each level whose size is known.
std::map<Level, double> ThreadShares(const cpu::Topology& topology, const std::vector<int>& cpus);

// Returns why a nearer cache serves part of a set of `bytes` per thread: with many replacement
// policies a share that is at least half of the set does.
std::optional<Reason> NearerCacheReason(const cpu::Topology& topology, const std::vector<int>& cpus,
                                        Level level, double bytes);

// Returns the CPUs of each NUMA node, by the node's number. Returns no teams if there are fewer
// than two nodes or if the node of a CPU is unknown.
std::map<int, std::vector<int>> NodeTeams(const cpu::Topology& topology,
                                          const std::vector<int>& cpus);

// Returns "16 KiB" or "1.5 MiB".
std::string SizeText(double bytes);

}  // namespace dlroof::cpu_ceilings
