#include "reporters/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"
#include "counters/gpu/clock.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

constexpr KeyRow<Status> kStatuses[] = {{Status::kOk, "ok"},
                                        {Status::kUnsupported, "unsupported"},
                                        {Status::kFailed, "failed"},
                                        {Status::kWrong, "wrong"}};
constexpr double kRunDelayShare = 0.01;
constexpr double kOffCpuShare = 0.02;
// [1] Two clocks of a repetition agree if they differ by at most this share of its time.
constexpr double kClockNarrowment = 0.02;
// [1] Lower limit of LeastSeconds / time. Threads that wait one after the other may together wait
// longer than the call takes.
constexpr double kMinShare = 0.01;

// Returns the share of wall time [1] in which the main thread did not run; nullopt for a GPU.
std::optional<double> OffCpu(const Repetition& repetition) {
  if (repetition.gpu || !repetition.main_cpu_seconds || repetition.seconds <= 0)
    return std::nullopt;
  return 1 - *repetition.main_cpu_seconds / repetition.seconds;
}

// Returns whether too many calls were left out. Of 872 LSTM repetitions on two cores with fewer
// calls left out, nine in ten took at most 1.03 times as long as their benchmark's fastest one.
bool LacksCalls(const Repetition& repetition) {
  constexpr double kMinCleanCalls = 0.9;  // [1]
  return repetition.clean_calls.value_or(repetition.iterations) <
         kMinCleanCalls * repetition.iterations;
}

bool Waited(const Repetition& repetition) {
  const double seconds = repetition.seconds;
  const double on_host = repetition.gpu ? repetition.gpu->host_seconds.value_or(seconds) : seconds;
  return repetition.run_delay_seconds.value_or(0) > kRunDelayShare * on_host;
}

// Returns whether a thread waited for a CPU, shared its core, or ran far from the other threads.
bool HadNeighbours(const Repetition& repetition) {
  return Waited(repetition) || repetition.core_share.value_or(1) < cpu::kMinCoreShare ||
         repetition.link_share.value_or(1) < cpu::kMinLinkShare;
}

// Returns whether the clocks show that only the main thread used CPU time; false if one is missing.
bool IsOfOneThread(const Repetition& repetition) {
  const auto &all = repetition.cpu_seconds, &main = repetition.main_cpu_seconds;
  return all && main && std::abs(*all - *main) <= kClockNarrowment * repetition.seconds;
}

// Returns the least time [s] that the call can have needed: wall time minus all waits for a CPU,
// but not less than the CPU time of its only thread: a wait may have begun before the call.
double LeastSeconds(const Repetition& repetition) {
  const double seconds = repetition.seconds;
  if (!repetition.noisy || repetition.gpu) return seconds;
  const double off_cpu = std::max(0.0, seconds - repetition.main_cpu_seconds.value_or(seconds));
  const double cpu =
      IsOfOneThread(repetition) ? std::min(*repetition.main_cpu_seconds, seconds) : 0;
  return std::max(
      {seconds - repetition.run_delay_seconds.value_or(off_cpu), cpu, kMinShare * seconds});
}

// Returns TimeOf's second case, the median of the clean repetitions and of those whose noisy calls
// were left out, or nullopt if these are fewer than three, or another repetition was over 10 %
// faster. Does not use a noisy repetition whose core_share is unknown: it may have had half a core.
std::optional<Timing> TimeOfParts(const std::vector<Repetition>& repetitions) {
  constexpr double kNarrow = 0.1;  // [1] distance of an interval's end from the median / median
  std::vector<double> times, least;
  Timing timing{.noisy = true};
  for (const auto& repetition : repetitions) {
    timing.clean += repetition.noisy ? 0 : 1;
    const bool in_part =
        repetition.clean_calls && repetition.core_share && !HadNeighbours(repetition);
    if (repetition.noisy && !in_part) continue;
    times.push_back(repetition.seconds);
    least.push_back(LeastSeconds(repetition));
  }
  if (times.size() < 3) return std::nullopt;
  std::ranges::sort(times);
  timing.median = MedianOfSorted(times);
  const auto fastest = std::ranges::min_element(repetitions, {}, &Repetition::seconds);
  if (fastest->seconds < (1 - kNarrow) * timing.median) return std::nullopt;
  timing.ci95 = {std::ranges::min(least), times.back()};
  const auto interval = MedianInterval95OfSorted(times);
  if (!interval || interval->first < (1 - kNarrow) * timing.median ||
      interval->second > (1 + kNarrow) * timing.median)
    return timing;
  timing.ci95 = interval;
  timing.clean = static_cast<int>(times.size());
  timing.noisy = false;
  return timing;
}

// Returns the CPU time [s] of a noisy call if its clocks show that no other thread used CPU time
// and that the main thread either ran or waited for a CPU all the time; otherwise nullopt.
std::optional<double> CheckedCpuTime(const Repetition& repetition) {
  const auto &main = repetition.main_cpu_seconds, &waited = repetition.run_delay_seconds;
  if (!repetition.noisy || repetition.gpu || !waited || !IsOfOneThread(repetition))
    return std::nullopt;
  if (*main <= 0 ||
      std::abs(*main + *waited - repetition.seconds) > kClockNarrowment * repetition.seconds)
    return std::nullopt;
  return *main;
}

// Returns the timing of a record whose only repetition is an aggregate, otherwise nullopt. Computes
// Student's interval, which assumes normally distributed repetitions.
std::optional<Timing> TimingOfAggregate(const std::vector<Repetition>& repetitions) {
  if (repetitions.size() != 1 || !repetitions.front().aggregate) return std::nullopt;
  const auto& [seconds, aggregate] =
      std::pair(repetitions.front().seconds, *repetitions.front().aggregate);
  Timing timing{.median = seconds, .clean = aggregate.repetitions.value_or(1)};
  if (const auto error = RelativeError(aggregate)) {
    // Boost's tables overflow in long double under valgrind, where a long double is a double.
    using boost::math::policies::policy, boost::math::policies::promote_double;
    const boost::math::students_t_distribution<double, policy<promote_double<false>>> student(
        *aggregate.repetitions - 1);
    const double half = quantile(complement(student, 0.025)) * *error;
    timing.ci95 = {seconds * std::max(0.0, 1 - half), seconds * (1 + half)};
  }
  return timing;
}

// Returns the sample's throttle reasons, or nullopt if they are unset or not a bit mask of NVML.
std::optional<std::uint64_t> ThrottleBits(const GpuSample& sample) {
  constexpr double kExactWholeNumbers = 9007199254740992;  // 2^53
  if (!sample.throttle || !(*sample.throttle >= 0 && *sample.throttle < kExactWholeNumbers))
    return std::nullopt;
  return static_cast<std::uint64_t>(*sample.throttle);
}

}  // namespace

std::string_view Key(Status status) { return KeyIn(kStatuses, status); }
std::optional<Status> StatusFromKey(std::string_view key) { return ValueIn(kStatuses, key); }

std::optional<double> RelativeError(const AggregateTime& aggregate) {
  constexpr int kMinRepetitions = 3;  // two repetitions hardly tell the deviation
  if (!aggregate.deviation || aggregate.repetitions.value_or(0) < kMinRepetitions)
    return std::nullopt;
  const double of_mean = *aggregate.deviation / std::sqrt(*aggregate.repetitions);
  return aggregate.statistic == "median" ? of_mean * std::sqrt(std::numbers::pi / 2) : of_mean;
}

std::optional<Timing> Summarize(const std::vector<Repetition>& repetitions) {
  if (auto timing = TimingOfAggregate(repetitions)) return timing;
  std::vector<double> clean;
  clean.reserve(repetitions.size());
  for (const auto& repetition : repetitions)
    if (!repetition.noisy) clean.push_back(repetition.seconds);
  if (clean.empty() || clean.size() < std::min<size_t>(3, repetitions.size())) return std::nullopt;
  if (2 * clean.size() < repetitions.size()) return std::nullopt;
  std::ranges::sort(clean);
  return Timing{MedianOfSorted(clean), MedianInterval95OfSorted(clean),
                static_cast<int>(clean.size())};
}

std::optional<Timing> TimeOf(const std::vector<Repetition>& repetitions) {
  if (auto timing = Summarize(repetitions); timing || repetitions.empty()) return timing;
  if (auto timing = TimeOfParts(repetitions)) return timing;
  std::vector<double> times, least;
  Timing timing{.noisy = true};
  for (const auto& repetition : repetitions) {
    times.push_back(CheckedCpuTime(repetition).value_or(repetition.seconds));
    least.push_back(LeastSeconds(repetition));
    timing.clean += repetition.noisy ? 0 : 1;
  }
  std::ranges::sort(times);
  timing.median = times.front();  // other programs only lengthen a repetition
  if (times.size() > 1)           // one repetition shows no spread
    timing.ci95 = {std::min(times.front(), std::ranges::min(least)), MedianOfSorted(times)};
  return timing;
}

std::string NoiseText(const std::vector<Record>& records) {
  struct Cause {
    bool (*disturbed)(const Repetition&);
    std::string_view text;
  };
  constexpr Cause kCauses[] = {
      {[](const Repetition& repetition) { return repetition.gpu && IsThrottled(*repetition.gpu); },
       "the GPU's clock was low: let it cool"},
      {Waited, "threads waited while other programs ran: stop those, or wait, and run again"},
      {[](const Repetition& repetition) {
         return repetition.core_share.value_or(1) < cpu::kMinCoreShare;
       },
       "a core was slower than this machine's best: another virtual machine or hardware thread, or "
       "a best that is too high (dlroof machine --remeasure)"},
      {[](const Repetition& repetition) {
         return repetition.link_share.value_or(1) < cpu::kMinLinkShare;
       },
       "its threads exchanged data three times more slowly than they can: on cores far apart, or "
       "moved by a hypervisor"},
      {[](const Repetition& repetition) { return OffCpu(repetition).value_or(0) > kOffCpuShare; },
       "the main thread lost its CPU to no program of this system: a hypervisor takes it"},
      {LacksCalls, "calls were interrupted, by other programs or by a hypervisor"}};
  std::map<const Cause*, int> counts;  // in the order of kCauses
  int noisy = 0;
  for (const auto& record : records) {
    const auto timing = TimeOf(record.repetitions);
    if (!timing || !timing->noisy) continue;
    for (const auto& repetition : record.repetitions) {
      if (!repetition.noisy) continue;
      ++noisy;
      const auto is_it = [&](const Cause& cause) { return cause.disturbed(repetition); };
      if (const auto* const cause = FindIf(kCauses, is_it)) ++counts[cause];
    }
  }
  std::vector<std::pair<int, std::string_view>> reasons;
  for (const auto& [cause, count] : counts) reasons.emplace_back(count, cause->text);
  std::ranges::stable_sort(reasons, std::ranges::greater{},
                           [](const auto& one) { return one.first; });
  std::string text;
  for (const auto& [count, reason] : reasons)
    text += fmt::format("{}in {} of {} noisy repetitions {}", text.empty() ? "" : "; ", count,
                        noisy, reason);
  return text;
}

void MarkNoisy(std::vector<Repetition>& repetitions) {
  std::optional<double> least_off_cpu;
  for (const auto& repetition : repetitions)
    if (const auto off = OffCpu(repetition))
      least_off_cpu = std::min(least_off_cpu.value_or(*off), *off);
  for (auto& repetition : repetitions) {
    if (repetition.gpu && repetition.gpu->call_seconds) {  // queued calls do not wait for the host
      repetition.noisy = IsThrottled(*repetition.gpu);
      continue;
    }
    const auto off = OffCpu(repetition);
    repetition.noisy = HadNeighbours(repetition) || (off && *off > *least_off_cpu + kOffCpuShare) ||
                       LacksCalls(repetition) || (repetition.gpu && IsThrottled(*repetition.gpu));
  }
}

std::string AlgorithmText(const Record& record) {
  return record.isa.empty() ? record.algorithm : record.algorithm + "; isa " + record.isa;
}

void SplitName(Record& record) {
  const std::array<std::string*, 6> parts = {&record.op,        &record.device, &record.library,
                                             &record.direction, &record.type,   &record.problem};
  size_t begin = 0;
  for (size_t part = 0; begin <= record.name.size(); ++part) {
    const size_t end = std::min(record.name.find('/', begin), record.name.size());
    const auto text = std::string_view(record.name).substr(begin, end - begin);
    if (part < parts.size())
      parts.at(part)->assign(text);
    else
      record.options.emplace_back(text);
    begin = end + 1;
  }
}

bool HasOwnForm(const Record& record) {
  return !record.problem.empty() && (record.device == "cpu" || record.device == "gpu");
}

void PutOnDevice(Record& record, const std::string& device) {
  for (std::string* part :
       {&record.op, &record.library, &record.direction, &record.type, &record.problem})
    part->clear();
  record.options.clear();
  record.device = device;
}

const std::vector<GpuSampleField>& GpuSampleFields() {
  static const std::vector<GpuSampleField> fields = {
      {"throughput_seconds", &GpuSample::throughput_seconds},
      {"graph_seconds", &GpuSample::graph_seconds},
      {"host_seconds", &GpuSample::host_seconds},
      {"clock_hz", &GpuSample::clock_hz},
      {"default_clock_hz", &GpuSample::default_clock_hz},
      {"memory_clock_hz", &GpuSample::memory_clock_hz},
      {"power_watts", &GpuSample::power_watts},
      {"temperature_celsius", &GpuSample::temperature_celsius},
      {"throttle", &GpuSample::throttle},
      {"call_seconds", &GpuSample::call_seconds},
      {"empty_seconds", &GpuSample::empty_seconds},
      {"steady_seconds", &GpuSample::steady_seconds},
      {"queued_seconds", &GpuSample::queued_seconds},
      {"graph_calls", &GpuSample::graph_calls},
      {"stream_calls", &GpuSample::stream_calls}};
  return fields;
}

bool IsThrottled(const GpuSample& sample) {
  return gpu::IsClockTooLow(sample.clock_hz, sample.default_clock_hz,
                            ThrottleBits(sample).value_or(0));
}

std::optional<std::string> TimedBySamples(const std::vector<Repetition>& repetitions) {
  std::optional<std::string> found;
  for (const auto& repetition : repetitions) {
    if (!repetition.gpu) continue;
    if (!repetition.gpu->call_seconds) return timed::kCall;
    found = repetition.gpu->graph_calls    ? timed::kGraph
            : repetition.gpu->stream_calls ? timed::kThroughput
                                           : timed::kDevice;
  }
  return found;
}

bool IsDeviceTime(const Record& record) {
  return record.timed == timed::kDevice || record.timed == timed::kGraph ||
         record.timed == timed::kThroughput;
}

bool IsSteady(const Record& record) {
  return std::ranges::any_of(record.repetitions, [](const auto& repetition) {
    return repetition.gpu && repetition.gpu->steady_seconds;
  });
}

std::optional<double> SampleMedian(const Record& record, std::optional<double> GpuSample::*field) {
  std::vector<double> values;
  for (const auto& repetition : record.repetitions)
    if (repetition.gpu && !repetition.noisy && (*repetition.gpu).*field)
      values.push_back(*((*repetition.gpu).*field));
  return values.empty() ? std::nullopt : std::optional(Median(std::move(values)));
}

std::optional<double> MedianCycles(const Record& record) {
  std::vector<double> cycles;
  for (const auto& repetition : record.repetitions) {
    if (repetition.noisy) continue;
    if (!repetition.gpu || !repetition.gpu->clock_hz) return std::nullopt;
    cycles.push_back(repetition.seconds * *repetition.gpu->clock_hz);
  }
  return cycles.empty() ? std::nullopt : std::optional(Median(std::move(cycles)));
}

std::optional<double> WallOverCpu(const Record& record) {
  const bool one_thread = record.device != "gpu" && record.threads == 1;
  return one_thread ? WallOverCpu(record.repetitions) : std::nullopt;
}

std::optional<double> WallOverCpu(const std::vector<Repetition>& repetitions) {
  std::vector<double> ratios;
  for (const auto& repetition : repetitions)
    if (const double cpu = repetition.main_cpu_seconds.value_or(0); cpu > 0 && !repetition.gpu)
      ratios.push_back(repetition.seconds / cpu);
  return ratios.empty() ? std::nullopt : std::optional(Median(std::move(ratios)));
}

GpuSample SummarizeSamples(const std::vector<GpuSample>& samples) {
  GpuSample summary;
  for (const auto& [key, member] : GpuSampleFields()) {
    std::vector<double> values;
    for (const auto& sample : samples)
      if (const auto& value = sample.*member) values.push_back(*value);
    if (!values.empty()) summary.*member = Median(values);
  }
  std::optional<std::uint64_t> bits;
  for (const auto& sample : samples)
    if (const auto more = ThrottleBits(sample)) bits = bits.value_or(0) | *more;
  summary.throttle.reset();
  if (bits) summary.throttle = static_cast<double>(*bits);
  summary.default_clock_hz.reset();
  summary.host_seconds.reset();
  return summary;
}

std::optional<double> FastestMeasured(const std::vector<Repetition>& repetitions,
                                      const Timing& timing) {
  constexpr double kRounding = 1e-5;  // [1] times in files have six digits
  if (!timing.noisy || repetitions.empty()) return std::nullopt;
  const double fastest = std::ranges::min_element(repetitions, {}, &Repetition::seconds)->seconds;
  return timing.median < fastest * (1 - kRounding) ? std::optional(fastest) : std::nullopt;
}

std::string EstimateText(const std::vector<Repetition>& repetitions, const Timing& timing) {
  const auto fastest = FastestMeasured(repetitions, timing);
  if (!fastest) return "";
  return fmt::format(
      "{} is the CPU time of its only thread, which waited for a CPU the rest of the time (both "
      "add up to the time that passed); the fastest repetition took {}",
      text::WithPrefix(timing.median, "s"), text::WithPrefix(*fastest, "s"));
}

}  // namespace dlroof::record
