// A source of counts says what one call did: FLOPs by pipe, bytes by level. Sources are rows of a
// table: hardware counters, a cache simulation, formulas.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof {

// One call to be counted. `run` may be called any number of times; each call does the same.
struct CountRequest {
  std::string name;                // the benchmark's, a repro line
  std::function<void()> run;       // one call, finished when it returns
  std::function<void()> ready;     // before each call, not to be counted; may be empty
  std::vector<std::string> pipes;  // that the call is known to use ("fp32.vector"), best first
  int threads = 1;                 // that work on it, the calling one among them
  std::string made_by;             // libraries with their versions: what else decides a call
  unsigned seed = 1;               // of its data
  bool blocks_wait = false;        // a GPU's blocks wait for each other: all must be resident
  std::function<Work(std::string& how)> model;  // bytes from a model of its loops; may be empty
};

struct Counted {
  Work work;  // of ONE call; a quantity that this source cannot tell is absent
  std::vector<LaunchedKernel> kernels;  // of one call, the longest first; empty: not known
  std::string how;  // "perf: 3 groups, 12 calls each", "CUPTI range profiler, 2 passes"
  std::vector<std::string> doubts;  // what lessens the trust in it, a sentence each
  int passes = 0;                   // how many runs of the call the counting took
};

struct CounterSource {
  std::string name;    // "perf", "cupti", "simulate", "model": what --dlroof_counters asks for
  std::string device;  // "cpu", "gpu"
  Provenance provenance = Provenance::kModelled;
  // Why it cannot count here, with the cure, in one sentence; empty: it can.
  std::function<std::string()> unavailable;
  // Throws std::exception with one sentence when the counting itself fails: the run goes on.
  std::function<Counted(const CountRequest&)> count;
};

// Called by each source's file at namespace scope: [[maybe_unused]] const bool registered =
// RegisterCounterSource({...}); Replaces a source of this name and device that has no `count`: it
// stood for one that is loaded later.
bool RegisterCounterSource(CounterSource source);
const std::vector<CounterSource>& AllCounterSources();

}  // namespace dlroof
