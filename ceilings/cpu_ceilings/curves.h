// The curves beside the roofs. Bandwidth by working set: the sizes to measure, the edges of the
// curve at the ends of the caches, and their comparison with the reported cache sizes. FLOP/s by
// intensity: the intensities to measure around the knee, and their comparison with the roofs. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

// Returns working sets [byte] of one thread from 4 KiB to `largest_bytes`, four per octave.
std::vector<double> SweepSizes(double largest_bytes);

// A fall of the curve: the end of a memory level.
struct CapacityEdge {
  double bytes = 0;              // [byte] the curve falls beyond this working set
  double before = 0, after = 0;  // [byte/s] the rates between which it falls
};

// Finds the edges of a curve, which is sorted by rising working set. Each rate counts as at least
// that of every larger working set, because interference only slows. The curve falls where a step
// loses 3 % or more. Falls with fewer than four points (an octave, the shortest level) between them
// are one fall. An edge is a fall of 12 % or more that is followed by at least four points; a fall
// that reaches the end of the curve is cut off there (after a victim cache the curve has no plateau
// for long). The edge is at a quarter of the fall, in logarithms. A level whose curve is all slope
// is not found.
std::vector<CapacityEdge> FindCapacityEdges(const std::vector<machine::SweepPoint>& curve);

// The reported and the measured cache sizes of one team of threads.
struct LevelEdges {
  std::string source;                   // of the reported sizes: "hwloc"
  std::map<Level, double> reported;     // [byte] one thread's share of the level's caches
  std::map<Level, CapacityEdge> found;  // the edges of the levels that have one (MatchEdges)
};

// Returns the edge at the end of each level: the nearest to its reported size within a factor of 4.
// If the farthest level then has no edge, it gets the last edge if that is no other level's and is
// between the sizes of this and the next nearer level: a virtual machine may get any part of a
// shared cache.
std::map<Level, CapacityEdge> MatchEdges(const std::vector<CapacityEdge>& edges,
                                         const std::map<Level, double>& reported);

// Compares the curve with the reported size of a level: "the curve falls at 1.1 MiB, from 110 to 24
// GB/s; hwloc says 1 MiB: they agree". Sizes within a factor of 2 agree.
machine::SweepFinding CompareEdge(const LevelEdges& edges, Level level);

// Returns why `per_second` [byte/s] of all threads, on arrays of `bytes` per thread, may not be the
// rate of the level: the reported size and the edge of a cache differ by more than a factor of 2,
// and either the arrays are beyond the level's own edge and at least 10 % slower than the curve
// before it, or a nearer cache is so much larger than reported that it has half of the arrays.
std::optional<Reason> EdgeReason(const LevelEdges& edges, Level level, double bytes,
                                 double per_second);

// Returns the caches of a system that reports no sizes, from the edges of a single thread and of
// one thread on each of `cpus` together (working sets of one thread in both). The first edge is the
// end of L1, the second of L2, the last of three or more the end of L3, which all CPUs are assumed
// to share. L1 and L2 are shared by as many consecutive CPUs as the size is larger for a single
// thread.
std::map<Level, std::map<int, cpu::CacheInstance>> CachesFromEdges(
    const std::vector<CapacityEdge>& single, const std::vector<CapacityEdge>& together,
    const std::vector<int>& cpus);

// ---- the knee ----

// The pipe of the ridge kernels' multiply-adds.
inline constexpr const char* kRidgePipe = "fp32.vector";

// Returns up to eight consecutive `rows` (sorted by rising intensity) around `knee` [flop/byte].
std::vector<cpu_kernels::RidgeRow> RidgeRowsAround(std::span<const cpu_kernels::RidgeRow> rows,
                                                   double knee);

// Marks a roof as not validated if a point of a ridge exceeds it by more than 3 %: no kernel is
// faster than the compute roof or the intensity times the level's bandwidth. The reason names the
// point. The compute roofs are the plain pipe and the row of the same rate.
void CompareRidges(machine::CeilingSet& set);

}  // namespace dlroof::cpu_ceilings
