// A run file as text for a terminal: a row per benchmark, findings, energy, models, ceilings.
//
// A machine's ceilings as text for a terminal, with what is known against them.
//
// Trajectories as text for a terminal: a table each, and the sentence of its diagnosis.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/trajectory/trajectory.h"

namespace dlroof::terminal {

// Writes a row for every record with a time (in the file's order), the reasons of the others, then
// remarks, models, the ceilings, and where time can be won. `verbose` adds the names of those
// without a time, and remarks about ceilings that take no number away. `width` [columns] of the
// terminal: names are shortened in the middle to fit, 0 leaves them whole (output to a file).
// Control characters of the file never reach the terminal.
void WriteTables(const roofline::PlacedRun& run, int width, std::ostream& out,
                 bool verbose = false);

// Writes a row per model. Writes nothing without models. `width` as above.
void WriteModels(const std::vector<roofline::ModelSummary>& models, int width, std::ostream& out);

// Writes a line for each reason for unsupported benchmarks, with their types and number. `verbose`
// adds their names.
void WriteUnsupported(const std::vector<record::Record>& records, std::ostream& out,
                      bool verbose = false);

// Writes a line for each ceiling that is not validated and takes a percentage away: why, from how
// many.
void WriteCaveats(const roofline::PlacedRun& run, std::ostream& out);

// Writes the benchmarks with most time above their roofs: by how much, what binds, what to try.
void WriteOpportunities(const roofline::PlacedRun& run, std::ostream& out);

// Returns the FLOPs of one call by the most trusted count over the joules of one call [flop/J];
// absent where one of them is not known.
std::optional<double> FlopsPerJoule(const record::Record& record);

// Writes a row for each record with energy, by counters, then by meters of nodes: joules of a call,
// FLOP/J, mean power, domains or nodes. Then what the joules are of, and why others have none.
// Writes nothing where energy was not asked for. `width` [columns] of the terminal, 0: no limit.
void WriteEnergy(const std::vector<record::Record>& records, int width, std::ostream& out);

// Writes a table per machine and number of threads, most threads first: plain pipes, highest first,
// each with its finer rows under it; memory levels with the mix that made the roof; overheads. The
// last column says why a ceiling is not validated. Sentences below it say what a sweep over working
// sets finds about the caches, why something was not measured, and what a look before the run saw.
// `width` [columns] of the terminal: columns are left out and reasons shortened to fit; 0 writes
// everything. Control characters of the file never reach the terminal.
void WriteCeilings(const std::vector<machine::Machine>& machines, int width, std::ostream& out,
                   bool remarks = true);

// Writes a row per point: threads, size, time, FLOP/s, intensity, share of the roof, the step from
// the point before and its largest cause.
void WriteTrajectories(const std::vector<trajectory::Trajectory>& trajectories, std::ostream& out);

}  // namespace dlroof::terminal
