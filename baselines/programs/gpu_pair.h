// Compares two programs that use a GPU: the same model in two frameworks (as Yang et al. 2020
// compare DeepCAM in TensorFlow and PyTorch), eager beside compiled, or before and after a change.
// Kernels are matched by their names. Writes the result for people and for programs.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/gpu_roofs.h"
#include "reporters/document/document.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

struct ComparedGpuProgram {
  std::string where;  // the file's name
  roofline::PlacedRun run;
  GpuProgram program;  // has a timeline; the first one is compared
};

// Returns whether the run file is of a program whose GPU work was traced (has
// context.dlroof.gpu_program).
bool IsGpuProgram(const record::RunFile& file);

// Returns the run with its GPU program. Throws BadInput if the run file has none, or one without
// GPU work.
ComparedGpuProgram ComparedGpuProgramOf(const std::string& where, roofline::PlacedRun run);

// What the times of a comparison are.
enum class PairedTimes {
  kSteps,      // of a steady step (both programs have steps)
  kTraces,     // of the whole traces (no program has steps)
  kDurations,  // sums of the kernels' durations in the whole traces (one program has steps)
};
std::string_view Key(PairedTimes times);  // "steps", "traces", "durations"

// Launches of kernels of one program, summed.
struct LaunchSum {
  double launches = 0;  // [1]
  double seconds = 0;   // [s] of the device's time: kernels that run together share it (kDurations:
                        // sum of durations)

  void Add(const LaunchSum& more) {
    launches += more.launches;
    seconds += more.seconds;
  }
};
// Returns B's seconds divided by A's [1], or nothing if A's are 0.
std::optional<double> RatioOf(const LaunchSum& a, const LaunchSum& b);

// One program's kernels of one name.
struct KernelSide {
  std::vector<const GpuKernelUse*> uses;  // one per grid and block, the most time first
  LaunchSum sum;
  // Share of their roofs that these launches reach, if each of them is placed.
  std::optional<roofline::RoofShare> roof_share;
};

struct KernelRow {
  std::string name;  // whole, demangled
  KernelKind kind = KernelKind::kOther;
  KernelSide a, b;
  std::vector<std::string> differences;  // "grid: 128 | 256", A's first
};

// All kernels of one kind in both programs.
struct KernelKindRow {
  KernelKind kind = KernelKind::kOther;
  LaunchSum a, b;
};

// How one program spends its time.
struct GpuSideTotals {
  LaunchSum kernels;  // all of them; equals the sums of the rows and of the kinds
  LaunchSum matched;  // those whose name is in both programs
  RoofTimes roofs;    // of the kernels
  // [s] of a step, or from the first to the last work of the trace
  double wall_seconds = 0;
  // Kernels, copies, fills and idle time, which add up to wall_seconds. Not set for kDurations.
  std::optional<GpuTimes> times;
  std::vector<GpuCopies> copies;      // empty for kDurations
  std::optional<double> graph_share;  // [1] of the trace's launches: nodes of CUDA graphs
};

struct GpuPair {
  PairedTimes times = PairedTimes::kSteps;
  std::vector<KernelRow> rows;            // in both programs, the largest time difference first
  std::vector<KernelRow> only_a, only_b;  // in one program, the longest first
  std::vector<KernelKindRow> kinds;       // the longest first
  GpuSideTotals a, b;
  std::vector<std::string> differences;  // "GPU: NVIDIA H100 | NVIDIA H200", A's first
  std::vector<std::string> remarks;      // sentences on what limits the comparison
};

// Compares two programs: each kernel of a step is in exactly one row. The result points into `a`
// and `b`.
GpuPair PairGpuPrograms(const ComparedGpuProgram& a, const ComparedGpuProgram& b);

// A part of the wall time in both programs.
struct GpuChange {
  std::string what;     // "idle", "layout kernels"
  double a = 0, b = 0;  // [s]
  double Seconds() const { return b - a; }
};
// Returns the kinds of kernels, copies, fills and idle time, the largest difference first. Their
// differences add up to that of the wall times (kDurations: of the kernels).
std::vector<GpuChange> ChangesOf(const GpuPair& pair);

struct GpuPairReport {
  const ComparedGpuProgram& a;
  const ComparedGpuProgram& b;
  GpuPair pair;
};

// Returns the comparison as sentences and tables. `all`: with every kernel.
document::Document GpuPairDocument(const GpuPairReport& report, bool all);

struct GpuPairWriter {
  std::string_view format;  // as --format spells it; the same ones as ProgramPairWriters()
  void (*write)(const GpuPairReport& report, std::ostream& out);
};

// The default format is the first. The table is as wide as the terminal.
const std::vector<GpuPairWriter>& GpuPairWriters();

}  // namespace dlroof::programs
