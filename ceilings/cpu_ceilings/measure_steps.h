// Costs of a call beside its work: starting a tiny primitive, forking and joining a team, reading
// the timer. Modules register their probes. A build without a library has no launch cost.
//
// The steps of a CPU's measurement. First the types that the families of probes (arithmetic,
// memory, overheads) share: each family adds steps for each pass, the steps fill rows, and at the
// end each family turns its rows into ceilings. Then the families, in the order in which they run.
// Passes are counted from 0. Steps run on session.bench.
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
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

struct LaunchCost {
  double seconds = 0;  // [s] per call, finished when it returns; the best repetition
  bool clean = false;  // no thread waited for a CPU; else `seconds` means nothing
  std::string how;     // library, version, primitive, and the doubt where it was not validated
};

// Returns the mean cost of one call. `calls(n)` makes n calls one after another. Watches the waits
// of its threads.
LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls,
                        const machine::RatePolicy& policy);

// Runs on `threads` threads of the library where it lets us choose.
using LaunchProbe = std::function<LaunchCost(int threads, const machine::RatePolicy& policy)>;

// Each under a name of its own: "launch" for the start of a primitive, "fork-join", "timer". At
// namespace scope: [[maybe_unused]] const bool registered = RegisterOverheadProbe(...);
bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe);
const std::map<std::string, LaunchProbe>& OverheadProbes();

inline constexpr double kArithmeticTolerance = 0.02, kMemoryTolerance = 0.03;
inline constexpr double kPassTolerance = 0.05;

struct Effort {
  const char* name;
  double budget_seconds;  // [s] of probes, all thread counts together
  double repetition_seconds;
  int repetitions, doubled;
  int passes;                   // over all probes, so that each is measured at times far apart
  double again_seconds;         // [s] for rows that did not prove themselves and decide a roof
  int sustained;                // how many pipes are watched for 10 s
  bool sustained_dram = false;  // and DRAM

  machine::RatePolicy Policy(double tolerance) const;
  // Calibration takes about three repetitions.
  double NominalSeconds() const { return repetition_seconds * (repetitions + 2 * doubled + 3); }
};

// Pinned threads, each with its operands and memory.
class CpuBench {
 public:
  explicit CpuBench(const std::vector<int>& cpus);

  int threads() const { return team_.size(); }
  ThreadTeam& team() { return team_; }
  cpu_kernels::Workspace& Of(int thread) { return *workspaces_[static_cast<std::size_t>(thread)]; }

  // Measures the rate, and the cores' clock after each repetition.
  machine::Rate Measure(cpu_kernels::Kernel kernel, const machine::RatePolicy& policy);
  // Returns the first thread's current issue rate [1/cycle]; absent where unknown (see
  // counters/cpu/clocks.h). The other threads sleep meanwhile.
  std::optional<double> IssueRate();
  // Allocates `bytes` per thread for `streams` arrays. Each thread touches its own memory first.
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
  int threads = 0;  // of the set that it adds to
  std::string row;  // of CeilingSet::flops or ::mixes that it measures; empty: something else
};

// Measurements of one row of a ceiling set.
struct Row {
  std::string how;
  double work_per_iteration = 0;  // [flop] or [byte], all threads
  std::string reason;             // of the set-up, independent of the rates
  std::string result;             // Proof::result
  double set_bytes = 0;           // [byte] memory rows: one thread's arrays in the best pass
  std::vector<machine::Rate> passes;

  // [flop/s] or [byte/s] of the best pass; 0 without one.
  double BestRate() const;
  std::optional<double> Drift() const;  // Proof::drift; absent without a second pass
  // `pass_tolerance`: see MergePasses.
  machine::Ceiling Finished(int threads, const machine::RatePolicy& policy,
                            double pass_tolerance = kPassTolerance) const;
};

struct Rows {
  std::map<std::string, Row> flops;                   // by pipe key
  std::map<Level, std::map<std::string, Row>> bytes;  // by level, then "<mix>.<isa>"
};

// State that the steps of one measurement share.
struct MeasureSession {
  cpu::Cpu cpu;
  Effort effort;
  machine::Machine machine = {};
  std::vector<Step> steps = {};
  // After all others, when the ceilings are there; of a fixed length.
  std::vector<Step> last_steps = {};
  std::unique_ptr<CpuBench> bench = nullptr;  // of the thread count in progress
  std::map<int, Rows> rows = {};              // by thread count
  std::map<int, WorkingSets> sets = {};
  // The system tells no cache sizes: those in the topology are edges of a sweep.
  bool caches_found = false;
  // Arithmetic rows in the order of the tables, memory rows with the widest first.
  std::vector<cpu_kernels::FlopsProbe> flops_probes = cpu_kernels::FlopsProbesFor(cpu.features);
  std::vector<const cpu_kernels::BytesIsa*> bytes_isas = cpu_kernels::BytesIsasFor(cpu.features);

  machine::RatePolicy Policy(double tolerance, double max_seconds) const;
  WorkingSets SetsOf(const std::vector<int>& cpus) const;
};

// Runs the step. An exception ends this step alone: `absent` of the step's set gets the reason.
// FinishFlops and FinishBytes remove the reason of a row that another pass measured.
void TryStep(MeasureSession& session, const Step& step, double max_seconds);

// A row that can run without end.
struct RunningRow {
  std::string row;                         // of CeilingSet::flops or ::mixes
  double work_per_iteration = 0;           // [flop] or [byte], all threads
  std::function<void(CpuBench&)> prepare;  // operands, or arrays
  cpu_kernels::Kernel kernel = nullptr;
};

// ---- arithmetic: a row per pipe and instruction set ----

// Adds the steps of a pass.
void AddFlopsSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings.
void FinishFlops(MeasureSession& session);
// Adds "fp32.vector" as the row of "fp32.vector.<...>" that ChooseRoof takes, for every pipe with
// finer rows. `how` names it. Pure.
void AddPlainPipes(std::map<std::string, machine::Ceiling>& flops);

// ---- memory: a row per level, mix of accesses, instruction set and page size ----

// Adds the steps of a pass.
void AddBytesSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings, the best of a level's into its roof.
void FinishBytes(MeasureSession& session);
// Returns the row of the mix that is DRAM's roof, on arrays of the same size; absent without one.
std::optional<RunningRow> DramRoofRow(const MeasureSession& session, int threads);

// ---- curves beside the roofs: bandwidth by working set, FLOP/s by intensity ----

// Sweeps over working sets, for seconds, where the system tells no cache sizes. The topology of
// `session` gets the caches that they show (CachesFromEdges). `edges` of each thread count gets the
// result under "caches".
void FindUntoldCaches(MeasureSession& session, const std::vector<int>& counts);
// Adds the sweep over working sets to the first pass. Adds the ridges to the last pass, when the
// known roofs give the knees.
void AddCurveSteps(MeasureSession& session, int threads, int pass);
// Returns the told sizes and the found edges of a team. Without a sweep `found` is empty.
LevelEdges EdgesOf(const MeasureSession& session, int threads);
// Writes to CeilingSet::edges how the sweep agrees with the sizes of the caches.
void FinishCurves(MeasureSession& session);

// ---- another pass for not validated rows that a roof rests on ----

// Runs one more pass of each row that decides a roof and did not prove itself, as long as the
// effort has time. Needs the ceilings. Returns true where a row ran: then finish the ceilings
// again.
bool MeasureNotValidatedAgain(MeasureSession& session);
// Returns true for a row that another pass could prove.
bool DecidesAnNotValidatedRoof(const machine::CeilingSet& set, const std::string& row);
// Returns the roof that has the rate of this row of CeilingSet::flops or ::mixes; null: none.
machine::Ceiling* RoofOf(machine::CeilingSet& set, const std::string& row);
const machine::Ceiling* RoofOf(const machine::CeilingSet& set, const std::string& row);

// ---- rates after 10 s without a pause: clocks fall with heat and power ----

// Adds steps that run rows of the largest thread count's roofs for 10 s: the pipe that heats most,
// in a thorough measurement all pipes and DRAM.
void AddSustainedSteps(MeasureSession& session);
// Writes to CeilingSet::sustained how a row's final rate [flop/s] or [byte/s] compares with its
// burst. Sets sustained_per_second of the row and its roof where they differ by more than 3 %.
// Pure.
void KeepSustained(machine::Machine& machine, int threads, const std::string& row,
                   double per_second);

// ---- costs of work beside its arithmetic and its traffic ----

// Adds the steps. They come last: the library's own threads spin for a while after each call.
void AddOverheadSteps(MeasureSession& session, int threads);

}  // namespace dlroof::cpu_ceilings
