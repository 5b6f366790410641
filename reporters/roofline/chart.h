// What every roofline picture of a run file draws: roofs, points, pairs of points in time. Pure;
// the page, the figures and the terminal picture take their numbers from here, so they agree.
// Placement itself is in the file (roofline.h made it); only geometry is worked out.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/work.h"

namespace dlroof {

struct Roof {
  std::string key;        // pipe or level
  double per_second = 0;  // [flop/s] or [byte/s]
  bool proved = false;
  std::optional<double> sustained_per_second = {};  // [the same] after seconds on end
};

// What of it is left after seconds on end, as a roof of its own: a thin line. Absent where that is
// not known or hardly differs.
std::optional<Roof> SustainedOf(const Roof& roof);

// The roofs of one machine with one number of threads.
struct RoofSet {
  std::string device, machine;
  int threads = 0;
  std::vector<Roof> flops;                          // highest first
  std::vector<Roof> bytes;                          // nearest to the core first
  std::optional<double> launch_seconds;             // [s]
  std::map<Level, std::vector<RidgePoint>> ridges;  // the knees as measured, by rising intensity
};

// The ceilings of one machine with one number of threads, as they stand in the file.
struct MeasuredSet {
  int threads = 0;  // [1]; 0: not known
  const nlohmann::json* ceilings = nullptr;
};

// The sets of one element of "machines", most threads first; the top level is the only one where
// "by_threads" holds none. They point into `machine`.
std::vector<MeasuredSet> MeasuredSets(const nlohmann::json& machine);

// All of the file, in its order, most threads first. Ceilings and points of a ridge that are not
// positive numbers are left out.
std::vector<RoofSet> RoofSets(const nlohmann::json& run_file);

// The records were measured on this machine's device with this many threads.
bool BelongsTo(const nlohmann::json& record, const RoofSet& roofs);

// The set that most placed records rest on, the first one where there is none; absent without
// machines.
std::optional<std::size_t> MainRoofSet(const nlohmann::json& run_file,
                                       const std::vector<RoofSet>& sets);

// Pipes that the records of this set use, of those that it has a roof for; where a record was
// judged by a finer row (time.compute_roofs), that row.
std::set<std::string> PipesInUse(const nlohmann::json& run_file, const RoofSet& roofs);

// "fp32.vector.avx2" is one; "fp32.vector" is not.
bool IsFinerPipe(std::string_view key);

// How readers are used to see a level: "L1", "DRAM"; other keys as they are.
std::string LevelName(std::string_view key);

// Where a flat and a slanted roof meet [flop/byte].
double RidgeIntensity(const Roof& flat, const Roof& slanted);

// The level most placed records know, the farthest of equals; absent where nothing is placed.
std::optional<Level> MainLevel(const nlohmann::json& run_file, const RoofSet& roofs);

struct ClassicMark {
  std::size_t record = 0;       // index into "records"
  std::string series;           // "op direction type", or the name of a foreign benchmark
  double intensity = 0;         // [flop/byte]
  double flops_per_second = 0;  // [flop/s]
  bool measured = false;        // neither FLOPs nor bytes are modelled or simulated
  std::optional<std::pair<double, double>>
      ci95;  // [flop/s] of flops_per_second, from that of the time
};
std::vector<ClassicMark> ClassicMarks(const nlohmann::json& run_file, const RoofSet& roofs,
                                      Level level);

// A record on the time-based roofline of one level: where its roofs would allow it to be, and where
// it is (TimePlace). The second is absent when a roof is not proved. Pairs are {bytes / bandwidth,
// FLOPs / ceiling} [s].
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
};
std::vector<TimeMark> TimeMarks(const nlohmann::json& run_file, const RoofSet& roofs, Level level);

// [s] Of a record's "time" where it stands among corners of equal run time when this level's
// bandwidth is one axis: {bytes / bandwidth, FLOPs / ceiling} scaled so that the larger one is the
// measured time, whatever level binds the record (Wang et al. 2020, one level at a time; the file's
// "point" is scaled by the record's gap, to which every level counts). Absent without a gap and for
// the record's "unproved_levels": what would scale it rests on a roof that is not proved.
std::optional<std::pair<double, double>> TimePlace(const nlohmann::json& time, Level level);

// [s] of a record's "time": its pipe_seconds added up, one pipe, two, all.
std::vector<double> PipesUntil(const nlohmann::json& time);

// 95 % interval of FLOP/s from that of the time: FLOPs are constant, so it is flops_per_second x
// median / {upper, lower}. Absent where the record has no interval.
std::optional<std::pair<double, double>> RateInterval(const nlohmann::json& record,
                                                      double flops_per_second);

}  // namespace dlroof
