// Documents of runs: records, models, energies, ceilings and trajectories. Pure.
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
  // Also names of records without a time, remarks about no number, and ceilings of fewer threads
  // and of single instruction sets.
  bool verbose = false;
  bool full_names = false;  // names of kernels are not shortened
};

// Returns a row for every record with a time, in the file's order, and a table of each set of a
// program's GPU kernels (record::IsKernelSum), the longest first: sum of times, share of the set's
// time, launches, mean time of a launch, rates, place under the roofs. Then the reasons why other
// records have no time, remarks, energies, models, zero-FLOP kernels, ceilings, and the benchmarks
// with most time above their roofs.
document::Document RunDocument(const roofline::PlacedRun& run, const TableOptions& options = {});

// Returns what dlroof_bench writes below Google Benchmark's rows.
document::Document SummaryDocument(const roofline::PlacedRun& run, bool verbose);

// Returns whether a record's time has no interval: "n=5" in the column "±" then needs
// roofline::kSpreadMeaning.
bool HasShortSpread(const roofline::PlacedRun& run);

// Returns a line for each ceiling whose failed validation makes percentages upper limits or
// suppresses them: the reason and the number of benchmarks.
document::Document CaveatsDocument(const roofline::PlacedRun& run);

// Returns a line for each reason of unsupported benchmarks, with their types and number. `verbose`
// adds their names.
document::List UnsupportedList(const std::vector<record::Record>& records, bool verbose);

document::Table ModelsTable(const std::vector<roofline::ModelSummary>& models);

// Returns a sentence per library whose heuristic was compared with the best algorithm.
document::Sentences HeuristicSentences(const std::vector<record::Record>& records);

// Returns the benchmarks with most time above their roofs: the time, the bound, the advice.
document::List OpportunitiesList(const roofline::PlacedRun& run, bool full_names = false);

// Returns a row for each record with energy from counters: joules of a call, FLOP/J, mean power,
// domains. Notes say what the joules include, and why records have no energy.
document::Table EnergyTable(const std::vector<record::Record>& records);

// Returns a table per machine and number of threads, most threads first: plain pipes, highest
// first, each followed by its finer rows; memory levels with the access mix that set the roof;
// overheads. The last column has the reason why a ceiling is not validated. Notes say what the
// working-set sweep finds about the caches, why something was not measured, and what the check
// before the run found. Without `all` there is one table per machine, of the most threads, without
// finer rows and notes.
document::Document CeilingsDocument(const std::vector<machine::Machine>& machines, bool all = true);

// Returns a table per trajectory, a row per point: threads or size, time, FLOP/s, FLOP/byte, share
// of the roof, FLOP/s over those of the row above and the largest cause; then the diagnosis.
document::Document TrajectoriesDocument(const std::vector<roofline::Trajectory>& trajectories);

// Returns a part per component, with its meaning and its provenance, and notes on efficiencies.
document::Bar BarOf(const roofline::Breakdown& breakdown);

}  // namespace dlroof::document
