// The counter manager. A counter source measures, simulates or models the work of one call: FLOPs
// by pipe, bytes by level. The manager asks the registered sources, the best first, and takes each
// quantity from the first source that reports it. If a source fails, the run continues with a note.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/work.h"

namespace dlroof {

// The call to count. A source may call `run` any number of times; each run does the same work.
struct CountRequest {
  std::string name;                // the benchmark's name, which reproduces it
  std::string type;                // operand type as the name spells it, "f16"; empty if unknown
  std::function<void()> run;       // executes the call and waits until it is finished
  std::function<void()> ready;     // may be empty; called before each run and not counted
  std::vector<std::string> pipes;  // pipes that the call uses
  int threads = 1;                 // threads of the call, including the calling thread
  std::string made_by;             // the libraries that execute the call, with versions
  unsigned seed = 1;               // of the random numbers in the call's tensors
  bool blocks_wait = false;        // the GPU blocks wait for each other, so all must be resident
  bool everything = false;         // count also types that the call should not use, in more runs
  // Optional. Returns the bytes that a model of the call predicts; describes the model in `how`.
  std::function<Work(std::string& how)> model;
};

struct Counted {
  Work work;                            // of ONE call; quantities that were not counted are missing
  std::vector<LaunchedKernel> kernels;  // of one call, the longest first; may be empty
  std::string how;                      // how it was counted: "CUPTI range profiler, 2 passes"
  std::vector<std::string> caveats;     // why the counts may be inexact, one sentence each
};

struct CounterSource {
  std::string name;    // value of --dlroof_counters: "perf", "cupti", "simulate", "model"
  std::string device;  // "cpu", "gpu"
  Provenance provenance = Provenance::kModelled;
  // Returns why the source cannot count on this machine and how to change that, or nullopt if it
  // can. An empty function means that it always can.
  std::function<std::optional<Reason>()> unavailable;
  // Counts the call. Throws std::exception with a message of one sentence if that fails.
  std::function<Counted(const CountRequest&)> count;
  bool counts_everything = false;  // whether the source heeds CountRequest::everything
};

// Registers a source. Call at namespace scope:
//   [[maybe_unused]] const bool <name>_registered = RegisterCounterSource({...});
// A source without `count` only gives the reason why it cannot count. A module that is loaded
// later (the CUDA library) replaces it by a source with the same name and device.
bool RegisterCounterSource(CounterSource source);
const std::vector<CounterSource>& AllCounterSources();

// --dlroof_counters is a source's name (models supply quantities that the source lacks) or one of:
inline constexpr std::string_view kAutoCounters = "auto";  // hardware counters, then models
inline constexpr std::string_view kNoCounters = "off";     // no counts: only the problem's formulas
// A name followed by this requests everything from a source that offers it: "cupti:all".
inline constexpr std::string_view kEverythingSuffix = ":all";

// Returns the name of the source in a value of --dlroof_counters: "cupti" for "cupti:all".
std::string_view SourceName(std::string_view choice);

// Returns the values of --dlroof_counters: kAutoCounters, the names in `sources`, kNoCounters.
std::vector<std::string> CounterChoices(const std::vector<CounterSource>& sources);

struct Counting {
  std::map<Provenance, Work> work;
  // How each source counted (a note with `provenance`), caveats, and why a source has no counts.
  std::vector<CountingNote> notes;
  std::vector<LaunchedKernel> kernels;  // from the best source that reports kernels
};

// Counts a call with the sources that `choice` (a value of --dlroof_counters) selects for `device`.
// Drops values that are negative or not finite. If a source cannot count every pipe in
// `request.pipes`, drops all its FLOPs, which would be incomplete, and adds a note.
Counting CountCall(std::string_view choice, std::string_view device, const CountRequest& request,
                   const std::vector<CounterSource>& sources);

// Returns why the source named `choice` cannot count on `device`, e.g. because this build lacks it.
// Returns nullopt if it can, and for kAutoCounters and kNoCounters.
std::optional<Reason> UnavailableReason(std::string_view choice, std::string_view device,
                                        const std::vector<CounterSource>& sources);

// Returns, by source name, why sources that `choice` selects on `device` cannot count here.
std::map<std::string, Reason> UnavailableSources(std::string_view choice, std::string_view device,
                                                 const std::vector<CounterSource>& sources);

}  // namespace dlroof
