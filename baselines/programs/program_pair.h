// Compares the same model in two programs, primitive by primitive, matched by problem (as Yang et
// al. 2020 compare DeepCAM in two frameworks), and writes the result for people and for programs.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/programs/program_report.h"
#include "baselines/programs/program_summary.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/verbose/primitive.h"

namespace dlroof::programs {

// What must be equal in two primitives that match, from the strictest to the weakest rule.
enum class Agreement {
  kExact,    // kind, direction, sizes, algorithm, data types
  kSizes,    // data types may differ
  kOutputs,  // input sizes and padding may differ, too: a program may pad before the primitive
};
inline constexpr Agreement kAgreements[] = {Agreement::kExact, Agreement::kSizes,
                                            Agreement::kOutputs};

// Returns "forward" for forward_training and forward_inference, "" for undef, else `prop`.
std::string DirectionOf(std::string_view prop);
// Returns "f32" if all tensors but the bias have type f32, else a type per tensor: "u8:s8:f32".
std::string TypesOf(const verbose::Primitive& primitive);
// Returns the sizes in the same form for old and new versions of oneDNN's log: without "g1", and
// without the third pair of sizes of a matmul.
std::string ProblemOf(const verbose::Primitive& primitive);

// Returns a key that is equal for two primitives if they match by `agreement`.
std::string ProblemKey(const verbose::Primitive& primitive, Agreement agreement);

// Returns how program A's and B's primitives of one problem differ: "layout of src: abcd | aBcd8b".
std::vector<std::string> DifferencesOf(const std::vector<verbose::Primitive>& a,
                                       const std::vector<verbose::Primitive>& b);

struct ComparedProgram {
  std::string where;  // the file's name
  roofline::PlacedRun run;
  ProgramSummary summary;
};

// Returns the run with its program's summary. Throws BadInput if the run file is not of a program.
ComparedProgram ComparedProgramOf(const std::string& where, roofline::PlacedRun run);

// The calls of one step, summed; of the entire log if the comparison is not per step.
struct CallSum {
  double calls = 0;    // [1]
  double seconds = 0;  // [s] of wall time

  void Add(const CallSum& more) {
    calls += more.calls;
    seconds += more.seconds;
  }
};

// One program's primitives of one problem.
struct ProblemSide {
  std::vector<const ProgramPrimitive*> primitives;  // in order of appearance
  CallSum sum;
  double lower_quarter_seconds = 0, upper_quarter_seconds = 0;  // [s] all calls at that quartile
  std::optional<double> roof_seconds;  // [s] time of these calls at their roofs, if all have one
};

struct ProblemRow {
  std::string kind, direction, problem, types;  // of A's first primitive
  ProblemSide a, b;
  // [1] Range of B's time divided by A's: B's lower quartile / A's upper quartile, and B's upper
  // quartile / A's lower quartile. Not set if a quartile is 0.
  std::optional<std::pair<double, double>> ratio_between;
  std::vector<std::string> differences;  // "implementation: jit:avx2 | brgconv:avx2", A's first
};

// All calls of one primitive kind and direction in both programs.
struct KindRow {
  std::string kind, direction;
  bool moves_data = false;  // zero FLOPs
  CallSum a, b;
};

// How one program spends its time.
struct SideTotals {
  CallSum computing;  // primitives with FLOPs
  CallSum moving;     // primitives with zero FLOPs: reorders, copies
  CallSum unknown;    // primitives with unknown FLOPs
  CallSum matched;    // the calls of `computing` and `unknown` whose problem is in both programs
  double creation_seconds = 0;            // [s] time of creating primitives
  std::optional<double> outside_seconds;  // [s] outside of oneDNN
  std::optional<double> wall_seconds;     // [s] of a step, or of the program
};

struct ProgramPair {
  // Whether the times are those of one step. Otherwise they are of the whole logs.
  bool per_step = false;
  std::vector<ProblemRow> rows;            // in both programs, the largest time difference first
  std::vector<ProblemRow> only_a, only_b;  // in one program, the longest first
  std::vector<KindRow> kinds;              // the longest first
  SideTotals a, b;
  std::vector<std::string> remarks;  // sentences on differences between the programs
};

// Compares two programs. The result points into `a` and `b`.
ProgramPair PairPrograms(const ComparedProgram& a, const ComparedProgram& b);

// Returns B's seconds divided by A's [1], or nothing if A's are 0.
std::optional<double> RatioOf(const CallSum& a, const CallSum& b);

struct ProgramPairReport {
  const ComparedProgram& a;
  const ComparedProgram& b;
  ProgramPair pair;
};

struct ProgramPairWriter {
  std::string_view format;  // as --format spells it
  void (*write)(const ProgramPairReport& report, std::ostream& out);
};

// The default format is the first. The table is as wide as the terminal.
const std::vector<ProgramPairWriter>& ProgramPairWriters();

}  // namespace dlroof::programs
