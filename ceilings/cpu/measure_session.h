// How a measurement of a machine is put together: what the families of probes (arithmetic, memory,
// overheads) share. Each family adds steps for each pass, which fill rows; at the end each turns
// its rows into ceilings.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ceilings/cpu/thread_team.h"
#include "ceilings/cpu/working_sets.h"
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/cpu_kernels/workspace.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/cpu/cpu.h"

namespace dlroof {

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

  RatePolicy Policy(double tolerance) const;
  // Calibration takes about three repetitions.
  double NominalSeconds() const { return repetition_seconds * (repetitions + 2 * doubled + 3); }
};

// The pinned threads of one thread count, each with its operands and memory.
class Bench {
 public:
  explicit Bench(const std::vector<int>& cpus);

  int threads() const { return team_.size(); }
  ThreadTeam& team() { return team_; }
  Workspace& Of(int thread) { return *workspaces_[static_cast<std::size_t>(thread)]; }

  // With the clock of the cores after each repetition.
  Rate Measure(Kernel kernel, const RatePolicy& policy);
  // What the first thread's core issues now; absent where it cannot be known (see
  // counters/issue_rate.h). The other threads sleep meanwhile.
  std::optional<double> IssueRate();
  // Lays arrays for `streams` streams out of `bytes` per thread, in memory that each thread touched
  // first.
  void Lay(double bytes, int streams, std::size_t step_floats,
           PageSize page_size = PageSize::kHuge);

 private:
  ThreadTeam team_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::vector<Pages> memory_;
};

struct Step {
  std::string text;
  std::function<void(double max_seconds)> run;
  std::string row;  // of CeilingSet::flops or ::mixes that it measures; empty: something else
  int threads = 0;  // of that row's set
};

// One row of a ceiling set in the making: what the passes measured.
struct Row {
  std::string how;
  double work_per_iteration = 0;  // [flop] or [byte], all threads
  std::string doubt;              // of the set-up, whatever is measured
  std::string result;             // Proof::result
  double set_bytes = 0;           // [byte] memory rows: one thread's arrays in the best pass
  std::vector<Rate> passes;

  // [flop/s] or [byte/s] of the best pass; 0 without one.
  double BestRate() const;
  std::optional<double> Drift() const;  // Proof::drift; absent without a second pass
  // `pass_tolerance`: see MergePasses.
  Ceiling Finished(int threads, const RatePolicy& policy,
                   double pass_tolerance = kPassTolerance) const;
};

struct Rows {
  std::map<std::string, Row> flops;                   // by pipe key
  std::map<Level, std::map<std::string, Row>> bytes;  // by level, then "<mix>.<isa>"
};

// Everything one measurement run shares between its steps.
struct MeasureSession {
  Cpu cpu;
  Effort effort;
  Machine machine;
  std::vector<Step> steps;
  std::vector<Step> last_steps;  // after all others, when the ceilings are there; of a fixed length
  std::unique_ptr<Bench> bench;  // of the thread count in progress
  std::map<int, Rows> rows;      // by thread count
  std::map<int, WorkingSets> sets;
  // The topology's caches are where a sweep found edges: the system tells no sizes.
  bool caches_found = false;
  // The rows there are: of arithmetic in the order of the tables, of memory the widest first.
  std::vector<FlopsProbe> flops_probes = FlopsProbesFor(cpu.features);
  std::vector<const BytesIsa*> bytes_isas = BytesIsasFor(cpu.features);

  RatePolicy Policy(double tolerance, double max_seconds) const;
  WorkingSets SetsOf(const std::vector<int>& cpus) const;
};

// measure.cpp. Runs the step. What it throws ends this step alone: the reason goes to the facts,
// under AbsentKey for a row; that of a row that another pass measured is taken out at the end.
void TryStep(MeasureSession& session, const Step& step, double max_seconds);
std::string AbsentKey(const std::string& row, int threads);  // "absent.l3.copy.avx2.threads.2"

// measure_flops.cpp, measure_bytes.cpp, measure_overheads.cpp. `pass` counts from 0; a step finds
// the pinned threads in session.bench.
void AddFlopsSteps(MeasureSession& session, int threads, int pass);
void FinishFlops(MeasureSession& session);
void AddBytesSteps(MeasureSession& session, int threads, int pass);
void FinishBytes(MeasureSession& session);
// measure_again.cpp. Each row that decides a roof and did not prove itself gets one more pass, as
// long as the effort has time; false when there was none. The ceilings must be there, and are to be
// finished again.
bool MeasureUnprovedAgain(MeasureSession& session);
// Of what another pass could mend.
bool DecidesAnUnprovedRoof(const CeilingSet& set, const std::string& row);
// The roof that rests on this row of CeilingSet::flops or ::mixes, having its rate; null: none
// does.
Ceiling* RoofOf(CeilingSet& set, const std::string& row);
const Ceiling* RoofOf(const CeilingSet& set, const std::string& row);

// A row that can run on and on.
struct RunningRow {
  std::string row;                      // of CeilingSet::flops or ::mixes
  double work_per_iteration = 0;        // [flop] or [byte], all threads
  std::function<void(Bench&)> prepare;  // operands, or arrays
  Kernel kernel = nullptr;
};
// measure_bytes.cpp. That of the mix that DRAM's roof was taken from, on arrays as it had them;
// absent where there is no such roof.
std::optional<RunningRow> DramRoofRow(const MeasureSession& session, int threads);
// measure_sustained.cpp. Rows that roofs of the largest thread count rest on run on for 10 s: that
// of the pipe that heats most, in a thorough measurement those of all pipes and of DRAM. What they
// still reach then is kept by KeepSustained.
void AddSustainedSteps(MeasureSession& session);
// Says in facts ("sustained.<row>") what a row reached at the end [flop/s] or [byte/s]; the row's
// and its roof's sustained_per_second where that differs by more than 3 %. Pure.
void KeepSustained(Machine& machine, int threads, const std::string& row, double per_second);
// Last of all: the library's own threads spin for a while after each call.
void AddOverheadSteps(MeasureSession& session, int threads);

}  // namespace dlroof
