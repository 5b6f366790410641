// The counter source "model" for calls without hardware counters and simulation. It derives the
// bytes of one call at each cache level from the data reuse in the call's loop nests. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::caches {

// A loop that advances one dimension by `step`, within the tile of the enclosing loops.
struct NestLoop {
  int dimension = 0;
  double step = 1;
  // Models a last, smaller iteration separately, as it may fit into a cache where others do not.
  bool last_apart = false;
};

// A dimension's contribution to the range of a tensor axis: for extents e of the dimensions, the
// axis spans 1 + sum(scale * (e - 1)) elements, at most NestAxis::limit. For the rows of an image,
// scale is the stride for the output rows and the dilation for the filter taps.
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
  // Iterations over the dimension `partial_in` touch only the share `partial` of the range on
  // average. Example: output rows at an image's edge, whose filter taps are partly outside.
  std::optional<int> partial_in;
  double partial = 1;  // [1]
};

struct ReuseNest {
  std::vector<double> sizes;    // [1] size of each dimension
  std::vector<NestLoop> loops;  // outermost first; the innermost body touches each tensor once
  std::vector<NestTensor> tensors;
};

// [byte] Returns the memory that one tensor, or all tensors, span in the body of the first `around`
// loops, or in the whole nest for `around` = 0.
double Footprint(const ReuseNest& nest, const NestTensor& tensor, size_t around);
double Footprint(const ReuseNest& nest, size_t around);

enum class CacheStart { kEmpty, kSameNestBefore };

struct NestCache {
  double bytes = 0;  // [byte] capacity
  int ways = 0;      // 0 for a fully associative cache
};

// [byte] Returns the bytes that an LRU cache fetches, for each tensor of the nest. Written data is
// fetched too. Write-backs are not counted.
//
// The largest loop body whose tensors fit together stays in the cache, so the loop around this body
// fetches only the union of its iterations. Each iteration of a loop further out fetches a tensor
// again, unless neither this loop nor a loop inside it moves the tensor. (Stack distances as in
// Mattson et al. 1970; footprints of nested tiles as in Wolf and Lam, PLDI 1991.) With
// kSameNestBefore, tensors that never left the cache are not fetched at all.
//
// With `ways` the transition from fitting to not fitting is gradual, as sets fill unevenly: the
// first set overflows half a way below the capacity and the last one way above it, and a quarter of
// the next iteration's data arrives before the old data has left. (These three numbers fit
// simulations near the transition, see baselines/studies/level_model/level_model_study.py.)
std::vector<double> FetchedBytes(const ReuseNest& nest, const NestCache& cache, CacheStart start);

// Returns the loop nest of one of `threads` threads that divide the outermost loop equally, and
// also the next loops if the outermost has too few iterations.
ReuseNest SharedBy(ReuseNest nest, int threads);

// The loop nests of a call, which run one after another.
struct LevelModel {
  std::vector<ReuseNest> nests;        // empty if the call is not modelled
  std::optional<Reason> reason = {};   // why there are no nests
  double core_bytes = 0;               // [byte] loaded and stored by the instructions
  std::optional<double> core_loads;    // [1] vector loads and stores, broadcasts of one element
  std::optional<double> vector_bytes;  // [byte] per vector
  std::string how;                     // the blocking that the model assumes, one line
};

// Which tensors the caches contain when the call begins.
struct StartOfCall {
  bool weights_cached = true;  // tensors named "weights"
  bool others_cached = true;   // all other tensors
};

// The part of each cache that one thread may fill.
using CacheShares = std::map<Level, NestCache>;
CacheShares SharesPerThread(const cpu::Topology& topology, const std::vector<int>& cpus);

// Returns the bytes of all threads by level: for L1 the loads and stores of the instructions, for
// L2 the bytes fetched into L1, for L3 the bytes fetched into L2, without write-backs. `shares` may
// lack a cache; then the bytes fetched into it are missing, and those of all outer levels.
std::map<Level, double> LevelBytes(const LevelModel& model, const CacheShares& shares, int threads,
                                   const StartOfCall& start);

}  // namespace dlroof::caches
