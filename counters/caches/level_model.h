// Bytes that a loop nest fetches into a cache, by reuse: the model of L1, L2 and L3 traffic where
// no counter is available. Pure.
//
// Bytes of one call at each cache level from a model of its loops: what the counter source "model"
// says where nothing counts or simulates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::caches {

// Advances one dimension by `step`, within what the loops around it left of that dimension.
struct NestLoop {
  int dimension = 0;
  double step = 1;
  // Its last, smaller iteration is reckoned by itself: it may keep what the others cannot.
  bool last_apart = false;
};

// A range of one of a tensor's axes, as the dimensions move it: over extents e it spans
// 1 + sum(scale * (e - 1)), and never more than `limit` (an image's rows: scale is the stride for
// the output rows, the dilation for the taps).
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
  // An iteration over this dimension touches only this share of what the axes say, on average:
  // output rows at an image's edge, whose taps lie partly outside. -1: none.
  int partial_in = -1;
  double partial = 1;  // [1]
};

struct ReuseNest {
  std::vector<double> sizes;    // [1] of each dimension
  std::vector<NestLoop> loops;  // outermost first; the innermost body touches each tensor once
  std::vector<NestTensor> tensors;
};

// [byte] that the tensors span over the body of the first `around` loops; 0: over the whole nest.
double Footprint(const ReuseNest& nest, const NestTensor& tensor, size_t around);
double Footprint(const ReuseNest& nest, size_t around);

enum class CacheStart { kEmpty, kSameNestBefore };

struct NestCache {
  double bytes = 0;  // [byte]
  int ways = 0;      // 0: fully associative
};

// [byte] fetched into an LRU cache, by tensor in the order of the nest. Written data counts as
// fetched, once per visit. Write-backs are not counted.
//
// The largest body whose tensors fit together keeps everything that it touches: the loop around it
// fetches the union of its iterations only. Further out a tensor is fetched anew in each iteration,
// but for one that none of the loops in between moves: it stays in use, so it stays. (Stack
// distances as in Mattson et al. 1970; footprints of nested tiles as in Wolf and Lam, PLDI 1991.)
// After the same nest before, tensors that never left are not fetched at all.
//
// With `ways` the step from fits to does not is a ramp: sets fill unevenly, so the first overflow
// half a way below the capacity and the last are full one way above it; and a quarter of what the
// next iteration replaces is there before the old has left. (These three numbers fit simulations
// near the step, see baselines/studies/level_model/level_model_study.py.)
std::vector<double> FetchedBytes(const ReuseNest& nest, const NestCache& cache, CacheStart start);

// The nest of one of `threads` threads that share the iterations of the outer loops alike: the
// outermost loop is divided, and the next ones where it has too few iterations.
ReuseNest SharedBy(ReuseNest nest, int threads);

// The loops of a call: nests that run one after another.
struct LevelModel {
  std::vector<ReuseNest> nests;  // empty: this call is not modelled
  double core_bytes = 0;         // [byte] loaded and stored by its instructions
  double core_loads = 0;         // [1] loads and stores of vectors, or of one element for a vector
  double vector_bytes = 0;       // [byte]; with `core_loads` 0: these are not modelled
  std::string how;               // the blocking assumed, one line
  std::string why_not;           // with no nests: why
};

// Contents of the caches when the call begins.
struct StartOfCall {
  bool weights_cached = true;  // tensors named "weights"
  bool others_cached = true;
};

// The part of each cache that one thread may fill, the others' shares taken off.
using CacheShares = std::map<Level, NestCache>;
CacheShares SharesPerThread(const cpu::Topology& topology, const std::vector<int>& cpus);

// L1: what the instructions load and store. L2: what is fetched into L1 from it. L3: what is
// fetched into L2. Each counts a line once per fetch, written ones too; write-backs are not
// counted. Levels whose nearer cache is not in `shares` are absent. Threads share the outer
// loops alike; the bytes are those of all.
std::map<Level, double> LevelBytes(const LevelModel& model, const CacheShares& shares, int threads,
                                   const StartOfCall& start);

}  // namespace dlroof::caches
