// Curves that check the roofs. (1) Bandwidth by working set: its falls show where caches end, for
// comparison with the reported cache sizes. (2) FLOP/s by arithmetic intensity around the knee (the
// intensity at which memory and compute roof meet): no point may exceed a roof. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/work.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

// A cache serves part of the traffic of working sets below kServedBelow x the cache's size.
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

// Returns a reason if a thread's share of a cache nearer than `level` is more than half of its
// working set of `bytes`: that cache serves part of the traffic. Otherwise returns nullopt.
std::optional<Reason> NearerCacheReason(const cpu::Topology& topology, const std::vector<int>& cpus,
                                        Level level, double bytes);

// Returns "16 KiB" or "1.5 MiB".
std::string SizeText(double bytes);

// Returns working sets [byte] of one thread from 4 KiB to `largest_bytes`, four per octave.
std::vector<double> SweepSizes(double largest_bytes);

// A working set at which the bandwidth falls, because a cache ends.
struct CapacityEdge {
  double bytes = 0;              // [byte] the bandwidth falls beyond this working set
  double before = 0, after = 0;  // [byte/s] bandwidth before and after the fall
};

// Returns the edges of a curve, which must be sorted by rising working set. Each rate is first
// raised to the highest rate of any larger working set, because interference only slows.
// Consecutive steps that each lose 3 % or more form a fall. Falls less than four points (an octave)
// apart are joined. A fall ends at the latest at the fourth point from the curve's end, because a
// victim cache leaves no long plateau. A fall of 12 % or more is an edge; its `bytes` are at a
// quarter of the fall, on logarithmic scales. A cache without a plateau is not found.
std::vector<CapacityEdge> FindCapacityEdges(const std::vector<machine::SweepPoint>& curve);

// The reported and the measured cache sizes of one team of threads.
struct LevelEdges {
  std::map<Level, double> reported;     // [byte] by hwloc: a thread's share of the level's caches
  std::map<Level, CapacityEdge> found;  // the edge of each level (MatchEdges), if found
};

// Returns for each level the edge nearest to its reported size, within a factor of 4. If the
// farthest cache has no such edge, it gets the curve's last edge, provided that this is beyond the
// edges of all other levels and between the reported sizes of the two farthest caches: a virtual
// machine may have only part of the farthest cache.
std::map<Level, CapacityEdge> MatchEdges(const std::vector<CapacityEdge>& edges,
                                         const std::map<Level, double>& reported);

// Compares the edge of a level with its reported size; they agree within a factor of 2. The text is
// for example "the curve falls at 1.1 MiB, from 110 to 24 GB/s; hwloc says 1 MiB: they agree".
machine::SweepFinding CompareEdge(const LevelEdges& edges, Level level);

// Returns a reason if `per_second` [byte/s] of all threads on arrays of `bytes` per thread may not
// be the bandwidth of `level`: a cache's edge is not within a factor of 2 of its reported size, and
// - the cache is that of `level`, the arrays exceed the edge, and `per_second` is at least 10 %
//   below the rate before the edge, or
// - the cache is nearer, larger than reported, and larger than half of the arrays.
std::optional<Reason> EdgeReason(const LevelEdges& edges, Level level, double bytes,
                                 double per_second);

// ---- the knee ----

// The pipe whose roof limits the ridge kernels, which do fp32 multiply-adds.
inline constexpr const char* kRidgePipe = "fp32.vector";

// Returns up to eight consecutive `rows` (sorted by rising intensity) around `knee` [flop/byte].
std::vector<cpu_kernels::RidgeRow> RidgeRowsAround(std::span<const cpu_kernels::RidgeRow> rows,
                                                   double knee);

// Marks a roof as not validated if a measured point exceeds it by more than 3 %: no kernel can be
// faster than the compute roof or than its intensity times the level's bandwidth. The reason names
// the point. Marks the compute roof in both places, pipe and row.
void CompareRidges(machine::CeilingSet& set);

}  // namespace dlroof::cpu_ceilings
