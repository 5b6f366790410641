// The problem of a program's primitive, by which two programs' primitives are matched. Pure.
//
// The same model in two programs, primitive by primitive (as Yang et al. 2020 compare DeepCAM in
// two frameworks). Pure functions over two placed run files.
//
// Two programs side by side, for people and for machines.
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

// Parts of two primitives that have to agree. Each step asks for fewer than the one before.
enum class Agreement {
  kExact,    // kind, direction, sizes, algorithm, data types
  kSizes,    // the types may differ
  kOutputs,  // the padding may be outside of one of them: other input sizes and padding
};
inline constexpr Agreement kAgreements[] = {Agreement::kExact, Agreement::kSizes,
                                            Agreement::kOutputs};

// "forward" of forward_training and forward_inference; "" of undef; else the prop_kind.
std::string DirectionOf(std::string_view prop);
// "f32" where all tensors but the bias have this type, else "u8:s8:f32" in the tensors' order.
std::string TypesOf(const verbose::Primitive& primitive);
// The sizes as both generations of oneDNN's lines write them: without a single group, and without a
// product's third pair of sizes.
std::string ProblemOf(const verbose::Primitive& primitive);

// Equal keys: the same problem by this agreement.
std::string ProblemKey(const verbose::Primitive& primitive, Agreement agreement);

// Sentences of what differs between one problem's primitives of two programs, "layout of src: abcd
// | aBcd8b", A's first.
std::vector<std::string> DifferencesOf(const std::vector<verbose::Primitive>& a,
                                       const std::vector<verbose::Primitive>& b);

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
  bool moves_data = false;  // no FLOPs
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

struct ProgramPairReport {
  const ComparedProgram& a;
  const ComparedProgram& b;
  ProgramPair pair;
};

struct ProgramPairWriter {
  std::string_view format;  // as --format spells it
  void (*write)(const ProgramPairReport& report, std::ostream& out);
};

// Returns the default format first. The table is as wide as the terminal.
const std::vector<ProgramPairWriter>& ProgramPairWriters();

}  // namespace dlroof::programs
