// A run file with its records placed on their roofs: all that the reports show of it. Its numbers
// are those of the written file.
//
// Bytes that a call cannot have moved, being faster than that. Pure.
//
// The run file as it is written: records placed on their roofs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/breakdown/breakdown.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"
#include "reporters/roofline/summaries.h"

namespace dlroof::roofline {

// One record's results, rounded to kWrittenDigits (written_number.h).
struct Placed {
  std::optional<record::Timing> timing;  // absent: no time
  Placement placement;  // with findings; pipe_seconds empty where compute_seconds says all
  std::optional<breakdown::Breakdown> breakdown;  // where the call was watched and has roofs
};

struct PlacedRun {
  record::RunFile file;  // repetitions rounded to what their clocks resolve
  PlaceView view;
  std::vector<Placed> places;  // by index of file.records
  std::vector<ModelSummary> models;
  std::vector<ZeroFlopKernels> zero_flop_kernels;
};

// Returns the record with its repetitions as a file holds them.
record::Record Written(record::Record record);

// Places a written record; `machine` may be null.
Placed PlaceWritten(const record::Record& written, const machine::Machine* machine,
                    const PlaceView& view = {});

// Returns the breakdown of a call that was watched and has roofs, or of traced kernels; `placement`
// is of this machine and view.
std::optional<breakdown::Breakdown> BreakdownOf(const record::Record& record,
                                                const Placement& placement,
                                                const machine::Machine& machine,
                                                const PlaceView& view);

PlacedRun PlaceRun(record::RunFile file, const PlaceView& view = {});

// Returns the point of this level; null where there is none.
const ClassicPoint* PointOf(const Placement& placement, Level level);

// Returns the point whose roof is the lowest, the farthest level of equals; null without points.
const ClassicPoint* Binding(const Placement& placement);

// FLOP/s and FLOP/byte of one call, for tables.
struct WorkRate {
  double flops_per_second = 0;      // [flop/s]
  std::optional<double> intensity;  // [flop/byte] of `level`
  std::optional<Level> level;
};

// Returns the rate at the binding roof. A call without a classic point gets the rate that its FLOPs
// and its time give; where no ceiling judges it at all, also the intensity at DRAM, or at the
// farthest level of `view` whose bytes are known. Returns nothing if the FLOPs are unknown or 0.
std::optional<WorkRate> WorkRateOf(const record::Record& record, const record::Timing& timing,
                                   const Placement& placement, const PlaceView& view = {});

// Stands before a noisy time and what rests on it.
inline constexpr std::string_view kNoisyMark = "~";
inline constexpr std::string_view kNoisyMeaning =
    "~ noisy by other programs: an estimate without the time that they took";
inline std::string_view MarkOf(bool noisy) { return noisy ? kNoisyMark : ""; }

// Returns "0.412 %": how far the median's interval reaches from it; empty where it is not known.
std::string SpreadText(const record::Timing& timing);

// Returns the level that binds ("DRAM"), "compute" or "overhead".
std::string BoundText(const TimePoint& time);

struct Opportunity {
  std::size_t record = 0;         // index into the run's records
  double count = 1;               // [1] times that it occurs in the run's models; 1 in none of them
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] of these, more than its roofs ask for
};

// Returns those with a validated roof and a time above it, the most time first, `most` at the most.
std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most = 5);

// Factor by which an not validated ceiling may be too fast or too slow, unless it is `unbounded`.
// What the clock's proofs find is either too slow (other programs, repetitions or passes that
// disagree; two hardware threads halve a core), or too fast because a kernel did half of what it
// counts (half its vectors, twice the work in the same time): 2.
inline constexpr double kNotValidatedFactor = 2;

struct TimedCall {
  const record::Record& record;
  const machine::Machine& machine;
  const machine::Ceiling& ceiling;  // of the level asked about
  double seconds = 0;               // [s] the call took
};

// Returns why bytes [byte] of that provenance, which nobody counted, are left out: the call is
// faster than they could move. Empty: it is not. Only what even a faster ceiling would refute is
// refuted. A given rate refutes nothing but DRAM traffic of what fits a cache: a point above its
// roof is drawn and reported.
std::string WhyRefuted(const TimedCall& call, Level level, std::pair<double, Provenance> known);

// Each of a run's parts; an unknown quantity has no key.
nlohmann::json ToJson(const record::Record& written, const Placed& placed);
nlohmann::json ToJson(const ModelSummary& model);
nlohmann::json ToJson(const ZeroFlopKernels& zero_flop_kernels);
// Places the record on `machine`, which may be null.
nlohmann::json ToJson(const record::Record& record, const machine::Machine* machine,
                      const PlaceView& view = {});

// Only what does not differ from repetition to repetition: no times, nothing derived.
nlohmann::json FactsToJson(const record::Record& record);

// Writes "context", "machines", "records", "models" where a counted suite was run and "zero-FLOP
// kernels" where a kernel executed no FLOPs. A view that is not the usual one is in
// context.dlroof.view.
nlohmann::json ToJson(const PlacedRun& run);
// Places the run anew.
nlohmann::json ToJson(const record::RunFile& file, const PlaceView& view = {});
// The same to be stored for years, all measured facts in it but the proofs of single access mixes,
// none of which judges a record: their rates and whether they are validated stay, and the best
// one's proof stands at its level. The machines' numbers have kStoredDigits (written_number.h) and
// place the records; so have "classic", "time" and CPU times, run delays have kStoredDelayDigits,
// wall times all that they have. Members that ReadRunFile derives are left out: a machine's
// "flops", "bytes" and "launch_seconds" (those of the largest "by_threads"), a record's advice,
// remarks, time point (the complexity point times gap) and interval of FLOP/s (FLOPs over that of
// "seconds").
nlohmann::json ToStoredJson(const record::RunFile& file, const PlaceView& view = {});

}  // namespace dlroof::roofline
