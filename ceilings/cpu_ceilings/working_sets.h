// Sizes of the arrays with which memory kernels measure one memory level. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/work.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

// A nearer cache serves part of the traffic if the working set is below kServedBelow x its size.
inline constexpr double kServedBelow = 2;
// [byte] Working set of all threads in DRAM if the system reports no cache sizes.
inline constexpr double kUnknownCacheDramBytes = 1 << 30;

// The arrays of one thread that measure a memory level.
struct WorkingSet {
  double bytes = 0;              // [byte] of one thread, all arrays together
  std::string how;               // "16 KiB per thread, half of L1 (32 KiB)"
  std::optional<Reason> reason;  // why rates on this set cannot validate the level's roof
};

struct WorkingSets {
  std::map<Level, std::vector<WorkingSet>> sets;  // the set that is usually the fastest comes first
  std::map<Level, std::string> absent;            // why a level has no working set
  double largest_bytes = 0;  // [byte] largest working set of one thread in a sweep
};

// Returns the working sets per thread, from a thread's shares (L1, L2, L3) of the caches:
// - L1, L2: half, a quarter and three quarters of the share. L2 sets below 2 x L1 are left out
//   unless they are at least L2 / 2.
// - L3: sqrt(L2 x L3), L3 / 2 and 3 x L2, each limited to [3 x L2, 3/4 x L3]. None if L3 < 2 x L2.
// - DRAM: for all threads together 4 x all caches that they use, at most `available_bytes` / 2.
WorkingSets ChooseWorkingSets(const cpu::Topology& topology, const std::vector<int>& cpus,
                              std::optional<double> available_bytes);

// Returns one thread's share [byte] of each cache level whose size is known.
std::map<Level, double> ThreadShares(const cpu::Topology& topology, const std::vector<int>& cpus);

// Returns a reason if a cache nearer than `level` serves part of the traffic of a working set of
// `bytes` per thread: a thread's share of it is more than half of the set.
std::optional<Reason> NearerCacheReason(const cpu::Topology& topology, const std::vector<int>& cpus,
                                        Level level, double bytes);

// Returns "16 KiB" or "1.5 MiB".
std::string SizeText(double bytes);

}  // namespace dlroof::cpu_ceilings
