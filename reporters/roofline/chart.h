// Sweeps of a run file: benchmarks that differ in one parameter of their problem alone, in its
// order. Pure.
//
// The geometry of every roofline picture: roofs, points, pairs of points in time. The page, the
// figures and the terminal picture take their numbers from here, so they agree.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/work.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"

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

struct Roof {
  std::string key;        // pipe or level
  double per_second = 0;  // [flop/s] or [byte/s]
  bool validated = false;
  bool specified = false;
  std::optional<double> sustained_per_second = {};  // [the same] after seconds on end
};

// Returns "" for a validated roof, else " (not validated)" or " (given, not measured here)".
std::string_view ReasonText(const Roof& roof);

// The sustained rate after seconds on end, as a roof of its own: a thin line. Absent where it is
// not known or hardly differs.
std::optional<Roof> SustainedOf(const Roof& roof);

// The roofs of one machine with one number of threads.
struct RoofSet {
  std::string device, machine;
  int threads = 0;
  std::vector<Roof> flops;               // highest first
  std::vector<Roof> bytes;               // nearest to the core first
  std::optional<double> launch_seconds;  // [s]
  std::map<Level, std::vector<machine::RidgePoint>>
      ridges;  // the knees as measured, by rising intensity
};

// Returns the sets of every machine in the file's order, most threads first.
std::vector<RoofSet> RoofSets(const std::vector<machine::Machine>& machines);

// Returns whether the record was measured on this machine's device with this many threads.
bool BelongsTo(const record::Record& record, const RoofSet& roofs);

// Returns the set that most placed records rest on, the first of equals; absent without sets.
std::optional<std::size_t> MainRoofSet(const PlacedRun& run, const std::vector<RoofSet>& sets);

// Returns the pipes that the records of this set use and that it has a roof for. The finer row that
// judged a record (compute_roofs) is in its pipe's place.
std::set<std::string> PipesInUse(const PlacedRun& run, const RoofSet& roofs);

// "fp32.vector.avx2" is one; "fp32.vector" is not.
bool IsFinerPipe(std::string_view key);

// Returns a level's usual name: "L1", "DRAM". Other keys stay as they are.
std::string LevelName(std::string_view key);

// Where a flat and a slanted roof meet [flop/byte].
double RidgeIntensity(const Roof& flat, const Roof& slanted);

// Returns the level that most placed records know, the farthest of equals; absent where nothing is
// placed.
std::optional<Level> MainLevel(const PlacedRun& run, const RoofSet& roofs);

struct ClassicMark {
  std::size_t record = 0;       // index into the run's records
  std::string series;           // "op direction type", or the name of a foreign benchmark
  double intensity = 0;         // [flop/byte]
  double flops_per_second = 0;  // [flop/s]
  bool measured = false;        // neither FLOPs nor bytes are modelled or simulated
  std::optional<std::pair<double, double>>
      ci95;            // [flop/s] of flops_per_second, from that of the time
  bool noisy = false;  // drawn pale
};
std::vector<ClassicMark> ClassicMarks(const PlacedRun& run, const RoofSet& roofs, Level level);

// A record on the time-based roofline of one level: where its roofs would allow it to be, and where
// it is (TimePlace). The second is absent when a roof is not validated. Pairs are {bytes /
// bandwidth, FLOPs / ceiling} [s].
struct TimeMark {
  std::size_t record = 0;
  std::string series;
  bool measured = false;
  std::pair<double, double> complexity;
  std::optional<std::pair<double, double>> point;
  std::optional<double> overhead_seconds;  // [s]
  // [s] where the times of its pipes, each at its own ceiling, add up to: one pipe, two, all. Empty
  // where that is compute_seconds alone.
  std::vector<double> pipes_until;
  bool noisy = false;  // drawn pale
};
std::vector<TimeMark> TimeMarks(const PlacedRun& run, const RoofSet& roofs, Level level);

// [s] Returns the record's point among corners of equal run time with this level's bandwidth as one
// axis: {bytes / bandwidth, FLOPs / ceiling}, scaled until the larger one is the measured time
// (Wang et al. 2020, one level at a time; gap counts every level). Absent without a gap and for
// not validated levels: what would scale it rests on a roof that is not validated.
std::optional<std::pair<double, double>> TimePlace(const TimePoint& time, Level level);

// [s] Returns the sums of pipe_seconds: one pipe, two, all.
std::vector<double> PipesUntil(const TimePoint& time);

// Returns the 95 % interval of FLOP/s from that of the time: FLOPs are constant, so it is
// flops_per_second x median / {upper, lower}. Absent where the time has none.
std::optional<std::pair<double, double>> RateInterval(const record::Timing& timing,
                                                      double flops_per_second);

}  // namespace dlroof::roofline
