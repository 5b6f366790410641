// The same model in two programs, primitive by primitive (as Yang et al. 2020 compare DeepCAM in
// two frameworks). Pure functions over two placed run files.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporters/program/program_ledger.h"
#include "reporters/program/program_summary.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

struct ComparedProgram {
  std::string where;  // the file's name
  roofline::PlacedRun run;
  ProgramSummary summary;
};

// Throws BadInput for a run file that is no program's.
ComparedProgram ComparedProgramOf(const std::string& where, roofline::PlacedRun run);

// Calls of one step, or of the whole log.
struct CallSum {
  double calls = 0;    // [1]
  double seconds = 0;  // [s] of the clock

  void Add(const CallSum& more) {
    calls += more.calls;
    seconds += more.seconds;
  }
};

// One side's primitives of one problem.
struct ProblemSide {
  std::vector<const ProgramPrimitive*> primitives;  // in order of appearance
  CallSum sum;
  double lower_quarter_seconds = 0, upper_quarter_seconds = 0;  // [s] of all calls, each so long
  std::optional<double> roof_seconds;  // [s] that the roofs ask for; absent: not known of each
};

struct ProblemRow {
  std::string kind, direction, problem, types;  // as A's first has them
  ProblemSide a, b;
  // [1] B's lower quarter over A's upper one, and the other way round: where the middle halves of
  // their calls' times put the ratio. Absent where a quarter took no time.
  std::optional<std::pair<double, double>> ratio_between;
  std::vector<std::string> differences;  // "implementation: jit:avx2 | brgconv:avx2", A's first
};

// All calls of one kind and direction on both sides.
struct KindRow {
  std::string kind, direction;
  bool moves = false;  // no FLOPs
  CallSum a, b;
};

// Where one side's time goes.
struct SideTotals {
  CallSum computing;            // primitives with FLOPs
  CallSum moving;               // primitives that are known to have none: reorders, copies
  CallSum unknown;              // primitives whose FLOPs are not known
  CallSum matched;              // of computing and unknown: their problem is on both sides
  double creation_seconds = 0;  // [s] of primitives
  std::optional<double> outside_seconds;  // [s] outside of oneDNN
  std::optional<double> wall_seconds;     // [s] of a step, or of the program
};

struct ProgramPair {
  bool per_step = false;                   // else the whole logs: one of them has no steps
  std::vector<ProblemRow> rows;            // on both sides; the largest difference of time first
  std::vector<ProblemRow> only_a, only_b;  // without a partner; the longest first
  std::vector<KindRow> kinds;              // the longest first
  SideTotals a, b;
  std::vector<std::string> remarks;  // sentences on what differs between the programs
};

// The rows keep pointers into `a` and `b`.
ProgramPair PairPrograms(const ComparedProgram& a, const ComparedProgram& b);

// [1] B's seconds over A's; absent where A took no time.
std::optional<double> RatioOf(const CallSum& a, const CallSum& b);

}  // namespace dlroof::programs
