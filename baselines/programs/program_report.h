// Where the time of a program's step goes, or of all its primitives where it has no steps. Pure.
//
// A program's time, primitive by primitive, inside of it and alone, as text for a terminal.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// A primitive's part of a step, or of the whole log.
struct PrimitiveUse {
  const ProgramPrimitive* primitive = nullptr;
  const roofline::Placed* placed = nullptr;  // of its record; null: the file lacks it
  double calls = 0;                          // [1]
  double seconds = 0;                        // [s] of the clock
  std::optional<double> roof_seconds;  // [s] that the roofs ask for these calls; absent: no roof
  // [s] that could be won: above its roof, and all of a call that only moves_data data; absent: unknown
  std::optional<double> potential_seconds;
};

// The uses with calls, those with most to win first; by time where nothing has a roof.
std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary);

enum class ProgramComponentKind { kRoof, kSlowdown, kMoves, kNoRoof, kCreation, kOutside };

struct ProgramComponent {
  ProgramComponentKind kind = ProgramComponentKind::kRoof;
  std::string words;
  double seconds = 0;  // [s] > 0
};

struct ProgramBreakdown {
  bool of_step = false;            // else of the whole log
  double seconds = 0;              // [s] sum of the parts: the step's wall time where it is known
  std::vector<ProgramComponent> parts;  // roof, gaps by kind, moves_data by kind, others, creation, outside
};

ProgramBreakdown BreakdownOf(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary);

// All calls of one kind and direction.
struct KindUse {
  std::string kind, prop;
  int distinct = 0;               // [1]
  double calls = 0, seconds = 0;  // [1], [s]
  std::optional<double> flops;    // [flop]; absent where one of them is not known
  bool moves_data = true;              // every call only moves_data data
};

// By time, the most first.
std::vector<KindUse> KindsOf(const std::vector<PrimitiveUse>& uses, const roofline::PlacedRun& run);

// Returns true for a run file of a program (context.dlroof.program).
bool IsProgram(const record::RunFile& file);

// Writes the primitives that would give most, the zero-FLOP kernels of the kinds, the breakdown of
// a step, and which lines of the log were read. `width` [columns] of the terminal; 0 is no limit.
// Writes nothing for a file that is no program's.
void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out);

// Returns a sentence on why the program's calls take as long as they do beside the call alone, as
// far as the two times, the cold one and the implementations tell. The primitive has been replayed.
std::string StandaloneDiagnosis(const ProgramPrimitive& primitive);

// Writes a row per replayed primitive, those with most time first, and the reasons of those that
// were not. Writes nothing without a replay. `width` as of WriteProgram.
void WriteStandalone(const ProgramSummary& summary, int width, std::ostream& out);

}  // namespace dlroof::programs
