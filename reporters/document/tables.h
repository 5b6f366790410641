// Reports as text for a terminal. `width` is the terminal's width [columns]; 0 means no limit
// (output to a file). Control characters of a file never reach the terminal.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/trajectory.h"

namespace dlroof::document {

// How tables are written.
struct TableOptions {
  bool verbose = false;     // also names of records without a time, and remarks about no number
  bool full_names = false;  // names of kernels are not shortened
};

// Writes a row for every record with a time (in the file's order; WriteKernels' table for a
// program's kernels), the reasons why other records have none, then remarks, energies, models,
// zero-FLOP kernels, ceilings, and the benchmarks with most time above their roofs. Names that are
// too long are shortened in the middle.
void WriteTables(const roofline::PlacedRun& run, int width, std::ostream& out,
                 const TableOptions& options = {});

// Writes a table for each set of a program's GPU kernels (record::IsKernelSum), a row per kernel,
// the longest first: sum of times, share of the set's time, launches, mean time of a launch,
// FLOP/s, FLOP/byte and place under the roofs. Writes nothing without such records.
void WriteKernels(const roofline::PlacedRun& run, int width, std::ostream& out,
                  bool full_names = false);

// Writes what "n=5" in the column "±" means, if a record's time has no interval.
void WriteSpreadMeaning(const roofline::PlacedRun& run, std::ostream& out);

// Writes the readings on which estimates rest that are below every repetition, a line each.
void WriteEstimates(const roofline::PlacedRun& run, std::ostream& out, bool full_names = false);

// Returns the record's name; that of a kernel has no set, is short (text::ShortKernelName) unless
// `full_names`, and may be that of another kernel too.
std::string NameInTerminal(const record::Record& record, bool full_names);

// Returns "57.5 DRAM", or an empty text if the intensity is unknown.
std::string IntensityText(const std::optional<roofline::WorkRate>& rate);

// Writes a row per model, or nothing without models.
void WriteModels(const std::vector<roofline::ModelSummary>& models, int width, std::ostream& out);

// Writes a sentence per library whose heuristic was compared with the best algorithm, or nothing.
void WriteHeuristics(const std::vector<record::Record>& records, std::ostream& out);

// Writes one line for each reason of unsupported benchmarks, with their types and number. `verbose`
// adds their names.
void WriteUnsupported(const std::vector<record::Record>& records, std::ostream& out,
                      bool verbose = false);

// Writes one line for each ceiling whose failed validation makes percentages upper limits or
// suppresses them: the reason and the number of benchmarks.
void WriteCaveats(const roofline::PlacedRun& run, std::ostream& out);

// Writes the benchmarks with most time above their roofs: the time, the bound, the advice.
void WriteOpportunities(const roofline::PlacedRun& run, std::ostream& out, bool full_names = false);

// Returns FLOPs of one call (most trusted count) / joules [flop/J], or nullopt if one is unknown.
std::optional<double> FlopsPerJoule(const record::Record& record);

// Writes a row for each record with energy from counters: joules of a call, FLOP/J, mean power,
// domains. Then it says what the joules include, and the reasons of records without energy. Writes
// nothing if no energy was requested.
void WriteEnergy(const std::vector<record::Record>& records, int width, std::ostream& out);

// Writes a table per machine and number of threads, most threads first: plain pipes, highest first,
// each followed by its finer rows; memory levels with the access mix that set the roof; overheads.
// The last column has the reason why a ceiling is not validated. With `remarks`, sentences below
// the table say what the working-set sweep finds about the caches, why something was not measured,
// and what the check before the run found. In a narrow terminal columns are left out and reasons
// are shortened.
void WriteCeilings(const std::vector<machine::Machine>& machines, int width, std::ostream& out,
                   bool remarks = true);

// Writes a table per trajectory, a row per point: threads, size, time, FLOP/s, intensity, share of
// the roof, the step from the point before and its largest cause; then the diagnosis' sentence.
void WriteTrajectories(const std::vector<roofline::Trajectory>& trajectories, std::ostream& out);

}  // namespace dlroof::document
