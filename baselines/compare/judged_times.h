// Chooses the times of two GPU records that can be compared: the same kind on both sides. Pure.
#pragma once

#include <optional>
#include <string>

#include "baselines/statistics/levels.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

// Copies of two records in which Repetition::seconds are times of the same kind.
struct JudgedTimes {
  record::Record base, contender;
  std::string timed;  // kind: "device", "graph", "throughput" or "call" (record::timed)
  // [s] Added to NEW's queued times: time of an empty kernel in BASE minus its time in NEW, because
  // the cost of a launch from a stream differs by some 0.2 us between processes. Else nullopt.
  std::optional<double> added_seconds = {};
};

// Returns copies of two GPU records with times of one kind that every repetition of both has. The
// kinds, the preferred first: one queued call ("device", corrected by added_seconds), a call in a
// CUDA graph ("graph"), one of back-to-back calls ("throughput"), a call with its launch ("call").
// Only "call" contains the host's noise; with the other kinds only a throttled clock makes a
// repetition noisy. Returns nullopt if the records can be judged as they are: one has no GPU
// samples, both are timed as "graph" or both as "throughput", the chosen kind needs no change, or
// both have the same `timed` and no other common kind. Throws Unsupported without a common kind.
std::optional<JudgedTimes> ChooseTimes(const record::Record& base, const record::Record& contender);

// Returns the levels that a comparison judges, or nullopt without a common kind or enough times.
std::optional<statistics::LevelPair> LevelsOfTimes(const record::Record& base,
                                                   const record::Record& contender);

// Returns whether the record has enough times to be judged.
bool CanTell(const record::Record& record);
// Returns whether both records have identical clean repetitions, as in copies of one run file.
bool IsSameMeasurement(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
