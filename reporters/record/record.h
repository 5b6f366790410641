// Readings of a repetition on a GPU besides the time of its calls.
//
// One benchmark's result. Facts only: whatever can be derived is derived again
// (roofline.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/energy/energy.h"
#include "counters/parallel_time.h"
#include "counters/work.h"

namespace dlroof::record {

// Each absent where it is not known. A repetition's `seconds` is the time of a call that is started
// on an idle GPU, its launch included; the two other times of a call are never mixed with it.
struct GpuSample {
  std::optional<double> throughput_seconds;   // [s] per call, calls back to back
  std::optional<double> graph_seconds;        // [s] per call, replayed as a CUDA graph
  std::optional<double> host_seconds;         // [s] wall time per call of the loop that timed them
  std::optional<double> clock_hz;             // [1/s] of the SMs while calls ran
  std::optional<double> default_clock_hz;     // [1/s] of the SMs by the driver's table
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<double> throttle;             // NVML's bits, a whole number; 0: none

  bool operator==(const GpuSample&) const = default;
};

// Every quantity by its key in files and counters, and in stored histories by its place here: a new
// one comes last.
using GpuSampleField = std::pair<const char*, std::optional<double> GpuSample::*>;
const std::vector<GpuSampleField>& GpuSampleFields();

// IsClockTooLow of throttle.h.
bool IsThrottled(const GpuSample& sample);

// Summary of several repetitions: each quantity's median over those that know it; of
// `throttle` every bit that one of them had, of `default_clock_hz` and `host_seconds` nothing.
GpuSample SummarizeSamples(const std::vector<GpuSample>& samples);

enum class Status { kOk, kUnsupported, kFailed, kWrong };
std::string_view Key(Status status);
std::optional<Status> StatusFromKey(std::string_view key);

struct Repetition {
  double seconds = 0;                       // [s] wall time of one call, mean over `iterations`
  std::optional<double> cpu_seconds;        // [s] CPU time of all our threads per call
  std::optional<double> main_cpu_seconds;   // [s] CPU time of the main thread per call
  std::optional<double> run_delay_seconds;  // [s] time our threads waited for a CPU, per call
  // [1] of its core's issue slots that the worst thread got right before and after, the lower of
  // the two over the best known (team_look.h).
  std::optional<double> core_share;
  // [1] The nearest known round trip of a cache line between the threads over this one's.
  std::optional<double> link_share;
  // [1] calls that `seconds` is of, where others of this repetition were noisy and left out.
  std::optional<double> clean_calls;
  double iterations = 0;  // [1]
  bool noisy = false;     // kept in the file, left out of the median
  // Null but for a GPU's benchmark: of 10^6 repetitions that are read at once few have a sample.
  std::shared_ptr<const GpuSample> gpu;
  // Block of an interleaved comparison: windows of one block, in their order, were measured by
  // turns with those of the other file's block of this number.
  std::optional<int> block;
};

// Median and its distribution-free 95 % confidence interval (order statistics).
struct Timing {
  double median = 0;  // [s]
  // [s]; absent below 6 repetitions, which cannot carry 95 %, unless the time is noisy
  std::optional<std::pair<double, double>> ci95;
  int clean = 0;       // [1] clean repetitions; without `noisy` it rests on them alone
  bool noisy = false;  // an estimate from repetitions of which too few were clean
};

// A model's prediction of one call before it was measured.
struct Prediction {
  double seconds = 0;             // [s] > 0
  std::map<Level, double> bytes;  // [byte] by level, as in Work
  std::string by;                 // which model, of what, with which choices; for people
};

struct Record {
  std::string name;  // op/device/library/direction/type/problem[/option...]
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;
  Status status = Status::kOk;
  std::string reason;     // why not ok; or why there are no repetitions
  std::string algorithm;  // what the library chose
  std::string isa;  // that the library was allowed, as it spells it: "avx512_core_vnni"; or empty
  std::string verified;   // how the output was checked; empty when it was not
  std::string repro;      // arguments of benchdnn that time the same call; empty: it cannot
  int threads = 0;        // 0: not known (plain Google Benchmark file)
  std::string time_unit;  // of a plain Google Benchmark entry, "ns"; empty: not known
  std::string cache;      // "warm", "cold", "cold-weights"; empty: not known
  std::optional<double> evicted_bytes;  // [byte] dropped from all caches before each call
  // [1] Time of the library's own choice of algorithm over that of the fastest one, which was
  // taken; absent where the library's choice was taken.
  std::optional<double> heuristic_over_best;
  std::optional<unsigned> seed;
  std::vector<Repetition> repetitions;
  std::map<Provenance, Work> work;
  std::vector<CountingNote> counting;   // how `work` was counted, and what lessens the trust in it
  std::vector<LaunchedKernel> kernels;  // as counted, the longest first; empty: not known
  std::optional<Prediction> prediction;
  std::optional<ParallelTime> parallel;  // absent: nobody watched
  std::string unwatched;  // why `parallel` is absent where it was asked for; empty: it is not
  std::optional<energy::Energy> energy;                 // absent: not measured
  std::optional<energy::MeteredWindow> metered_window;  // absent: nobody asked, or it could not be
  std::optional<energy::MeteredEnergy> metered;         // absent: no log of a meter was read
};

// Returns the time of the clean repetitions. Absent when they are fewer than min(3, all), or than
// half of all: beside so many noisy ones some look clean that are not.
std::optional<Timing> Summarize(const std::vector<Repetition>& repetitions);

// Returns Summarize's, or where that is absent an estimate: the median of at least three
// repetitions whose parts without a wait were read (clean_calls), else the fastest of all, of which
// a noisy one counts without the waits for a CPU that were seen. The interval goes from the
// fastest of them, on whole cores near each other, to the slowest, and farther.
// Absent without repetitions.
std::optional<Timing> TimeOf(const std::vector<Repetition>& repetitions);

// Sets `noisy` (design 6.3): run delay above 1 % of wall time, or a main thread that was off
// its CPU 2 % of wall time more than in the best repetition (a deterministic wait is the workload's
// own, a sudden one is not), or less than 90 % of its core for a thread, or threads three times as
// far apart as the nearest, or calls that were left out (clean_calls). On a GPU: run delay above 1
// % of the host's wall time, or SMs below 75 % of their default clock; that the host waits says
// nothing there.
void MarkNoisy(std::vector<Repetition>& repetitions);

// Returns "ALGORITHM; isa ISA", for people.
std::string AlgorithmText(const Record& record);

// Splits op/device/library/direction/type/problem/options; fewer parts leave the rest empty
// (foreign files).
void SplitName(Record& record);

// The name is not made of parts (a kernel of another program): it belongs to `device` as a whole.
void PutOnDevice(Record& record, const std::string& device);

}  // namespace dlroof::record
