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

// Like std::optional, but the value is on the heap, so an unset Rare takes 8 bytes. For members
// that are set in few of 10^6 records.
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

// Values of Record::timed, which says what a record's times are. It is unset for calls on CPUs.
namespace timed {
// A call among calls that follow each other: (time of 2N calls - time of N calls) / N.
inline constexpr const char* kGraph = "graph";            // the calls are in a CUDA graph
inline constexpr const char* kThroughput = "throughput";  // the calls are queued in a stream
inline constexpr const char* kDevice = "device";          // one queued call, by the device's clock
inline constexpr const char* kCall = "call";              // a call on an idle GPU, with its launch
inline constexpr const char* kKernels = "kernels";        // the sum of the kernels' durations
}  // namespace timed

// GPU measurements of one repetition. They also show what Repetition::seconds is: timed::kCall if
// call_seconds is unset; else timed::kGraph if graph_calls, timed::kThroughput if stream_calls is
// set; else timed::kDevice.
struct GpuSample {
  std::optional<double> throughput_seconds;   // [s] per call, back to back (older files)
  std::optional<double> graph_seconds;        // [s] per call, in a CUDA graph (older files)
  std::optional<double> host_seconds;         // [s] host's wall time per call in the timing loop
  std::optional<double> clock_hz;             // [1/s] clock of the SMs while calls ran
  std::optional<double> default_clock_hz;     // [1/s] default clock of the SMs by the driver
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<double> throttle;             // NVML's bit mask of throttle reasons
  std::optional<double> call_seconds;         // [s] a call on an idle GPU, including its launch
  std::optional<double> empty_seconds;        // [s] an empty kernel, queued as the calls were
  std::optional<double> steady_seconds;  // [s] under load before the first repetition, if there was
  std::optional<double> queued_seconds;  // [s] one queued call, between two events
  // [1] The N of timed::kGraph and of timed::kThroughput.
  std::optional<double> graph_calls, stream_calls;

  bool operator==(const GpuSample&) const = default;
};

// All fields of GpuSample with their keys in files and counters. Stored histories refer to a field
// by its index in this list: append new fields at the end.
using GpuSampleField = std::pair<const char*, std::optional<double> GpuSample::*>;
const std::vector<GpuSampleField>& GpuSampleFields();

// Returns whether the SMs' clock was too low (gpu::IsClockTooLow).
bool IsThrottled(const GpuSample& sample);

// Returns the median of each field over the samples in which it is set; of `throttle` the bitwise
// OR. Leaves `default_clock_hz` and `host_seconds` unset.
GpuSample SummarizeSamples(const std::vector<GpuSample>& samples);

enum class Status { kOk, kUnsupported, kFailed, kWrong };
std::string_view Key(Status status);
std::optional<Status> StatusFromKey(std::string_view key);

// A statistic over repetitions in a file that lacks the single repetitions' times.
struct AggregateTime {
  std::string statistic;            // which statistic the time is: "median" or "mean"
  std::optional<int> repetitions;   // [1]
  std::optional<double> deviation;  // [1] standard deviation of the repetitions' times / their mean

  bool operator==(const AggregateTime&) const = default;
};

struct Repetition {
  double seconds = 0;                       // [s] wall time of one call, mean over `iterations`
  std::optional<double> cpu_seconds;        // [s] CPU time of all the program's threads, per call
  std::optional<double> main_cpu_seconds;   // [s] CPU time of the main thread, per call
  std::optional<double> run_delay_seconds;  // [s] sum of the threads' waits for a CPU, per call
  // [1] Issue rate of the slowest core / the best known rate; the lower of two measurements, before
  // and after the repetition (clocks.h).
  std::optional<double> core_share;
  // [1] Shortest known round trip of a cache line between the threads / round trip measured now.
  std::optional<double> link_share;
  // [1] Number of the calls of which `seconds` is the mean; set only if noisy calls were left out.
  std::optional<double> clean_calls;
  double iterations = 0;  // [1] number of timed calls
  bool noisy = false;     // other programs interfered: stored, but not in the median
  // Set on a GPU only. A pointer, because few of 10^6 repetitions may have a sample.
  std::shared_ptr<const GpuSample> gpu;
  // Set if `seconds` is an aggregate of repetitions. It is then the record's only repetition.
  Rare<AggregateTime> aggregate;
  // Index of the block of an interleaved comparison, in which the repetitions of the two files
  // alternated in the files' order; in a run of several processes, index of the process.
  std::optional<int> block;
};

// The median time and its distribution-free 95 % confidence interval (order statistics). For an
// AggregateTime: its value, and Student's interval by its deviation.
struct Timing {
  double median = 0;  // [s]
  // [s] Set for 6 or more clean repetitions, because fewer give no 95 % confidence, and for an
  // estimate from several repetitions.
  std::optional<std::pair<double, double>> ci95;
  int clean = 0;       // [1] number of clean repetitions
  bool noisy = false;  // an estimate, because too few repetitions were clean
};

// A model's prediction of one call before it was measured.
struct Prediction {
  double seconds = 0;             // [s] > 0
  std::map<Level, double> bytes;  // [byte] by level, as in Work
  std::string by;                 // text for people: the model and its parameters
};

// An algorithm of the library that computed a wrong result, so that another algorithm was timed.
struct WrongEngine {
  std::string algorithm;  // as in Record::algorithm
  std::string reason;     // text for people: the error and the allowed error

  bool operator==(const WrongEngine&) const = default;
};

struct Record {
  std::string name;  // op/device/library/direction/type/problem[/option...]
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;
  Status status = Status::kOk;
  std::string reason;     // text for people: why the status is not kOk, or why no repetitions exist
  std::string algorithm;  // the implementation that the library chose
  std::string isa;        // the ISA that the library may use, e.g. oneDNN's "avx512_core_vnni"
  std::string verified;   // how the output was checked, e.g. "all 12 outputs"
  // Algorithms that the library prefers to `algorithm` but that computed a wrong result.
  std::vector<WrongEngine> wrong_engines;
  Rare<std::string> repro;  // arguments of benchdnn that time the same call
  std::optional<int> threads;
  // What the repetitions' times are (namespace timed); absent for CPUs.
  Rare<std::string> timed;
  Rare<std::string> cache;              // "warm", "cold" or "cold-weights"
  std::optional<double> evicted_bytes;  // [byte] dropped from all caches before each call
  // [1] Time of the algorithm that the library's heuristic prefers / time of the fastest algorithm.
  // Set only if the benchmark timed all algorithms and used the fastest.
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

// Returns the standard error of an aggregate / the aggregate [1]: deviation / sqrt(repetitions),
// for a median times sqrt(pi / 2) (normal distribution). Returns nullopt for fewer than three
// repetitions or an unknown deviation.
std::optional<double> RelativeError(const AggregateTime& aggregate);

// Returns the median time of the clean repetitions. Returns nullopt if fewer than half of all, or
// fewer than three of at least three, are clean: with so much noise, some only look clean.
std::optional<Timing> Summarize(const std::vector<Repetition>& repetitions);

// Returns the record's time: the first of these that exists, or nullopt without repetitions.
// - Summarize().
// - The median of the clean repetitions and of those whose noisy calls were left out (clean_calls),
//   if there are at least three and no repetition was over 10 % faster. It is an estimate, unless
//   its 95 % interval (six or more repetitions) is within 10 % of it. An estimate's interval ends
//   at the slowest of these.
// - The fastest repetition, an estimate, whose interval ends at the median of all repetitions. A
//   noisy repetition of one thread counts without its waits for a CPU if its clocks agree within
//   2 %: CPU time of the process = CPU time of the thread, and CPU time + waits = wall time. The
//   waits of several threads are not subtracted: it is unknown which of them delayed the call.
// The interval of an estimate begins at the shortest repetition without all its waits; that of one
// thread has at least its CPU time.
std::optional<Timing> TimeOf(const std::vector<Repetition>& repetitions);

// Returns the value for Record::timed that the GPU samples show (see GpuSample), or nullopt if no
// repetition has a sample.
std::optional<std::string> TimedBySamples(const std::vector<Repetition>& repetitions);

// Returns whether the times exclude the host: timed::kDevice, kGraph or kThroughput.
bool IsDeviceTime(const Record& record);

// Returns whether the record was timed after the GPU's clock had settled under load.
bool IsSteady(const Record& record);

// Returns a field's median over the samples of clean repetitions, or nullopt if none has it.
std::optional<double> SampleMedian(const Record& record, std::optional<double> GpuSample::*field);

// Returns the median SM cycles [1] of the clean repetitions, or nullopt if a clock is unknown.
std::optional<double> MedianCycles(const Record& record);

// Return the median of wall time / CPU time of the main thread [1], or nullopt if the CPU times are
// unknown or a record is not of one thread of a CPU.
std::optional<double> WallOverCpu(const Record& record);
std::optional<double> WallOverCpu(const std::vector<Repetition>& repetitions);

// Sets `noisy` of each repetition. On a CPU a repetition is noisy if
// - its threads waited for a CPU for more than 1 % of the wall time,
// - its main thread was off its CPU for a share of the wall time that is 2 percentage points larger
//   than in the best repetition (regular waits belong to the workload),
// - core_share is below 0.9, or link_share below 0.3 (the threads ran far apart), or
// - more than 10 % of its calls were left out (clean_calls).
// On a GPU it is noisy if the SMs' clock was too low (IsThrottled) or, if its time includes the
// host's launches (timed::kCall), if the host waited for a CPU for more than 1 % of its wall time.
void MarkNoisy(std::vector<Repetition>& repetitions);

// Returns "ALGORITHM; isa ISA" for people, or only the algorithm if the ISA is unknown.
std::string AlgorithmText(const Record& record);

// Splits the name into op, device, library, direction, type, problem and options. If the name (of
// another program) has fewer parts, the other fields stay empty.
void SplitName(Record& record);

// Returns whether the record's name has dlroof's form, e.g. "Conv2D/gpu/cudnn/fwd/f16/n16c64h56".
bool HasOwnForm(const Record& record);

// For a record whose name has another form (e.g. a kernel of another program): sets the device and
// clears the other fields that SplitName set.
void PutOnDevice(Record& record, const std::string& device);

// If the estimate `timing` is below the wall times of all repetitions (it is then the CPU time of
// the call's only thread), returns the shortest of these wall times [s], otherwise nullopt.
std::optional<double> FastestMeasured(const std::vector<Repetition>& repetitions,
                                      const Timing& timing);

// Returns a sentence with the estimate and FastestMeasured, or "" if that is nullopt.
std::string EstimateText(const std::vector<Repetition>& repetitions, const Timing& timing);

inline constexpr std::string_view kEstimateMeaning =
    "~ noisy: an estimate, mostly the fastest repetition";

// Returns a text for people: why repetitions of records with estimated times are noisy. It has for
// each reason, the most frequent first, the number of repetitions and a remedy. "" without reasons.
std::string NoiseText(const std::vector<Record>& records);

}  // namespace dlroof::record
