// The counter manager. A counter source measures, simulates or models what one call did: FLOPs by
// pipe, bytes by level. The manager asks the registered sources, the best first, and takes each
// quantity from the first source that has it. A source that fails leaves a note; the run goes on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"
#include "counters/work.h"

namespace dlroof {

// One call to be counted. A source may call `run` any number of times; each run does the same work.
struct CountRequest {
  std::string name;                // of the benchmark, which is its repro line
  std::function<void()> run;       // makes one call; the call is finished when it returns
  std::function<void()> ready;     // may be empty; called before each run and not counted
  std::vector<std::string> pipes;  // pipes that the call is known to use, the fastest first
  int threads = 1;                 // threads of the call, the calling one included
  std::string made_by;             // the libraries and versions that made the call
  unsigned seed = 1;               // of the call's data
  bool blocks_wait = false;        // a GPU's blocks wait for each other: all must be resident
  // Bytes from a model of the call's loops, which sets `how`; may be empty.
  std::function<Work(std::string& how)> model;
};

struct Counted {
  Work work;                            // of ONE call, the quantities that this source can count
  std::vector<LaunchedKernel> kernels;  // of one call, the longest first, if the source knows them
  std::string how;  // "perf: 3 groups, 12 calls each", "CUPTI range profiler, 2 passes"
  std::vector<std::string> caveats;  // reasons for less trust in the counts, one sentence each
  int passes = 0;                    // [1] runs of the call that the counting took
};

struct CounterSource {
  std::string name;    // as --dlroof_counters names it: "perf", "cupti", "simulate", "model"
  std::string device;  // "cpu", "gpu"
  Provenance provenance = Provenance::kModelled;
  // Returns why the source cannot count here, with the cure. The function may be empty.
  std::function<std::optional<Reason>()> unavailable;
  // Throws std::exception with one sentence if counting fails; the run goes on.
  std::function<Counted(const CountRequest&)> count;
};

// Registers a source. Call at namespace scope:
//   [[maybe_unused]] const bool registered = RegisterCounterSource({...});
// Replaces a source of the same name and device without `count`, a placeholder for a source that is
// loaded later.
bool RegisterCounterSource(CounterSource source);
const std::vector<CounterSource>& AllCounterSources();

// The value of --dlroof_counters is the name of a source (that source, then the models), or:
inline constexpr std::string_view kAutoCounters = "auto";  // hardware counters, then models
inline constexpr std::string_view kNoCounters = "off";     // only formulas of the problem

// Returns all values of the flag: kAutoCounters, the names in `sources`, kNoCounters.
std::vector<std::string> CounterChoices(const std::vector<CounterSource>& sources);

struct Counting {
  std::map<Provenance, Work> work;
  // How a source counted (these notes have a provenance), caveats, and why a source has no counts.
  std::vector<CountingNote> notes;
  std::vector<LaunchedKernel> kernels;  // from the best source that knows them
};

// Asks those of `sources` that `choice` selects for `device`. Drops values that are negative or not
// finite, and all FLOPs of a source that cannot count every pipe in `request.pipes`, with a note:
// they would be incomplete.
Counting CountCall(std::string_view choice, std::string_view device, const CountRequest& request,
                   const std::vector<CounterSource>& sources);

// Returns why the source that `choice` names cannot count on `device`, or that no such source
// exists. Returns nullopt for kAutoCounters and kNoCounters.
std::optional<Reason> UnavailableReason(std::string_view choice, std::string_view device,
                                        const std::vector<CounterSource>& sources);

// Returns the sources that `choice` selects on `device` but that cannot count here, by name. A
// program reports these reasons once per run, not with each call.
std::map<std::string, Reason> UnavailableSources(std::string_view choice, std::string_view device,
                                                 const std::vector<CounterSource>& sources);

}  // namespace dlroof
