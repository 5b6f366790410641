// How a program spends the time of a step (or of its whole log, if it has no steps), primitive by
// primitive; and its calls compared with standalone calls: the report of a terminal and of a page.
#pragma once

#include <fmt/format.h>

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/document/document.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// One primitive's calls in a step, or in the whole log.
struct PrimitiveUse {
  const ProgramPrimitive* primitive = nullptr;
  const roofline::Placed* placed = nullptr;  // its record and roof, or null if the file lacks them
  double calls = 0;                          // [1]
  double seconds = 0;                        // [s] of wall time
  std::optional<double> flops;               // [flop] of one call, if known
  std::optional<double> roof_seconds;        // [s] time of these calls at their roof, if known
  bool roof_at_most = false;                 // that is an upper limit: the roof is not validated
  // [s] time that could be saved, if known: that above the roof; of zero-FLOP kernels all
  std::optional<double> potential_seconds;
};

// Returns the primitives with calls, the largest potential first (the longest without roofs).
std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary);

// kOperator: operators of PyTorch without a roof. kOutside may be several components.
enum class ProgramComponentKind {
  kRoof,
  kAboveRoof,
  kMoves,
  kNoRoof,
  kOperator,
  kCreation,
  kOutside
};

struct ProgramComponent {
  ProgramComponentKind kind = ProgramComponentKind::kRoof;
  std::string label;
  double seconds = 0;  // [s] > 0
};

struct ProgramBreakdown {
  bool of_step = false;  // false: of the whole log
  double seconds = 0;    // [s] sum of the components: the step's wall time if that is known
  // In this order: time at the roof, time above it by kind of primitive, zero-FLOP kernels by kind,
  // primitives without a roof, operators of PyTorch without a roof by kind, creation of
  // primitives, time outside of both.
  std::vector<ProgramComponent> components;
};

ProgramBreakdown BreakdownOf(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary);

// All calls of one primitive kind and direction.
struct KindUse {
  std::string kind, prop;
  int distinct = 0;               // [1]
  double calls = 0, seconds = 0;  // [1], [s]
  std::optional<double> flops;    // [flop]; set if those of all calls are known
  bool moves_data = true;         // every call has zero FLOPs
};

// Returns the kinds, the one with the most time first.
std::vector<KindUse> KindsOf(const std::vector<PrimitiveUse>& uses);

// Returns a sentence: what may reduce the largest component of the breakdown, whatever it is. The
// time that the roofs need is chosen only if it is at least half of all.
// Returns "" for an empty breakdown.
std::string LargestAdvice(const ProgramBreakdown& breakdown, const ProgramSummary& summary);

// Returns what avoids reorders between the program's kinds of primitives.
std::string ReorderAdvice(const ProgramSummary& summary);

// Words of the reports: "12.3 ms"; "1 launch", "3 launches"; "12.3 %", or "" without a whole.
std::string Time(double seconds);
std::string Counted(double number, std::string_view noun);
std::string Percent(double part, double whole);
template <class... Values>
void Say(document::Document& document, fmt::format_string<Values...> sentence, Values&&... values) {
  document.Say(fmt::format(sentence, std::forward<Values>(values)...));
}

// Adds what was traced, and the modules with most time.
void AddTraced(const TracedProgram& traced, document::Document& document);

// Returns whether the run file is of a program (has context.dlroof.program).
bool IsProgram(const record::RunFile& file);

// Returns the report of a program: what to try first, the time breakdown of a step, the primitives
// with their share of its time, the kinds with the zero-FLOP kernels, the replay, and the number of
// log lines by type. Empty for a file that is not of a program.
document::Document ProgramDocument(const roofline::PlacedRun& run);

// Writes ProgramDocument() as text, and why numbers are limits. `width` [columns] of the terminal;
// 0 means no limit.
void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out);

// Returns the implementation's name as oneDNN before 3.5 spelled it: "brgconv:avx2" for
// "brg_conv_fwd:avx2". Other names are returned unchanged. Two names with the same family are the
// same code path, as far as names tell.
std::string ImplementationFamily(std::string_view implementation);

// Returns whether the program's calls take longer than the standalone call, and neither another
// implementation nor the time with cold caches tells why: StandaloneTime::checks may tell.
bool NeedsChecks(const ProgramPrimitive& primitive);

// Returns a sentence that tells why the program's calls take longer than the standalone call, as
// far as the times under other conditions show. The primitive must have been replayed.
std::string StandaloneDiagnosis(const ProgramPrimitive& primitive);

// Adds a row per replayed primitive, the longest first, and why others were not replayed. Adds
// nothing if there was no replay.
void AddStandalone(const ProgramSummary& summary, document::Document& document);

}  // namespace dlroof::programs
