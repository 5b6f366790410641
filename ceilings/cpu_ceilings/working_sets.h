// The working sets that keep memory kernels at one level. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::cpu_ceilings {

// A set below so many times a nearer cache is served by it in part.
inline constexpr double kHelpedBelow = 2;
// [byte] of all threads, for DRAM, where the system tells no cache size.
inline constexpr double kUnknownCacheDramBytes = 1 << 30;

// One thread's data at a level.
struct WorkingSet {
  double bytes = 0;  // [byte] of one thread, all streams together
  std::string how;   // "16 KiB per thread, half of L1 (32 KiB)"
  std::string
      reason;  // why a rate with it cannot be a validated ceiling of the level; usually empty
};

struct WorkingSets {
  std::map<Level, std::vector<WorkingSet>> sets;  // candidates, the usual best first; none is empty
  std::map<Level, std::string> absent;            // one sentence each
  double largest_bytes = 0;                       // [byte] of one thread, for a sweep over sizes
};

// L1 and L2: a half, a quarter and three quarters of the thread's share, so that nothing that stays
// in the level is faster; of L2 none below twice the share of L1, unless it is half of L2 or more.
// L3: the geometric mean of the thread's shares of L2 and L3, half of that of L3, and 3 x L2; at
// least 3 x L2 and at most 3/4 of the share of L3; absent when that share is below 2 x L2. DRAM:
// together 4 x the caches in use, of all levels, and at least `least_dram_bytes`, at most half of
// `available_bytes`.
WorkingSets ChooseWorkingSets(const cpu::Topology& topology, const std::vector<int>& cpus,
                              std::optional<double> available_bytes, double least_dram_bytes = 0);

// [byte] of each of these threads, by the levels whose size is known.
std::map<Level, double> ThreadShares(const cpu::Topology& topology, const std::vector<int>& cpus);

// Returns why a nearer cache would serve a set of `bytes` per thread; empty: it would not. A share
// that holds half of the set serves it under many replacement policies.
std::string NearerCacheReason(const cpu::Topology& topology, const std::vector<int>& cpus,
                              Level level, double bytes);

// Returns the CPUs of each NUMA node, by its number: teams whose memory is local. Empty with fewer
// than two nodes, or where a CPU's node is unknown.
std::map<int, std::vector<int>> NodeTeams(const cpu::Topology& topology,
                                          const std::vector<int>& cpus);

// "16 KiB", "1.5 MiB".
std::string SizeText(double bytes);

}  // namespace dlroof::cpu_ceilings
