// The steps of a CPU measurement. A row is one kernel of one instruction set; a pass measures many
// rows once, and several passes (from 0) measure them at distant times. Arithmetic, memory and
// overheads add steps to the passes; Finish... functions convert the measured rows into ceilings.
// Steps run on MeasureSession::bench. Modules that see a library (oneDNN) register overheads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/cpu_ceilings/curves.h"
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

// Pinned threads that start a task at the same time, for kernels that measure ceilings.
class ThreadTeam {
 public:
  // Pins one new thread to each of `cpus`. Throws std::runtime_error if that fails.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const;

  // Runs task(thread index) on every thread at once and returns when all are done. The calling
  // thread sleeps meanwhile, and takes no CPU from the team. Rethrows an exception of a task. Time
  // also returns the task's time.
  void Run(const std::function<void(int)>& task);
  machine::TeamTime Time(const std::function<void(int)>& task);
  // Runs and times the task like Time. Also measures each thread's share of its core before and
  // after the task, and each core's clock right after the task: `clock`(thread index), which may
  // continue the task's load, returns the clock [1/s]. Without `clock`, each thread measures the
  // clock when the load has ended.
  machine::TeamTime TimeWithCores(const std::function<void(int)>& task,
                                  const std::function<double(int)>& clock = {});
  // Returns SharesOfBest::Best (issue rate, round trip) of the states that TimeWithCores measured.
  cpu::TeamState BestState() const { return shares_.Best(); }

 private:
  void Start(int cpu, int team_size);
  void Stop();
  machine::TeamTime LastTime() const;

  struct State;
  std::unique_ptr<State> state_;
  cpu::SharesOfBest shares_;
};

struct LaunchCost {
  double seconds = 0;  // [s] per synchronous call in the best repetition
  bool clean = false;  // a repetition was clean; if not, `seconds` has no meaning
  std::string how;     // text: library, version, primitive, repetitions
};

// Returns the cost of one call in clean repetitions. `calls(n)` runs n calls one after another.
LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls,
                        const machine::RatePolicy& policy);

// Measures the cost of a call with `threads` threads ("timer" ignores them).
using LaunchProbe = std::function<LaunchCost(int threads, const machine::RatePolicy& policy)>;

// Returns the probes by overhead: "launch" (start of a primitive), "fork-join", "timer". Add one at
// namespace scope: [[maybe_unused]] const auto& added = OverheadProbes()["timer"] = MeasureTimer;
std::map<std::string, LaunchProbe>& OverheadProbes();

// [1] RatePolicy::tolerance of arithmetic and memory kernels.
inline constexpr double kArithmeticTolerance = 0.02, kMemoryTolerance = 0.03;
inline constexpr double kPassTolerance = 0.05;  // [1] parameter `tolerance` of MergePasses

struct Effort : machine::RateEffort {
  double budget_seconds;    // [s] for all rows and thread counts together
  double again_seconds;     // [s] budget of RemeasureNotValidated
  bool roofs_only = false;  // measures no rows for comparison and no curves
  double longest_row = 10;  // [1] max time of a row in one pass / NominalSeconds

  machine::RatePolicy Policy(double tolerance) const;
  // Returns the time [s] that a row needs in one pass, if about three repetitions calibrate it.
  double NominalSeconds() const { return repetition_seconds * (repetitions + 2 * doubled + 3); }
};

// A team of pinned threads. Each thread has a workspace with its operands and arrays.
class CpuBench {
 public:
  explicit CpuBench(const std::vector<int>& cpus);

  int threads() const { return team_.size(); }
  ThreadTeam& team() { return team_; }
  cpu_kernels::Workspace& workspace(int thread) {
    return *workspaces_[static_cast<std::size_t>(thread)];
  }

  // Measures the kernel's rate on all threads and, after each repetition, the clock of the cores.
  machine::Rate Measure(cpu_kernels::Kernel kernel, const machine::RatePolicy& policy);
  // Measures an arithmetic kernel on the operands in the workspaces. Reads the clock under the
  // kernel's load if the kernel has a clock kernel that counts cycles on this CPU.
  machine::Rate Measure(const cpu_kernels::FlopsProbe& probe, const machine::RatePolicy& policy);
  std::optional<cpu_kernels::LoadClock> LoadClockOf(const cpu_kernels::FlopsProbe& probe);
  // Returns the issue rate [1/cycle] of the first thread's core, if it can be measured
  // (counters/cpu/clocks.h). The other threads sleep meanwhile.
  std::optional<double> IssueRate();
  // Allocates `bytes` per thread for `streams` arrays, on the NUMA node of the thread.
  void AllocateArrays(double bytes, int streams, std::size_t step_floats);

 private:
  ThreadTeam team_;
  std::vector<std::unique_ptr<cpu_kernels::Workspace>> workspaces_;
  std::vector<cpu_kernels::Pages> memory_;
};

struct Step {
  std::string text;
  std::function<void(double max_seconds)> run;
  int threads = 0;                      // thread count of the CeilingSet that it fills
  std::optional<std::string> row = {};  // key in CeilingSet::flops or ::mixes, if it measures a row
};

struct Row {
  std::string how;
  double work_per_iteration = 0;      // [flop] or [byte] of all threads
  std::optional<Reason> reason;       // why no rate of this row can be validated
  std::optional<std::string> result;  // Validation::result
  double set_bytes = 0;  // [byte] arrays of one thread in the best pass; 0 for arithmetic
  std::vector<machine::Rate> passes;

  // Returns the rate [flop/s] or [byte/s] of the best pass, or 0 if there is no pass.
  double BestRate() const;
  // Returns the number of clean repetitions near the best (Rate::agreeing), over all passes whose
  // rates are within kArithmeticTolerance of the best pass.
  int Agreeing() const;
  // Returns Validation::drift [1], or nullopt if there are fewer than two passes or none is clean.
  std::optional<double> Drift() const;
  // Merges the passes into a ceiling. `pass_tolerance` is the `tolerance` of MergePasses.
  machine::Ceiling Finished(int threads, const machine::RatePolicy& policy,
                            double pass_tolerance = kPassTolerance) const;
};

// Converts an arithmetic row to a ceiling and judges its operations per cycle. Pure.
machine::Ceiling FinishedFlops(const Row& row, const cpu_kernels::FlopsProbe& probe, int threads,
                               const machine::RatePolicy& policy, double pass_tolerance,
                               const cpu_kernels::CoreRates& core);

struct Rows {
  std::map<std::string, Row> flops;                   // by key in CeilingSet::flops
  std::map<Level, std::map<std::string, Row>> bytes;  // by level and "<mix>.<isa>"
};

struct MeasureSession {
  cpu::Cpu cpu;
  Effort effort;
  machine::Machine machine = {};
  std::vector<Step> steps = {};
  std::vector<Step> last_steps = {};          // steps of 10 s, to run when all roofs are known
  std::unique_ptr<CpuBench> bench = nullptr;  // threads of the current step
  std::map<int, Rows> rows = {};              // by thread count
  std::map<int, WorkingSets> sets = {};
  // Returns whether to measure the row (key in CeilingSet::flops or ::mixes); empty: all rows.
  std::function<bool(int threads, const std::string& row)> wanted = {};
  // Arithmetic kernels in the order of their tables; memory kernels with the widest vectors first.
  std::vector<cpu_kernels::FlopsProbe> flops_probes = cpu_kernels::FlopsProbesFor(cpu.features);
  std::vector<const cpu_kernels::BytesIsa*> bytes_isas = cpu_kernels::BytesIsasFor(cpu.features);

  machine::RatePolicy Policy(double tolerance, double max_seconds) const;
  bool Wants(int threads, const std::string& row) const { return !wanted || wanted(threads, row); }
};

// Runs the step for about `max_seconds`. Writes the text of an exception to CeilingSet::absent;
// FinishFlops and FinishBytes erase it if another pass measured the row.
void TryStep(MeasureSession& session, const Step& step, double max_seconds);

// ---- arithmetic: FLOP/s of each pipe and instruction set ----

void AddFlopsSteps(MeasureSession& session, int threads, int pass);
void FinishFlops(MeasureSession& session);
// ---- memory: byte/s of each level, mix of loads and stores, and instruction set ----

void AddBytesSteps(MeasureSession& session, int threads, int pass);
// Converts the measured memory rows into ceilings. The best row of each level becomes its roof.
void FinishBytes(MeasureSession& session);

// ---- curves beside the roofs: bandwidth by working set, FLOP/s by intensity ----

// Adds the sweep over working sets to the first pass, and the ridges (kernels near the knee) to the
// last pass, because where the knee is follows from the measured roofs.
void AddCurveSteps(MeasureSession& session, int threads, int pass);
// Returns the cache sizes that the system reports, and those found by the sweep of these threads.
LevelEdges EdgesOf(const MeasureSession& session, int threads);
// Writes to CeilingSet::edges whether the sweep agrees with the reported cache sizes.
void FinishCurves(MeasureSession& session);

// ---- another pass for roofs that are not validated ----

// Runs one more pass of each row for which NeedsAnotherPass is true, in at most
// Effort::again_seconds in all. Call it after FinishFlops and FinishBytes. If it returns true, a
// row was measured: call both again.
bool RemeasureNotValidated(MeasureSession& session);
// Returns true if `row` is a roof, is not validated, and could be validated by another pass.
bool NeedsAnotherPass(const machine::CeilingSet& set, const std::string& row);
// Returns the pipe's or level's roof if it has the rate of `row` (a key in `set`), otherwise null.
template <class CeilingSet>
auto RoofOf(CeilingSet& set, const std::string& row) -> decltype(&set.flops.begin()->second) {
  const auto* const ceiling = machine::FindRow(set, row);
  if (ceiling == nullptr) return nullptr;
  auto* roof = FindValue(set.flops, machine::PlainPipe(row));
  const auto level = LevelFromKey(row.substr(0, row.find('.')));
  if (roof == nullptr && level) roof = FindValue(set.bytes, *level);
  return roof != nullptr && roof->per_second == ceiling->per_second ? roof : nullptr;
}

// ---- rates after 10 s without a pause, when heat and power limits have lowered the clock ----

// Adds steps that run roofs with the largest thread count for 10 s: in a full measurement the pipe
// with the highest rate, in a thorough one all pipes, otherwise none.
void AddSustainedSteps(MeasureSession& session);
// Writes to CeilingSet::sustained the ratio of `per_second` [flop/s], an arithmetic row's rate
// after 10 s, to its burst rate. If the rate is more than 3 % below the burst rate, sets
// sustained_per_second and sustained_clock_hz (`clock_hz` [1/s]) of the row and its roof. If it is
// more than 3 % above, it replaces the burst rate of both, which was too low. Pure.
void AddSustainedRate(machine::Machine& machine, int threads, const std::string& row,
                      double per_second, std::optional<double> clock_hz = std::nullopt);

// ---- overheads: costs of a call beside its arithmetic and its memory traffic ----

// Adds overhead steps after those of all passes: a library's threads keep spinning after a call.
void AddOverheadSteps(MeasureSession& session, int threads);

}  // namespace dlroof::cpu_ceilings
