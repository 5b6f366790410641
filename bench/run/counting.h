// Work of one prepared call, by the counter manager's sources: once per benchmark, outside the
// timing.
#pragma once

#include <functional>

#include "bench/workload/workload.h"
#include "counters/counter_manager.h"

namespace dlroof::runner {

// The call's closed forms (FLOPs, compulsory bytes), and beside them what the sources of
// `settings.counters` say. `ready` comes before each call that a source makes and is not counted
// (flushes caches for a cold call); may be empty. Takes no time with kNoCounters.
Counting CountPrepared(const workload::Workload& workload, const workload::PreparedCall& call,
                       const workload::RunSettings& settings, const std::function<void()>& ready);

// As the model sees this call on this CPU.
std::map<Level, double> ModelledLevels(const workload::PreparedCall& call, workload::CacheState state, int threads,
                                       const std::vector<int>& cpus);

// Returns whether calls are counted on the GPU itself with this choice.
bool MeansGpuCounters(const std::string& choice);

// One sentence for stderr where the source that `choice` names cannot count; else empty. A
// loaded GPU's source is asked when its first call is counted, and its answer is in the record.
std::string CountersSentence(const std::string& choice);

}  // namespace dlroof::runner
