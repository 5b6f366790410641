// The curves beside the roofs. Bandwidth over working sets: the sizes to measure, the ends of the
// memory levels, and their comparison with the system's sizes. The knee between bandwidth and
// arithmetic: the intensities to measure, and their comparison with the roofs. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

// [byte] working sets of one thread from 4 KiB up to `largest_bytes`, four per octave.
std::vector<double> SweepSizes(double largest_bytes);

// Where a level ends.
struct CapacityEdge {
  double bytes = 0;              // [byte] the curve falls beyond this working set
  double before = 0, after = 0;  // [byte/s] the rates between which it falls
};

// The edges of a curve by rising working set. Each rate counts as at least that of every larger
// working set, since a interference only slows. The curve falls where a step loses 3 % or more;
// falls with fewer than four points between them are one, for a level is at least that long (an
// octave); an edge is a fall of 12 % or more to at least four points: of one that goes on to the
// curve's end (behind a cache that takes what others throw out there is no plateau for long) what
// happens before its last four. It lies where a quarter of the fall, in logarithms, has happened. A
// level between two others that is all slope is not found.
std::vector<CapacityEdge> FindCapacityEdges(const std::vector<machine::SweepPoint>& curve);

// The told and the found sizes of the caches of one team of threads.
struct LevelEdges {
  std::string teller;                   // who says the sizes: "hwloc"
  std::map<Level, double> told;         // [byte] one thread's share of the level's caches
  std::map<Level, CapacityEdge> found;  // MatchEdges of these; a level without an edge is absent
};

// Returns the edge at the end of each level: the nearest to its size within a factor of 4. The
// farthest level, if still without an edge, gets the last one. This edge must be no other level's,
// and between its size and that of the level before it: a virtual machine may get any part of a
// shared cache.
std::map<Level, CapacityEdge> MatchEdges(const std::vector<CapacityEdge>& edges,
                                         const std::map<Level, double>& told);

// Compares the curve with a level whose size is known: "the curve falls at 1.1 MiB, from 110 to 24
// GB/s; hwloc says 1 MiB: they agree". Sizes within a factor of 2 agree.
machine::SweepFinding CompareEdge(const LevelEdges& edges, Level level);

// Returns why `per_second` [byte/s] of all threads, on arrays of `bytes` per thread, may not be the
// level's; empty: no doubt. It doubts only where the told size and the edge differ by more than a
// factor of 2. The arrays are beyond the level's edge, and 10 % or more slower than the curve
// before it. Or a nearer level's late edge shows that it holds half of them.
std::string EdgeReason(const LevelEdges& edges, Level level, double bytes, double per_second);

// The caches of a system that tells no sizes, as edges show them: of one thread alone, and of one
// thread on each of `cpus` together (working sets of one thread in both). The first edge is the end
// of L1, the second of L2, the last of three or more that of L3, which all CPUs are taken to share;
// L1 and L2 belong to as many CPUs in a row as the size is larger for one thread alone. Empty
// without edges.
std::map<Level, std::map<int, cpu::CacheInstance>> CachesFromEdges(
    const std::vector<CapacityEdge>& alone, const std::vector<CapacityEdge>& together,
    const std::vector<int>& cpus);

// ---- the knee ----

// The pipe that the ridge kernels' multiply-adds run on.
inline constexpr const char* kRidgePipe = "fp32.vector";

// Returns up to eight neighbours of `rows` (by rising intensity) around `knee` [flop/byte].
std::vector<cpu_kernels::RidgeRow> RidgeRowsAround(std::span<const cpu_kernels::RidgeRow> rows,
                                                   double knee);

// Doubts a roof that a ridge's point exceeds by more than 3 %, since no kernel is faster than both
// of its roofs. The roofs are the compute roof, and the intensity times the level's bandwidth. The
// reason names the point. Compute roofs are the plain pipe and the finer row of the same rate.
void CompareRidges(machine::CeilingSet& set);

}  // namespace dlroof::cpu_ceilings
