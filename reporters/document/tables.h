// Documents about runs: records, models, energies, ceilings and trajectories. Pure functions.
#pragma once

#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/document/document.h"
#include "reporters/record/record.h"
#include "reporters/roofline/breakdown.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/trajectory.h"

namespace dlroof::document {

struct TableOptions {
  // Adds the names of records without a time, remarks that affect no number (Placement::asides),
  // and ceilings of fewer threads and of single instruction sets.
  bool verbose = false;
  bool full_names = false;  // do not shorten kernel names
};

// Returns the report of a run: a table with a row per record that has a time, in the file's order;
// a table per program with GPU kernels (record::IsKernelSum), the longest kernel first; reasons for
// missing times, remarks, energies, models, zero-FLOP kernels, ceilings, and the benchmarks with
// the most time above their roofs.
document::Document RunDocument(const roofline::PlacedRun& run, const TableOptions& options = {});

// Returns the row of a record that has a time: name, time, ±, % roof, bound, x roof, FLOP/s (or
// B/s), and FLOP/byte if WorkRateOf has it for `level`. Unknown cells are empty.
Table::Row ResultRow(const record::Record& record, const roofline::Placed& placed,
                     const roofline::PlaceView& view, const std::optional<Level>& level);

// Returns what is below dlroof_bench's live table. `verbose` names each unsupported benchmark.
document::Document SummaryDocument(const roofline::PlacedRun& run, bool verbose);

// Returns whether a time has no interval, so that a note must explain its "±", e.g. "n=5".
bool HasShortSpread(const roofline::PlacedRun& run);

// Returns a line per ceiling that failed validation and so makes percentages upper limits, or
// prevents them: the reason and the number of benchmarks.
document::Document CaveatsDocument(const roofline::PlacedRun& run);

// Returns a line per reason of unsupported benchmarks: types, number and, if `verbose`, the names.
document::List UnsupportedList(const std::vector<record::Record>& records, bool verbose);

document::Table ModelsTable(const std::vector<roofline::ModelSummary>& models);

// Returns roofline::HeuristicText for each library with a HeuristicSummary.
document::Sentences HeuristicSentences(const std::vector<record::Record>& records);

// Returns roofline::Opportunities with their time above the roof, bound and advice.
document::List OpportunitiesList(const roofline::PlacedRun& run, bool full_names = false);

// Returns a row per record with measured energy: energy of a call, FLOP/J, mean power, domains.
// Notes say what the energy includes, and why other records have no energy.
document::Table EnergyTable(const std::vector<record::Record>& records);

// Returns a table per machine and number of threads, the most threads first: pipes (the highest
// first, each followed by its rows by instruction set), memory levels with the access mix that set
// the roof, and overheads. The last column has the reason why a ceiling is not validated. Notes
// have findings about caches, reasons for missing ceilings, and findings of the check before the
// run. Without `all`: only the most threads, without instruction sets and notes.
document::Document CeilingsDocument(const std::vector<machine::Machine>& machines, bool all = true);

// Returns a table per trajectory, with a row per point: threads or size, time, FLOP/s, FLOP/byte, %
// roof, FLOP/s / those of the row above, and the largest cause. The note is DiagnosisText.
document::Document TrajectoriesDocument(const std::vector<roofline::Trajectory>& trajectories);

// Returns a bar with a part per component (several that are not longer than `noise_seconds` share
// one), and notes with the efficiencies.
document::Bar BarOf(const roofline::Breakdown& breakdown);

}  // namespace dlroof::document
