// Sweeps of a run file: benchmarks that differ in one parameter of their problem alone, in its
// order. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/roofline/op_words.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::roofline {

struct SweepLine {
  std::string series;                // what its benchmarks share: "tf2.2 fwd f16"
  std::vector<std::size_t> records;  // indices into the run's records, by rising value
  std::vector<double> values;        // of the parameter, all different
};

// The lines of one parameter through the records that are placed, at least `least` points each;
// series in the order of the file. Two benchmarks of one value are on two lines, told apart by
// their padding.
std::vector<SweepLine> SweepLines(const PlacedRun& run, const SweepParameter& parameter,
                                  std::size_t least = 2);

// Returns those of the parameters that the file's ops call by this name ("stride"). Throws BadInput
// for a name that no parameter has, listing those there are.
std::vector<SweepLine> SweepLines(const PlacedRun& run, std::string_view name,
                                  std::size_t least = 2);

// The lines through the records with a time, placed or not, that differ in their number of threads
// alone; the values are these numbers. The first of two records of one number counts.
std::vector<SweepLine> ThreadLines(const PlacedRun& run, std::size_t least = 2);

// The lines through the records with a time whose batch grows with their number of threads, and
// that differ in nothing else; the values are the numbers of threads.
std::vector<SweepLine> WeakLines(const PlacedRun& run, std::size_t least = 2);

// [1] Returns the record's batch for each of its threads; absent: its op has no batch.
std::optional<double> BatchPerThread(const record::Record& record, const OpVocabulary& words);

}  // namespace dlroof::roofline
