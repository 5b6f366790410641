// The counter manager: asks the sources about one call, best first, and keeps of each quantity the
// source that counted it. A source that fails costs a sentence, never the run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "counters/counter_source.h"
#include "counters/work.h"

namespace dlroof {

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
