// The same model in two programs, primitive by primitive, matched by problem (as Yang et al. 2020
// compare DeepCAM in two frameworks). Pure functions over two placed run files, and writers of the
// result for people and for programs.
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

// What must agree between two primitives to match. Each step requires less than the one before.
enum class Agreement {
  kExact,    // kind, direction, sizes, algorithm, data types
  kSizes,    // data types may differ
  kOutputs,  // input sizes and padding may differ too, as one program may pad outside the primitive
};
inline constexpr Agreement kAgreements[] = {Agreement::kExact, Agreement::kSizes,
                                            Agreement::kOutputs};

// Returns "forward" for forward_training and forward_inference, "" for undef, else the prop_kind.
std::string DirectionOf(std::string_view prop);
// Returns "f32" if all tensors but the bias have this type, else "u8:s8:f32" in the tensors' order.
std::string TypesOf(const verbose::Primitive& primitive);
// Returns the sizes in one form for both generations of oneDNN's logs: without a single group,
// and without a matrix product's third pair of sizes.
std::string ProblemOf(const verbose::Primitive& primitive);

// Returns equal keys for primitives that match by this agreement.
std::string ProblemKey(const verbose::Primitive& primitive, Agreement agreement);

// Returns what differs between two programs' primitives of one problem, A's first: "layout of
// src: abcd | aBcd8b".
std::vector<std::string> DifferencesOf(const std::vector<verbose::Primitive>& a,
                                       const std::vector<verbose::Primitive>& b);

struct ComparedProgram {
  std::string where;  // the file's name
  roofline::PlacedRun run;
  ProgramSummary summary;
};

// Throws BadInput for a run file that is not of a program.
ComparedProgram ComparedProgramOf(const std::string& where, roofline::PlacedRun run);

// The calls in one step, or in the whole log.
struct CallSum {
  double calls = 0;    // [1]
  double seconds = 0;  // [s] of wall time

  void Add(const CallSum& more) {
    calls += more.calls;
    seconds += more.seconds;
  }
};

// One side's primitives of one problem.
struct ProblemSide {
  std::vector<const ProgramPrimitive*> primitives;  // in order of appearance
  CallSum sum;
  double lower_quarter_seconds = 0, upper_quarter_seconds = 0;  // [s] all calls at that quartile
  std::optional<double> roof_seconds;  // [s] time of these calls at their roofs, if all have one
};

struct ProblemRow {
  std::string kind, direction, problem, types;  // of A's first primitive
  ProblemSide a, b;
  // [1] B's lower quartile over A's upper one, and B's upper over A's lower one: the ratio's range
  // by the middle halves of the calls' times. Not set if a quartile is 0.
  std::optional<std::pair<double, double>> ratio_between;
  std::vector<std::string> differences;  // "implementation: jit:avx2 | brgconv:avx2", A's first
};

// All calls of one kind and direction on both sides.
struct KindRow {
  std::string kind, direction;
  bool moves_data = false;  // zero FLOPs
  CallSum a, b;
};

// How one side spends its time.
struct SideTotals {
  CallSum computing;            // primitives with FLOPs
  CallSum moving;               // primitives with zero FLOPs: reorders, copies
  CallSum unknown;              // primitives with unknown FLOPs
  CallSum matched;              // of computing and unknown, those whose problem is on both sides
  double creation_seconds = 0;  // [s] of primitives
  std::optional<double> outside_seconds;  // [s] outside of oneDNN
  std::optional<double> wall_seconds;     // [s] of a step, or of the program
};

struct ProgramPair {
  bool per_step = false;                   // false: whole logs, as one program has no steps
  std::vector<ProblemRow> rows;            // on both sides; the largest difference of time first
  std::vector<ProblemRow> only_a, only_b;  // unmatched; the longest first
  std::vector<KindRow> kinds;              // the longest first
  SideTotals a, b;
  std::vector<std::string> remarks;  // sentences on differences between the programs
};

// The rows point into `a` and `b`.
ProgramPair PairPrograms(const ComparedProgram& a, const ComparedProgram& b);

// Returns B's seconds over A's [1], if A took any time.
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
