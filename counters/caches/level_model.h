// Bytes of one call at each cache level from a model of its loops: what the counter source "model"
// says where nothing counts or simulates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "counters/caches/reuse_nest.h"
#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::caches {

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
