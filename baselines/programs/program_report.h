// The report of a program for the terminal and the page: the time of a step (or of the whole log,
// without steps), primitive by primitive.
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
  bool roof_at_most = false;                 // roof_seconds is an upper limit: roof not validated
  // [s] Time that could be saved: the time above the roof; for zero-FLOP kernels all of their time.
  // nullopt if the roof is unknown.
  std::optional<double> potential_seconds;
};

// Returns the primitives with calls, by descending potential_seconds (by time if no roof is known).
std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary);

// The kinds of components, in the order of ProgramBreakdown::components.
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
  double seconds = 0;    // [s] sum of the components: the step's wall time, if known
  // In this order: time at the roof, time above it by kind of primitive, zero-FLOP kernels by kind,
  // primitives without a roof, PyTorch's operators without a roof by kind, creation of primitives,
  // time outside of primitives and operators.
  std::vector<ProgramComponent> components;
};

ProgramBreakdown BreakdownOf(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary);

// Returns a sentence on how to reduce the largest component. The component kRoof is ignored if it
// is less than half of all time. Returns "" for an empty breakdown.
std::string LargestAdvice(const ProgramBreakdown& breakdown, const ProgramSummary& summary);

// Advice to avoid calls that only move data.
inline constexpr std::string_view kReorderAdvice =
    "keep one layout and one type between primitives (PyTorch: channels_last), and pack weights "
    "once (a frozen model or graph)";

// Return e.g. "12.3 ms"; "1 launch" or "3 launches"; "12.3 %", or "" if `whole` is 0.
std::string Time(double seconds);
std::string Counted(double number, std::string_view noun);
std::string Percent(double part, double whole);
template <class... Values>
void Say(document::Document& document, fmt::format_string<Values...> sentence, Values&&... values) {
  document.Say(fmt::format(sentence, std::forward<Values>(values)...));
}

// Adds a sentence on the trace, and a table of the modules with the most time.
void AddTraced(const TracedProgram& traced, document::Document& document);

// Returns whether the run file is of a program (has context.dlroof.program).
bool IsProgram(const record::RunFile& file);

// Returns e.g. "a step: 161 ms -> 307 ms (medians of 18 and 18 steps)" for the run files of two
// programs whose steps are timed, otherwise "".
std::string StepChange(const record::RunFile& base, const record::RunFile& contender);

// Returns the report of a program: what to try first, the time breakdown of a step, the primitives
// with their share of its time, and the number of log lines by type. Empty for other files.
document::Document ProgramDocument(const roofline::PlacedRun& run);

// Writes ProgramDocument() as text, then caveats: reasons why numbers are only limits. `width` of
// the terminal: [columns], 0: no limit.
void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out);

}  // namespace dlroof::programs
