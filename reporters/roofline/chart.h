// The numbers that the page and all figures draw: sweeps (benchmarks that differ in one parameter
// only) and rooflines (roofs, points, time points). Pure functions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/work.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {

struct SweepLine {
  std::string series;                // library, direction and type, e.g. "onednn fwd f32"
  std::vector<std::size_t> records;  // indices into the run's records, by rising value
  std::vector<double> values;        // each record's value of the swept parameter; all different
};

// Groups the placed records that differ only in `parameter` (and the keys that follow it), and
// returns a line for each group of at least `least` records, in the order of the file. Records with
// the same value of the parameter but different padding are on different lines.
std::vector<SweepLine> SweepLines(const PlacedRun& run, const SweepParameter& parameter,
                                  std::size_t least = 2);

// Returns the lines of all parameters with this name (e.g. "stride") in the vocabulary of the
// file's ops. If no parameter has this name, throws BadInput with a list of the names.
std::vector<SweepLine> SweepLines(const PlacedRun& run, std::string_view name,
                                  std::size_t least = 2);

// Returns the lines through the records with a time, placed or not, that differ only in their
// number of threads (the line's value). Of two records with the same value uses the first. With
// `weak` (weak scaling) they also differ in a batch proportional to the threads.
std::vector<SweepLine> ThreadLines(const PlacedRun& run, std::size_t least = 2, bool weak = false);

// Returns batch / threads [1] of a record, or nullopt if one of the two is unknown.
std::optional<double> BatchPerThread(const record::Record& record, const OpVocabulary& words);

struct Roof {
  std::string key;        // pipe or level
  double per_second = 0;  // [flop/s] or [byte/s]
  bool validated = false;
  bool specified = false;
  std::optional<double> sustained_per_second = {};  // same unit; rate after 10 s of load
};

// Returns a roof label's suffix: " (not validated)", " (specified, not measured)", or nothing.
std::string_view RoofNote(const Roof& roof);

// Returns the roof's sustained rate as a roof of its own, which charts draw as a thin line. Returns
// nullopt if the sustained rate is unknown or within 3 % of the roof.
std::optional<Roof> SustainedOf(const Roof& roof);

// The roofs of one machine with one number of threads.
struct RoofSet {
  std::string device, machine;
  int threads = 0;
  std::vector<Roof> flops;               // highest first
  std::vector<Roof> bytes;               // nearest to the core first
  std::optional<double> launch_seconds;  // [s]
  std::map<Level, std::vector<machine::RidgePoint>>
      ridges;  // points measured near the ridge, by rising intensity; none if interference shows
};

// Returns the sets of all machines in the file's order; of each machine the most threads first.
std::vector<RoofSet> RoofSets(const std::vector<machine::Machine>& machines);

// Returns whether the record was measured on the set's device with the set's number of threads. A
// record without a number of threads belongs to all sets of its device.
bool BelongsTo(const record::Record& record, const RoofSet& roofs);

// Returns the index of the set with the most placed records (of ties the first), if there are sets.
std::optional<std::size_t> MainRoofSet(const PlacedRun& run, const std::vector<RoofSet>& sets);

// Returns the keys of the compute roofs in `roofs` under which its records are placed: of each pipe
// its own key, or the key of another roof that was used for it (TimePoint::compute_roofs).
std::set<std::string> PipesInUse(const PlacedRun& run, const RoofSet& roofs);

// Returns whether the key has an instruction set: "fp32.vector.avx2" has, "fp32.vector" has not.
bool IsFinerPipe(std::string_view key);

// Returns the name of the level with this key, e.g. "DRAM" for "dram", and other keys unchanged.
std::string LevelName(std::string_view key);

// Returns the intensity [flop/byte] at which a compute roof and a bandwidth roof meet.
double RidgeIntensity(const Roof& flat, const Roof& slanted);

// Returns the level that a roofline chart shows by default: DRAM or, without a DRAM roof, the
// farthest level with a placed record. Returns nullopt if no record is placed.
std::optional<Level> MainLevel(const PlacedRun& run, const RoofSet& roofs);

struct ClassicMark {
  std::size_t record = 0;       // index into the run's records
  Level level = Level::kDram;   // level whose bytes `intensity` counts
  std::string series;           // "op direction type", or the name of another tool's benchmark
  double intensity = 0;         // [flop/byte]
  double flops_per_second = 0;  // [flop/s]
  bool measured = false;        // FLOPs and bytes are both measured
  std::optional<std::pair<double, double>>
      ci95;            // [flop/s] 95 % interval of flops_per_second (RateInterval)
  bool noisy = false;  // the time is an estimate; drawn pale
};
// Returns the marks of the records with bytes of `level`. With `or_nearer`, a record without bytes
// of `level` gets a mark at its farthest level (for a warm call, the cache that holds its tensors).
std::vector<ClassicMark> ClassicMarks(const PlacedRun& run, const RoofSet& roofs, Level level,
                                      bool or_nearer = false);

// A record on the time-based roofline of one level. Its complexity point is {bytes / bandwidth,
// FLOPs / ceiling} [s], its time point the same ratio at the measured time (TimePlace).
struct TimeMark {
  std::size_t record = 0;
  Level level = Level::kDram;
  std::string series;
  bool measured = false;
  std::pair<double, double> complexity;
  std::optional<std::pair<double, double>> point;
  std::optional<double> overhead_seconds;  // [s]
  std::vector<double> pipes_until;         // [s] by PipesUntil()
  bool noisy = false;                      // the time is an estimate; drawn pale
  bool at_least = false;  // a roof is not validated: the distance to the true roof may be longer
};
// Returns the marks of the records with bytes of `level`; `or_nearer` as in ClassicMarks.
std::vector<TimeMark> TimeMarks(const PlacedRun& run, const RoofSet& roofs, Level level,
                                bool or_nearer = false);

// Returns the time point [s] of this level: its complexity point {bytes / bandwidth, FLOPs /
// ceiling}, scaled so that the larger coordinate is the measured time (Wang et al. 2020, one level
// at a time). Returns nullopt if a coordinate is unknown or 0.
std::optional<std::pair<double, double>> TimePlace(const TimePoint& time, Level level);

// Returns the cumulative sums [s] of pipe_seconds: of one pipe, of two pipes, ..., of all pipes.
std::vector<double> PipesUntil(const TimePoint& time);

// Returns the 95 % interval [flop/s] of `flops_per_second`, computed from the interval of the time:
// flops_per_second x median / {upper, lower end}. Returns nullopt if the time has no interval.
std::optional<std::pair<double, double>> RateInterval(const record::Timing& timing,
                                                      double flops_per_second);

}  // namespace dlroof::roofline
