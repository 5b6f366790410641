// The steps of a CPU's measurement. Each family of probes (arithmetic, memory, overheads) adds
// steps to each pass, the steps fill rows, and at the end each family turns its rows into ceilings.
// Shared types come first, then the families in the order in which they run. Passes are counted
// from 0. Steps run on MeasureSession::bench. Modules of libraries register probes of overheads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/cpu_ceilings/curves.h"
#include "ceilings/cpu_ceilings/thread_team.h"
#include "ceilings/cpu_ceilings/working_sets.h"
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

struct LaunchCost {
  double seconds = 0;  // [s] per synchronous call, the best repetition
  bool clean = false;  // no thread waited for a CPU; `seconds` is only meaningful if it is set
  std::string how;     // library, version, primitive, and the reason if it is not validated
};

// Returns the cost of one call. `calls(n)` makes n calls one after another. Repetitions in which a
// thread waited for a CPU are noisy.
LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls,
                        const machine::RatePolicy& policy);

// Measures with `threads` threads of the library if it lets its user choose.
using LaunchProbe = std::function<LaunchCost(int threads, const machine::RatePolicy& policy)>;

// Registers a probe: "launch" for the start of a primitive, "fork-join" or "timer". Call it at
// namespace scope: [[maybe_unused]] const bool registered = RegisterOverheadProbe(...);
bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe);
const std::map<std::string, LaunchProbe>& OverheadProbes();

inline constexpr double kArithmeticTolerance = 0.02, kMemoryTolerance = 0.03;
inline constexpr double kPassTolerance = 0.05;

struct Effort {
  const char* name;
  double budget_seconds;  // [s] of all probes and thread counts
  double repetition_seconds;
  int repetitions, doubled;
  int passes;                   // over all probes, so that each is measured at distant times
  double again_seconds;         // [s] for RemeasureNotValidated
  int sustained;                // number of pipes that run for 10 s
  bool sustained_dram = false;  // whether DRAM is also measured for 10 s

  machine::RatePolicy Policy(double tolerance) const;
  // Returns the time [s] of a row in a pass, with about three repetitions for the calibration.
  double NominalSeconds() const { return repetition_seconds * (repetitions + 2 * doubled + 3); }
};

// Pinned threads, each with its operands and memory.
class CpuBench {
 public:
  explicit CpuBench(const std::vector<int>& cpus);

  int threads() const { return team_.size(); }
  ThreadTeam& team() { return team_; }
  cpu_kernels::Workspace& workspace(int thread) {
    return *workspaces_[static_cast<std::size_t>(thread)];
  }

  // Measures the rate and, after each repetition, the clock of the cores.
  machine::Rate Measure(cpu_kernels::Kernel kernel, const machine::RatePolicy& policy);
  // Returns the first thread's current issue rate [1/cycle] if it can be measured
  // (counters/cpu/clocks.h). The other threads sleep meanwhile.
  std::optional<double> IssueRate();
  // Allocates `bytes` per thread for `streams` arrays. Each thread writes its own memory first.
  void AllocateArrays(double bytes, int streams, std::size_t step_floats,
                      cpu_kernels::PageSize page_size = cpu_kernels::PageSize::kHuge);

 private:
  ThreadTeam team_;
  std::vector<std::unique_ptr<cpu_kernels::Workspace>> workspaces_;
  std::vector<cpu_kernels::Pages> memory_;
};

struct Step {
  std::string text;
  std::function<void(double max_seconds)> run;
  int threads = 0;                      // thread count of the set that it fills
  std::optional<std::string> row = {};  // the row of CeilingSet::flops or ::mixes that it measures
};

// Measurements of one row of a ceiling set.
struct Row {
  std::string how;
  double work_per_iteration = 0;      // [flop] or [byte], all threads
  std::optional<Reason> reason;       // why no rate of this row can be validated
  std::optional<std::string> result;  // Validation::result
  double set_bytes = 0;  // [byte] one thread's arrays in the best pass, of a memory row
  std::vector<machine::Rate> passes;

  // Returns the rate [flop/s] or [byte/s] of the best pass, 0 before the first one.
  double BestRate() const;
  // Returns Validation::drift, which needs two passes.
  std::optional<double> Drift() const;
  // Turns the passes into a ceiling; `pass_tolerance` as in MergePasses.
  machine::Ceiling Finished(int threads, const machine::RatePolicy& policy,
                            double pass_tolerance = kPassTolerance) const;
};

struct Rows {
  std::map<std::string, Row> flops;                   // by pipe key
  std::map<Level, std::map<std::string, Row>> bytes;  // by level, then "<mix>.<isa>"
};

// The state of one measurement.
struct MeasureSession {
  cpu::Cpu cpu;
  Effort effort;
  machine::Machine machine = {};
  std::vector<Step> steps = {};
  // Steps of a fixed length that run at the end and need the ceilings.
  std::vector<Step> last_steps = {};
  std::unique_ptr<CpuBench> bench = nullptr;  // threads of the current step
  std::map<int, Rows> rows = {};              // by thread count
  std::map<int, WorkingSets> sets = {};
  // Set if the system reports no cache sizes and the topology has those found by a sweep.
  bool caches_found = false;
  // Arithmetic rows are in the order of the tables, memory rows begin with the widest vectors.
  std::vector<cpu_kernels::FlopsProbe> flops_probes = cpu_kernels::FlopsProbesFor(cpu.features);
  std::vector<const cpu_kernels::BytesIsa*> bytes_isas = cpu_kernels::BytesIsasFor(cpu.features);

  machine::RatePolicy Policy(double tolerance, double max_seconds) const;
  WorkingSets SetsOf(const std::vector<int>& cpus) const;
};

// Runs the step. An exception ends this step only, and `absent` of the step's set gets its text.
// FinishFlops and FinishBytes remove the text if another pass measured the row.
void TryStep(MeasureSession& session, const Step& step, double max_seconds);

// A row that can run for any time.
struct RunningRow {
  std::string row;                         // of CeilingSet::flops or ::mixes
  double work_per_iteration = 0;           // [flop] or [byte], all threads
  std::function<void(CpuBench&)> prepare;  // writes the operands or allocates the arrays
  cpu_kernels::Kernel kernel = nullptr;
};

// ---- arithmetic: a row per pipe and instruction set ----

// Adds the steps of a pass.
void AddFlopsSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings.
void FinishFlops(MeasureSession& session);
// Adds the roof of each pipe, "fp32.vector": the row "fp32.vector.<part>" that ChooseRoof takes.
// `how` names the row. Pure.
void AddPlainPipes(std::map<std::string, machine::Ceiling>& flops);

// ---- memory: a row per level, mix of accesses, instruction set and page size ----

// Adds the steps of a pass.
void AddBytesSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings and the best row of each level into its roof.
void FinishBytes(MeasureSession& session);
// Returns the row of the mix that is DRAM's roof, if there is one, on arrays of the same size.
std::optional<RunningRow> DramRoofRow(const MeasureSession& session, int threads);

// ---- curves beside the roofs: bandwidth by working set, FLOP/s by intensity ----

// Finds the caches of a system that reports no cache sizes by sweeps over working sets, which take
// seconds, and writes them to the topology of `session` (CachesFromEdges). CeilingSet::edges of
// each thread count gets the result under "caches".
void FindUnreportedCaches(MeasureSession& session, const std::vector<int>& counts);
// Adds the sweep over working sets to the first pass, and the ridges to the last pass, when the
// roofs measured so far give the knees.
void AddCurveSteps(MeasureSession& session, int threads, int pass);
// Returns the reported cache sizes of a team and the edges of its sweep, if it has one.
LevelEdges EdgesOf(const MeasureSession& session, int threads);
// Writes to CeilingSet::edges whether the sweep agrees with the sizes of the caches.
void FinishCurves(MeasureSession& session);

// ---- another pass for rows that are roofs and not validated ----

// Runs one more pass of each such row (NeedsAnotherPass), as long as the effort has time. Needs the
// ceilings. Returns true if a row was measured; then finish the ceilings again.
bool RemeasureNotValidated(MeasureSession& session);
// Returns true if the row is a roof that is not validated and that another pass could validate.
bool NeedsAnotherPass(const machine::CeilingSet& set, const std::string& row);
// Returns the roof that has the rate of this row of CeilingSet::flops or ::mixes, or null.
machine::Ceiling* RoofOf(machine::CeilingSet& set, const std::string& row);
const machine::Ceiling* RoofOf(const machine::CeilingSet& set, const std::string& row);

// ---- rates after 10 s without a pause, when heat and power have lowered the clock ----

// Adds steps that run the roofs of the largest thread count for 10 s: the pipe with the highest
// rate, in a thorough measurement all pipes and DRAM.
void AddSustainedSteps(MeasureSession& session);
// Writes to CeilingSet::sustained how a row's rate after 10 s, `per_second` [flop/s] or [byte/s],
// compares with its burst. Sets sustained_per_second of the row and its roof if they differ by more
// than 3 %. Pure.
void AddSustainedRate(machine::Machine& machine, int threads, const std::string& row,
                      double per_second);

// ---- costs of a call beside its arithmetic and its traffic ----

// Adds the steps. They come last, because the library's threads spin for a while after each call.
void AddOverheadSteps(MeasureSession& session, int threads);

}  // namespace dlroof::cpu_ceilings
