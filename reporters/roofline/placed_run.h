// A run file with its records placed on their roofs: all that the reports show of it. Its numbers
// are those of the written file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reporters/ledger/ledger.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"
#include "reporters/roofline/summaries.h"

namespace dlroof::roofline {

// One record's results, rounded to kWrittenDigits (written_number.h).
struct Placed {
  std::optional<record::Timing> timing;  // absent: no time
  Placement placement;           // with findings; pipe_seconds empty where compute_seconds says all
  std::optional<breakdown::Ledger> ledger;  // where the call was watched and has roofs
};

struct PlacedRun {
  record::RunFile file;  // repetitions rounded to what their clocks resolve
  PlaceView view;
  std::vector<Placed> places;  // by index of file.records
  std::vector<ModelSummary> models;
  std::vector<Census> census;
};

// Returns the record with its repetitions as a file holds them.
record::Record Written(record::Record record);

// Places a written record; `machine` may be null.
Placed PlaceWritten(const record::Record& written, const machine::Machine* machine, const PlaceView& view = {});

// Returns the ledger of a call that was watched and has roofs, or of traced kernels; `placement` is
// of this machine and view.
std::optional<breakdown::Ledger> LedgerOf(const record::Record& record, const Placement& placement,
                               const machine::Machine& machine, const PlaceView& view);

PlacedRun PlaceRun(record::RunFile file, const PlaceView& view = {});

// Returns the point of this level; null where there is none.
const ClassicPoint* PointOf(const Placement& placement, Level level);

// Returns the point whose roof is the lowest, the farthest level of equals; null without points.
const ClassicPoint* Binding(const Placement& placement);

// Stands before a disturbed time and what rests on it.
inline constexpr std::string_view kDisturbedMark = "~";
inline constexpr std::string_view kDisturbedMeaning =
    "~ disturbed by other programs: an estimate without the time that they took";
inline std::string_view MarkOf(bool disturbed) { return disturbed ? kDisturbedMark : ""; }

// Returns "0.4 %": how far the median's interval reaches from it; empty where it is not known.
std::string SpreadText(const record::Timing& timing);

// Returns the level that binds ("DRAM"), "compute" or "overhead".
std::string BoundText(const TimePoint& time);

struct Opportunity {
  std::size_t record = 0;         // index into the run's records
  double count = 1;               // [1] times that it occurs in the run's models; 1 in none of them
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] of these, more than its roofs ask for
};

// Returns those with a proved roof and a time above it, the most time first, `most` at the most.
std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most = 5);

}  // namespace dlroof::roofline
