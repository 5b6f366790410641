// The counter manager: asks the sources about one call, best first, and keeps of each quantity the
// source that counted it. A source that fails costs a sentence, never the run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/counter_source.h"
#include "counters/work.h"

namespace dlroof {

// Choice of --dlroof_counters. kAuto: hardware counters where there are any, then the model of
// the call's loops. kPerf, kSimulate, kCupti: that source, then the model. kModel: the model alone.
// kOff: nothing is asked, what is known is the closed forms of the problem.
enum class CounterChoice { kAuto, kModel, kPerf, kSimulate, kCupti, kOff };
std::string_view Key(CounterChoice choice);  // "auto", "model", ...
std::optional<CounterChoice> CounterChoiceFromKey(std::string_view key);

struct Counting {
  std::map<Provenance, Work> work;
  // Each says how a source counted (with its provenance), a doubt, or why a source gave nothing.
  std::vector<CountingNote> notes;
  std::vector<LaunchedKernel> kernels;  // of the best source that knows them
};

// Asks those of `sources` that `choice` means and that are for `device`. Kept is what is finite and
// not negative. FLOPs of a source that cannot tell those of all the pipes in `request.pipes` are
// dropped, with a sentence: they would be part of the work only.
Counting CountCall(CounterChoice choice, std::string_view device, const CountRequest& request,
                   const std::vector<CounterSource>& sources);

// Why the source that was asked for by name cannot count on `device` here, or that there is none;
// empty where it can, and for the choices that name none.
std::string WhyUnavailable(CounterChoice choice, std::string_view device,
                           const std::vector<CounterSource>& sources);

// Those that `choice` means on `device` and that cannot count here, with the reason, by name. Their
// silence is the whole run's: said once, not with each call.
std::map<std::string, std::string> UnavailableSources(CounterChoice choice, std::string_view device,
                                                      const std::vector<CounterSource>& sources);

}  // namespace dlroof
