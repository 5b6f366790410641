// The result of one benchmark. A record holds measured facts only; roofline.h derives the rest.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/parallel_time.h"
#include "counters/base/work.h"
#include "counters/energy/energy_meter.h"

namespace dlroof::record {

// Like std::optional, but the value is on the heap: an unset one takes 8 bytes. For members that
// few of 10^6 records have.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(const Rare& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare(std::optional<T> value)  // NOLINT: converts, as the next one, as std::optional does
      : value_(value ? std::make_unique<T>(*std::move(value)) : nullptr) {}
  template <class U>
  requires std::is_constructible_v<T, U> Rare(U&& value)  // NOLINT
      : value_(std::make_unique<T>(std::forward<U>(value))) {}
  Rare& operator=(Rare other) noexcept { return value_.swap(other.value_), *this; }

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  const T& value() const { return value_ ? *value_ : throw std::bad_optional_access(); }
  T value_or(T otherwise) const { return value_ ? *value_ : std::move(otherwise); }
  bool has_value() const { return value_ != nullptr; }
  void reset() { value_.reset(); }

  bool operator==(const Rare& other) const {
    return value_ && other.value_ ? *value_ == *other.value_ : value_ == other.value_;
  }
  template <class U>
  requires std::is_constructible_v<T, U>
  bool operator==(const U& value) const { return value_ && *value_ == value; }

 private:
  std::unique_ptr<T> value_;
};

// Values of Record::timed: what a record's times are. It is unset for calls on CPUs.
namespace timed {
// One of many calls that follow each other: (time of 2N calls - time of N calls) / N.
inline constexpr const char* kGraph = "graph";            // in CUDA graphs
inline constexpr const char* kThroughput = "throughput";  // queued
inline constexpr const char* kDevice = "device";          // a queued call, by the device's clock
inline constexpr const char* kCall = "call";              // a call on an idle GPU, with its launch
inline constexpr const char* kKernels = "kernels";        // the sum of the durations of kernels
}  // namespace timed

// GPU measurements of one repetition. Repetition::seconds are those of a call on an idle GPU if
// call_seconds is unset, else of calls that follow each other if graph_calls or stream_calls is
// set, else of one queued call (see Record::timed). The other times never replace it.
struct GpuSample {
  std::optional<double> throughput_seconds;   // [s] per call, back to back (older files)
  std::optional<double> graph_seconds;        // [s] per call, in a CUDA graph (older files)
  std::optional<double> host_seconds;         // [s] host's wall time per call in the timing loop
  std::optional<double> clock_hz;             // [1/s] of the SMs while calls ran
  std::optional<double> default_clock_hz;     // [1/s] of the SMs, as reported by the driver
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<double> throttle;             // NVML's bit mask of throttle reasons
  std::optional<double> call_seconds;         // [s] a call on an idle GPU, including its launch
  std::optional<double> empty_seconds;        // [s] an empty kernel, queued as the calls were
  std::optional<double> steady_seconds;  // [s] load before the first repetition; unset: a burst
  std::optional<double> queued_seconds;  // [s] one queued call, between two events
  // [1] N of calls that follow each other: in CUDA graphs, or queued.
  std::optional<double> graph_calls, stream_calls;

  bool operator==(const GpuSample&) const = default;
};

// All fields of GpuSample with their keys in files and counters. Stored histories refer to a field
// by its index in this list: append new fields at the end.
using GpuSampleField = std::pair<const char*, std::optional<double> GpuSample::*>;
const std::vector<GpuSampleField>& GpuSampleFields();

// Returns whether the SMs' clock was too low (gpu::IsClockTooLow).
bool IsThrottled(const GpuSample& sample);

// Returns the median of each field over the samples in which it is set; `throttle` is the bitwise
// OR. Does not set `default_clock_hz` and `host_seconds`.
GpuSample SummarizeSamples(const std::vector<GpuSample>& samples);

enum class Status { kOk, kUnsupported, kFailed, kWrong };
std::string_view Key(Status status);
std::optional<Status> StatusFromKey(std::string_view key);

// What the file of another program says about several repetitions without their single times.
struct AggregateTime {
  std::string statistic;            // which statistic the time is: "median", "mean"
  std::optional<int> repetitions;   // [1]
  std::optional<double> deviation;  // [1] standard deviation of the repetitions' times / their mean

  bool operator==(const AggregateTime&) const = default;
};

struct Repetition {
  double seconds = 0;                       // [s] wall time of one call, mean over `iterations`
  std::optional<double> cpu_seconds;        // [s] CPU time of all our threads per call
  std::optional<double> main_cpu_seconds;   // [s] CPU time of the main thread per call
  std::optional<double> run_delay_seconds;  // [s] time our threads waited for a CPU, per call
  // [1] Issue rate of the slowest core / the best known: the lower one of before and after the
  // repetition (clocks.h).
  std::optional<double> core_share;
  // [1] Shortest known round trip of a cache line between the threads / that of this repetition.
  std::optional<double> link_share;
  // [1] Number of calls in the mean `seconds`; set only if noisy calls were left out.
  std::optional<double> clean_calls;
  double iterations = 0;  // [1]
  bool noisy = false;     // other programs interfered: stored, but not in the median
  // Set on a GPU only. A pointer saves memory: of 10^6 repetitions few may have a sample.
  std::shared_ptr<const GpuSample> gpu;
  // Set if `seconds` is an aggregate of repetitions. It is then the record's only repetition.
  Rare<AggregateTime> aggregate;
  // Block of an interleaved comparison: its repetitions alternated, in the order of the file, with
  // those of the same block in the other file. In a run of several processes: the process.
  std::optional<int> block;
};

// Median and its distribution-free 95 % confidence interval (order statistics). Of an aggregate
// (AggregateTime): its value, and the interval that its deviation allows.
struct Timing {
  double median = 0;  // [s]
  // [s] Set for an estimate of several repetitions, and for 6 or more clean ones: fewer give no 95
  // % confidence.
  std::optional<std::pair<double, double>> ci95;
  int clean = 0;       // [1] number of clean repetitions
  bool noisy = false;  // an estimate, because too few repetitions were clean
};

// A model's prediction of one call before it was measured.
struct Prediction {
  double seconds = 0;             // [s] > 0
  std::map<Level, double> bytes;  // [byte] by level, as in Work
  std::string by;                 // the model and its parameters, for people
};

// An algorithm of the library that computed a wrong result, so that another one was timed.
struct WrongEngine {
  std::string algorithm;  // as in Record::algorithm
  std::string reason;     // for people: the error and the allowed error

  bool operator==(const WrongEngine&) const = default;
};

struct Record {
  std::string name;  // op/device/library/direction/type/problem[/option...]
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;
  Status status = Status::kOk;
  std::string reason;     // for people: why the status is not kOk, or why there are no repetitions
  std::string algorithm;  // the implementation that the library chose
  std::string isa;        // the ISA that the library might use, in its spelling: "avx512_core_vnni"
  std::string verified;   // how the output was checked: "all 12 outputs"
  // Algorithms that the library prefers to `algorithm` but that computed a wrong result.
  std::vector<WrongEngine> wrong_engines;
  Rare<std::string> repro;  // arguments of benchdnn that time the same call
  std::optional<int> threads;
  // What `seconds` are: "graph", "device" and so on (see `timed`); absent for CPUs.
  Rare<std::string> timed;
  Rare<std::string> cache;              // "warm", "cold" or "cold-weights"
  std::optional<double> evicted_bytes;  // [byte] dropped from all caches before each call
  // [1] Time of the algorithm that the library's heuristic prefers / time of the fastest algorithm.
  // Set only if the benchmark used the fastest algorithm.
  std::optional<double> heuristic_over_best;
  std::optional<unsigned> seed;
  std::vector<Repetition> repetitions;
  std::map<Provenance, Work> work;
  std::vector<CountingNote> counting;   // how `work` was counted, and its known weaknesses
  std::vector<LaunchedKernel> kernels;  // GPU kernels of a call, the longest first
  Rare<Prediction> prediction;
  Rare<ParallelTime> parallel;    // parallel regions of a call, in --dlroof_explain runs
  Rare<Reason> unwatched_reason;  // why an --dlroof_explain run has no `parallel`
  Rare<energy::Energy> energy;
};

// Returns the standard error [1] of an aggregate, relative to it: the deviation divided by the root
// of the number of repetitions and, for a median, multiplied by sqrt(pi / 2) (normal distribution).
// Returns nullopt unless it is the aggregate of at least 3 repetitions with a known deviation.
std::optional<double> RelativeError(const AggregateTime& aggregate);

// Returns the median time of the clean repetitions, or nullopt if fewer than min(3, all) or fewer
// than half of all repetitions are clean: with so much noise some only look clean.
std::optional<Timing> Summarize(const std::vector<Repetition>& repetitions);

// Returns Summarize() or, if that is nullopt, the median of the clean repetitions and of those
// whose noisy calls were left out (clean_calls), if they are at least three: a clean time if its 95
// % interval (from six on) is within 10 % of it, else an estimate. Otherwise an estimate, the
// fastest repetition. A noisy repetition of one thread counts without its waits for a CPU if three
// clocks agree: the process used no more CPU time than the thread, and that time and the waits add
// up to the wall time, both within 2 %. The waits of several threads are not subtracted, since it
// is unknown which of them delayed the call. The interval of an estimate begins at the shortest
// repetition without all its waits. It ends at the slowest repetition of that median or, if the
// estimate is the fastest repetition, at the median of all: other programs only lengthen
// repetitions. Returns nullopt without repetitions.
std::optional<Timing> TimeOf(const std::vector<Repetition>& repetitions);

// Returns what the times of repetitions with GPU samples are (see GpuSample), or nullopt if none
// has a sample. Readers call it for files whose records have no "timed".
std::optional<std::string> TimedBySamples(const std::vector<Repetition>& repetitions);

// Returns whether the times exclude the host: "device", "graph" or "throughput" (see `timed`).
bool IsDeviceTime(const Record& record);

// Returns whether the record was timed after the GPU's clock had settled under load.
bool IsSteady(const Record& record);

// Returns a field's median over the samples of clean repetitions, or nullopt if none has it.
std::optional<double> SampleMedian(const Record& record, std::optional<double> GpuSample::*field);

// Returns the median of time x SM clock [1] over clean repetitions, or nullopt if a clock is
// unknown.
std::optional<double> MedianCycles(const Record& record);

// Return the median of wall time / CPU time of the main thread [1], or nullopt if it is unknown or,
// of a record, unless it is of one thread of a CPU.
std::optional<double> WallOverCpu(const Record& record);
std::optional<double> WallOverCpu(const std::vector<Repetition>& repetitions);

// Sets `noisy` of each repetition. On a CPU a repetition is noisy if its threads waited for a CPU
// more than 1 % of the wall time, if the main thread was off its CPU 2 % of the wall time more than
// in the best repetition (regular waits belong to the workload), if core_share is below 0.9, if
// link_share is below 0.3 (the threads ran far apart), or if more than 10 % of its calls were left
// out (clean_calls). On a GPU it is noisy if the SMs ran below 75 % of their default clock. A GPU
// time that includes the host's launches is also noisy if the host waited for a CPU more than 1 %
// of its wall time.
void MarkNoisy(std::vector<Repetition>& repetitions);

// Returns "ALGORITHM; isa ISA", for people.
std::string AlgorithmText(const Record& record);

// Splits the name into op, device, library, direction, type, problem and options. Names of other
// programs may have fewer parts; the remaining fields stay empty.
void SplitName(Record& record);

// Returns whether SplitName found the parts of a name such as "Conv2D/gpu/cudnn/fwd/f16/n16...".
bool HasOwnForm(const Record& record);

// Assigns a record whose name has another form (a kernel of another program) to `device` and clears
// the fields that SplitName took from the name.
void PutOnDevice(Record& record, const std::string& device);

// Returns the fastest repetition [s] as it was measured if the estimate `timing` of these
// repetitions is below it (it is then the CPU time of the call's only thread), otherwise nullopt.
std::optional<double> FastestMeasured(const std::vector<Repetition>& repetitions,
                                      const Timing& timing);

// Returns a sentence with the estimate and FastestMeasured, or "" if that is nullopt.
std::string EstimateText(const std::vector<Repetition>& repetitions, const Timing& timing);

// What the mark of an estimated time means.
inline constexpr std::string_view kEstimateMeaning =
    "~ noisy: an estimate, the fastest measured unless a line says otherwise";

// Returns for people why the repetitions of estimated times are noisy, the most frequent reason
// first, each with its remedy and its share of them; "" if no reason is known.
std::string NoiseText(const std::vector<Record>& records);

}  // namespace dlroof::record
