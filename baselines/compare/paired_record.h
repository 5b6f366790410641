// Pairs the records of two run files (BASE and NEW) by name or by a name map, checks that the runs
// are comparable, and chooses the times of two records to compare. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baselines/statistics/levels.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {

// BASE's name -> NEW's name (--map).
using NameMap = std::map<std::string, std::string>;

// A run file and its path (for messages).
struct NamedRun {
  std::string where;
  record::RunFile file;
};

// The two records of one benchmark; either may be null, not both.
struct PairedRecord {
  const record::Record* base = nullptr;
  const record::Record* contender = nullptr;
  const NamedRun* run = nullptr;  // BASE's run, also if `base` is null
  std::size_t earlier = 0;        // [1] number of stored runs older than `run`
};

// Throws BadInput for a benchmark name that occurs twice.
void CheckNames(const NamedRun& run);

// Returns the entries of `names` whose BASE name is a benchmark of `base`.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// Returns pairs in NEW's order, then records that only BASE has, in BASE's order. Throws BadInput
// if a name occurs twice in a file or `names` has a name that its file does not contain.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& contender,
                                      const NameMap& names);

// Throws BadInput if the runs are not comparable: one is by dlroof and one by plain Google
// Benchmark; they share no benchmark; their schema, a convention that both state, or their machine
// fingerprint (plain files: CPUs and caches) differs; or a common benchmark has another device,
// type, cache state or thread count. Conventions of counting FLOPs may differ, since times do not
// depend on them (CountFlopsAlike). With `across_machines` machines and threads may differ, too.
// Ignores pairs whose `run` is not `base`.
void CheckComparable(const NamedRun& base, const NamedRun& contender,
                     const std::vector<PairedRecord>& pairs, bool across_machines);

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
