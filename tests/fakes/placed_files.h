// The run files of tests/data, placed on their roofs.
#pragma once

#include <string>

#include "reporters/roofline/placed_run.h"
#include "tests/fakes/run_files.h"

namespace dlroof::fakes {

inline roofline::PlacedRun ReadPlaced(const std::string& name) {
  return roofline::PlaceRun(StoredRun(name));
}

// tests/data/run_small.json, worked by hand: 2 threads reach 200 GFLOP/s (fp32.vector), 1600
// (bf16.matrix), 3200 (int8.matrix, not validated) and 800, 400, 80, 20 GB/s (L1, L2, L3, DRAM); 1
// thread half of each.
inline roofline::PlacedRun SmallRun() { return ReadPlaced("run_small.json"); }

// Ceilings with proofs, mixes, curves and overheads; see document_test.cpp.
inline roofline::PlacedRun CeilingsRun() { return ReadPlaced("run_ceilings.json"); }

// The ceilings of a run's machine that most of the tests look at.
inline machine::CeilingSet& TwoThreadsOf(roofline::PlacedRun& run) {
  return run.file.machines.at(0).by_threads.at(2);
}

}  // namespace dlroof::fakes
