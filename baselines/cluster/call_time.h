// Which time of a call `cluster versus` compares: the same kind for GPUs and CPUs. Pure.
#pragma once

#include <string>

#include "reporters/record/run_file.h"

namespace dlroof::cluster {

enum class CallTime {
  // Calls follow each other: on a CPU back to back, on a GPU queued (the device's own time).
  kThroughput,
  // One call by itself: on a GPU on an idle device, with its launch; on a CPU the same time as
  // above, which includes the call.
  kLatency
};

// Sets the seconds and `timed` of GPU records. kThroughput: the device's time of a queued call, or
// of calls back to back in records that only have times with their launch. kLatency: the time of a
// call on an idle GPU. A record without samples of this kind keeps its times. Decides anew which
// repetitions are noisy, but for cluster files, whose repetitions are nodes.
void UseTimes(CallTime wanted, record::RunFile& run);

// Returns what the record's times are, for people: "queued calls", or an empty text on a CPU.
std::string TimedText(const record::Record& record);

// Returns whether the record's times are of this kind; true for CPUs.
bool IsTimed(CallTime wanted, const record::Record& record);

}  // namespace dlroof::cluster
