// Placement of one record on its machine's roofs. Pure: no clock, no hardware, no text layout.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reporters/record/record.h"
#include "reporters/roofline/op_words.h"

namespace dlroof::roofline {

// Choices for the placement of records on their roofs.
struct PlaceView {
  std::vector<Level> levels;    // whose bytes count; empty: all that are known
  bool tensor_balance = false;  // judge all FLOPs by the best matrix ceiling, as the time-based
                                // roofline paper's code does, whatever pipe executed them
  OpVocabulary words;           // of the file's ops; empty: those of this program
};

// Classic roofline: one point per level with known bytes.
struct ClassicPoint {
  Level level = Level::kDram;
  double intensity = 0;            // [flop/byte]
  double flops_per_second = 0;     // [flop/s] achieved
  double roof = 0;                 // [flop/s] min(compute roof, intensity x bandwidth)
  std::optional<double> fraction;  // [1] achieved / roof; absent in doubt (TimePoint::gap)
  std::optional<std::pair<double, double>> ci95;  // [flop/s] of flops_per_second, from the time's
  bool memory_bound = false;                      // the slanted part is the lower one
  Provenance flops_from = Provenance::kModelled, bytes_from = Provenance::kModelled;
};

enum class Bound { kCompute, kMemory, kOverhead };
std::string_view Key(Bound bound);

// Time-based roofline (Wang et al. 2020): the same record in seconds. All [s]. (compute_seconds,
// memory_seconds) is the complexity point.
struct TimePoint {
  double seconds = 0;          // measured
  double compute_seconds = 0;  // sum over pipes of FLOPs / ceiling
  // By pipe the ceiling that it was judged by: its best row of what the library may use
  // ("fp32.vector.avx2" where AVX-512 is forbidden), the plain key where that is not known.
  std::map<std::string, std::string> compute_roofs;
  // By pipe its FLOPs / its own ceiling, whatever `compute_seconds` judges by; empty where one of
  // them has no ceiling.
  std::map<std::string, double> pipe_seconds;
  std::map<Level, double> memory_seconds;  // bytes / ceiling
  std::optional<double> overhead_seconds;  // launches x launch cost
  Bound bound = Bound::kCompute;
  std::optional<Level> bound_level;  // with kMemory
  // [1] seconds / max(compute, memory): distance from the roof. Absent in doubt: where the largest
  // of these times rests on a ceiling that is not proved, in part or whole, or another one would
  // reach it if the unproved ceilings that it rests on had half their rates. Overhead has no part
  // in it: where compute and memory lie below it, so does the largest of them.
  std::optional<double> gap;
  // It rests on roofs that are given, not measured: so do bound, gap and percent.
  bool given = false;
  // In doubt by the same rule when compute and this level alone count.
  std::vector<Level> unproved_levels;
  // The time point: the complexity point times `gap`, its largest coordinate is `seconds`. Absent
  // and empty without a gap.
  std::optional<double> point_compute_seconds;
  std::map<Level, double> point_memory_seconds;
};

struct Placement {
  std::vector<ClassicPoint> classic;
  std::optional<TimePoint> time;
  std::vector<std::string> remarks;  // why something is absent; more by AddFindings (advice.h)
  std::vector<std::string> asides;   // about ceilings in doubt that take no number away
  std::map<std::string, std::string> in_doubt;  // ceilings that take one away: why not proved
  std::string advice;  // one sentence, by AddFindings; empty where the evidence is too weak
};

// A record without time, work or matching ceilings gives an empty placement whose remarks say what
// is missing.
Placement Place(const record::Record& record, const machine::Machine* machine, const PlaceView& view = {});

// Returns the record's time point alone, without its point_ members. `seconds` [s] is the median of
// the record's Timing, which Place would take.
std::optional<TimePoint> PlaceTime(const record::Record& record, double seconds, const machine::Machine& machine,
                                   const PlaceView& view = {});

}  // namespace dlroof::roofline
