// Documents about runs: records, models, energies, ceilings and trajectories. Pure.
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
  // Adds names of records without a time, remarks that affect no number, and ceilings of fewer
  // threads and of single instruction sets.
  bool verbose = false;
  bool full_names = false;  // do not shorten kernel names
};

// Returns a table with a row per record that has a time, in the file's order, and one table per
// program with GPU kernels (record::IsKernelSum), longest kernel first: time, share, launches, time
// per launch, rates, roofline columns. Then reasons for missing times, remarks, energies, models,
// zero-FLOP kernels, ceilings, and the benchmarks with the most time above their roofs.
document::Document RunDocument(const roofline::PlacedRun& run, const TableOptions& options = {});

// Returns the row of a record that has a time: name, time, ±, % roof, bound, x roof, FLOP/s (or
// B/s), FLOP/byte if it is of `level`; "" for what is unknown.
Table::Row ResultRow(const record::Record& record, const roofline::Placed& placed,
                     const roofline::PlaceView& view, const std::optional<Level>& level);

// Returns the summary that dlroof_bench writes below the rows of benchmarks.
document::Document SummaryDocument(const roofline::PlacedRun& run, bool verbose);

// Returns whether any time has no interval, so that "±" shows "n=5" (roofline::kSpreadMeaning).
bool HasShortSpread(const roofline::PlacedRun& run);

// Returns a line per ceiling that failed validation, if that makes percentages upper limits or
// suppresses them: the reason and the number of benchmarks.
document::Document CaveatsDocument(const roofline::PlacedRun& run);

// Returns a line per reason of unsupported benchmarks, with types, number and (`verbose`) names.
document::List UnsupportedList(const std::vector<record::Record>& records, bool verbose);

document::Table ModelsTable(const std::vector<roofline::ModelSummary>& models);

// Returns a sentence per library whose heuristic choice was compared with its fastest algorithm.
document::Sentences HeuristicSentences(const std::vector<record::Record>& records);

// Returns the benchmarks with the most time above their roofs, with this time, bound and advice.
document::List OpportunitiesList(const roofline::PlacedRun& run, bool full_names = false);

// Returns a row per record with measured energy: J per call, FLOP/J, mean power, domains. Notes say
// what the energy includes, and why records have none.
document::Table EnergyTable(const std::vector<record::Record>& records);

// Returns a table per machine and number of threads, most threads first: pipes (highest first, each
// followed by its rows by instruction set), memory levels with the access mix that set the roof,
// and overheads. The last column has the reason why a ceiling is not validated. Notes: findings
// about caches, reasons for missing measurements, and findings of the check before the run. Without
// `all`: one table per machine, for the most threads, without rows by instruction set and notes.
document::Document CeilingsDocument(const std::vector<machine::Machine>& machines, bool all = true);

// Returns a table per trajectory, a row per point: threads or size, time, FLOP/s, FLOP/byte, share
// of the roof, FLOP/s relative to the row above and the main cause; then the diagnosis.
document::Document TrajectoriesDocument(const std::vector<roofline::Trajectory>& trajectories);

// Returns a bar with one part per component, with meaning and provenance, and efficiency notes.
document::Bar BarOf(const roofline::Breakdown& breakdown);

}  // namespace dlroof::document
