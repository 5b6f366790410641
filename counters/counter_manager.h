// A source of counts says what one call did: FLOPs by pipe, bytes by level. Sources are rows of a
// table: hardware counters, a cache simulation, formulas.
//
// The counter manager: asks the sources about one call, best first, and keeps of each quantity the
// source that counted it. A source that fails costs a sentence, never the run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
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
  std::vector<std::string> caveats;  // what lessens the trust in it, a sentence each
  int passes = 0;                    // how many runs of the call the counting took
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

// A choice of --dlroof_counters is a source's name: that source, then the models. Or:
inline constexpr std::string_view kAutoCounters =
    "auto";                                             // hardware's where there are, then models
inline constexpr std::string_view kNoCounters = "off";  // closed forms of the problem alone

// Returns every choice: kAutoCounters, the names in `sources`, kNoCounters.
std::vector<std::string> CounterChoices(const std::vector<CounterSource>& sources);

struct Counting {
  std::map<Provenance, Work> work;
  // Each says how a source counted (with its provenance), a doubt, or why a source gave nothing.
  std::vector<CountingNote> notes;
  std::vector<LaunchedKernel> kernels;  // of the best source that knows them
};

// Asks those of `sources` that `choice` means and that are for `device`. Kept is what is finite and
// not negative. FLOPs of a source that cannot tell those of all the pipes in `request.pipes` are
// dropped, with a sentence: they would be part of the work only.
Counting CountCall(std::string_view choice, std::string_view device, const CountRequest& request,
                   const std::vector<CounterSource>& sources);

// Why the source that was asked for by name cannot count on `device` here, or that there is none;
// empty where it can, and for the choices that name no source besides the models.
std::string WhyUnavailable(std::string_view choice, std::string_view device,
                           const std::vector<CounterSource>& sources);

// Those that `choice` means on `device` and that cannot count here, with the reason, by name. Their
// silence is the whole run's: said once, not with each call.
std::map<std::string, std::string> UnavailableSources(std::string_view choice,
                                                      std::string_view device,
                                                      const std::vector<CounterSource>& sources);

}  // namespace dlroof
