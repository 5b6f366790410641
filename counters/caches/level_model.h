// The counter source "model": bytes of one call at each cache level from the data reuse in its loop
// nests, for calls that nothing counts or simulates. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::caches {

// Advances one dimension by `step`, within the extent that the enclosing loops leave of it.
struct NestLoop {
  int dimension = 0;
  double step = 1;
  // Models a last, smaller iteration separately, as it may fit into a cache where others do not.
  bool last_apart = false;
};

// The range of a tensor axis that the dimensions address: for extents e it spans
// 1 + sum(scale * (e - 1)) elements, at most `limit`. For the rows of an image, scale is the stride
// for the output rows and the dilation for the taps.
struct NestTerm {
  int dimension = 0;
  double scale = 1;
};
struct NestAxis {
  std::vector<NestTerm> terms;
  double limit = 0;  // [1] elements
};

struct NestTensor {
  std::string name;
  double element_bytes = 0;
  std::vector<NestAxis> axes;
  // Iterations over this dimension touch only the share `partial` of the axes' range on average:
  // output rows at an image's edge, whose taps are partly outside.
  std::optional<int> partial_in;
  double partial = 1;  // [1]
};

struct ReuseNest {
  std::vector<double> sizes;    // [1] of each dimension
  std::vector<NestLoop> loops;  // outermost first; the innermost body touches each tensor once
  std::vector<NestTensor> tensors;
};

// [byte] that a tensor, or all tensors, span in the body of the first `around` loops (in the whole
// nest for 0 loops).
double Footprint(const ReuseNest& nest, const NestTensor& tensor, size_t around);
double Footprint(const ReuseNest& nest, size_t around);

enum class CacheStart { kEmpty, kSameNestBefore };

struct NestCache {
  double bytes = 0;  // [byte]
  int ways = 0;      // 0 for a fully associative cache
};

// [byte] fetched into an LRU cache, for each tensor of the nest. Written data is fetched too, once
// per visit. Write-backs are not counted.
//
// The largest body whose tensors fit together stays in the cache, so the loop around it fetches
// only the union of its iterations. Loops further out fetch a tensor again in each iteration,
// unless none of the loops in between moves it: a tensor in continuous use stays. (Stack distances
// as in Mattson et al. 1970; footprints of nested tiles as in Wolf and Lam, PLDI 1991.) With
// kSameNestBefore, tensors that never left the cache are not fetched at all.
//
// With `ways` the transition from fitting to not fitting is a ramp: sets fill unevenly, so the
// first set overflows half a way below the capacity and the last is full one way above it, and a
// quarter of the next iteration's data arrives before the old data has left. (These three numbers
// fit simulations near the transition, see baselines/studies/level_model/level_model_study.py.)
std::vector<double> FetchedBytes(const ReuseNest& nest, const NestCache& cache, CacheStart start);

// Returns the nest of one of `threads` threads that divide the outermost loop equally, and the next
// loops if it has too few iterations.
ReuseNest SharedBy(ReuseNest nest, int threads);

// The loops of a call: nests that run one after another.
struct LevelModel {
  std::vector<ReuseNest> nests;        // empty for a call that is not modelled
  std::optional<Reason> reason = {};   // why there are no nests
  double core_bytes = 0;               // [byte] loaded and stored by its instructions
  std::optional<double> core_loads;    // [1] vector loads, stores and broadcasts of one element
  std::optional<double> vector_bytes;  // [byte] per vector
  std::string how;                     // the assumed blocking, one line
};

// Contents of the caches when the call begins.
struct StartOfCall {
  bool weights_cached = true;  // tensors named "weights"
  bool others_cached = true;
};

// The share of each cache that one thread may fill.
using CacheShares = std::map<Level, NestCache>;
CacheShares SharesPerThread(const cpu::Topology& topology, const std::vector<int>& cpus);

// Returns the bytes of all threads by level: for L1 the loads and stores of the instructions, for
// L2 the lines fetched into L1, for L3 the lines fetched into L2, without write-backs. The result
// ends at the first level whose inner cache is not in `shares`.
std::map<Level, double> LevelBytes(const LevelModel& model, const CacheShares& shares, int threads,
                                   const StartOfCall& start);

}  // namespace dlroof::caches
