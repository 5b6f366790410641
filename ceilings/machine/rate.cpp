#include "ceilings/machine/rate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"

namespace dlroof::machine {
namespace {

// Returns "[ 12/52] fp32.vector.avx2, 1 threads; 14 s left".
std::string ProgressText(const MeasureProgress& progress) {
  return fmt::format("[{:3}/{}] {}; {:.0f} s left", progress.step, progress.steps, progress.text,
                     progress.eta_seconds);
}
constexpr double kFirstPause = 2e-3;   // [s] after a noisy repetition; each further one doubles it
constexpr int kMaxRecalibrations = 5;  // then the time seems not to depend on the iterations
constexpr double kMinSeconds = 1e-9;   // a shorter time means that the clock did not advance
constexpr double kMaxGrowth = 10;      // [1] max factor of the iterations per calibration step
constexpr int kPatience = 8;           // min repetitions of one length before they are shortened
constexpr double kCleanShare = 0.5;    // [1] repetitions are shortened if fewer are clean
constexpr int kAgreeing = 3;  // min number of clean rates near the best, including the best

double PerSecond(const RateRepetition& repetition) {
  return static_cast<double>(repetition.iterations) / repetition.time.seconds;
}

std::vector<double> CleanRates(const std::vector<RateRepetition>& repetitions,
                               const RatePolicy& policy) {
  std::vector<double> rates;
  for (const auto& repetition : repetitions)
    if (IsClean(repetition, policy)) rates.push_back(PerSecond(repetition));
  return rates;
}

double Best(const std::vector<double>& rates) { return std::ranges::max(rates); }

// Returns the time of twice the work divided by the time of the work. Computes this ratio from the
// best rates and from the median rates and returns the one closer to 2: interference or a change of
// the clock distorts one of them, but a kernel that skips work distorts both.
double TimeRatio(const std::vector<double>& single, const std::vector<double>& doubled) {
  const double best = 2 * Best(single) / Best(doubled);
  const double typical = 2 * Median(single) / Median(doubled);
  return std::abs(typical - 2) < std::abs(best - 2) ? typical : best;
}

// Returns why the clean rates do not validate the best of them, or nullopt if they do. `agreeing`:
// number of rates within the tolerance of the best.
std::optional<Reason> NotValidatedReason(const std::vector<double>& single,
                                         const std::vector<double>& doubled, int agreeing,
                                         const RatePolicy& policy) {
  for (const auto& [rates, needed, kind] : {std::tuple(&single, policy.repetitions, ""),
                                            {&doubled, policy.doubled, " with twice the work"}})
    if (std::ssize(*rates) < needed)
      return Reason{fmt::format("only {} of {} needed repetitions{} were clean: other programs ran",
                                rates->size(), needed, kind)};
  const double time_ratio = TimeRatio(single, doubled);
  if (std::abs(time_ratio / 2 - 1) > policy.tolerance)
    return Reason{
        fmt::format("twice the work took {:.3f} times the time, allowed is 2 within {:.1f} %",
                    time_ratio, 100 * policy.tolerance)};
  const auto all = std::ssize(single) + std::ssize(doubled);
  if (agreeing < std::min<std::ptrdiff_t>(kAgreeing, all))
    return Reason{fmt::format("only {} of {} clean repetitions were within {:.1f} % of the best",
                              agreeing, all, 100 * policy.tolerance)};
  return std::nullopt;
}

// Sets Rate::clock_hz from the repetitions near the best rate, because slower ones may have run at
// another clock. Takes the median, or the highest of few readings: interference lowers readings.
void AddClock(const RatePolicy& policy, Rate& rate) {
  constexpr std::size_t kFewReadings = 5;
  std::vector<double> clocks;
  for (const auto* repetitions : {&rate.evidence.single, &rate.evidence.doubled})
    for (const auto& repetition : *repetitions)
      if (repetition.time.clock_hz && IsClean(repetition, policy) &&
          PerSecond(repetition) >= rate.per_second * (1 - policy.tolerance))
        clocks.push_back(*repetition.time.clock_hz);
  if (clocks.empty()) return;
  rate.clock_hz = clocks.size() < kFewReadings ? Best(clocks) : Median(std::move(clocks));
}

std::int64_t Scaled(std::int64_t iterations, double factor) {
  constexpr double kMax = 1e15;
  return static_cast<std::int64_t>(std::clamp(static_cast<double>(iterations) * factor, 1.0, kMax));
}

double Fastest(const std::vector<RateRepetition>& repetitions) {
  double seconds = repetitions.front().time.seconds;
  for (const auto& repetition : repetitions) seconds = std::min(seconds, repetition.time.seconds);
  return std::max(seconds, kMinSeconds);
}

// Returns the iterations that take about `policy.repetition_seconds`; MeasureRate recalibrates if
// interference made them too few. Throws Unsupported if the kernel's clock does not advance.
std::int64_t Calibrate(const TimedKernel& kernel, const RatePolicy& policy) {
  const double begin = policy.now();
  std::int64_t iterations = 1;
  for (int step = 0; step < 64; ++step) {
    const double read = kernel(iterations).seconds;
    const double seconds = std::max(read, kMinSeconds);
    if (seconds >= policy.repetition_seconds / 2)
      return Scaled(iterations, policy.repetition_seconds / seconds);
    if (policy.now() - begin >= policy.max_seconds) {
      if (read >= kMinSeconds) return iterations;
      throw Unsupported("{} iterations took {:.2g} s, but the kernel's clock shows {:.2g} s",
                        iterations, policy.now() - begin, read);
    }
    iterations =
        Scaled(iterations, std::clamp(policy.repetition_seconds / seconds, 2.0, kMaxGrowth));
  }
  return iterations;
}

}  // namespace

void ProgressPrinter::operator()(const MeasureProgress& progress) {
  if (terminal_) {
    out_ << "\r\033[K";  // clears the line
    if (progress.step < progress.steps) out_ << ProgressText(progress);
    out_.flush();
    return;
  }
  const int tenths = progress.steps > 0 ? 10 * progress.step / progress.steps : 10;
  if (tenths == tenths_) return;
  tenths_ = tenths;
  out_ << ProgressText(progress) << '\n' << std::flush;
}

bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

bool IsClean(const RateRepetition& repetition, const RatePolicy& policy) {
  return repetition.time.wait_fraction.value_or(0) <= policy.max_wait_fraction &&
         repetition.time.core_share.value_or(1) >= cpu::kMinCoreShare;
}

Rate JudgeRate(const RateEvidence& evidence, const RatePolicy& policy) {
  const auto& [single, doubled] = evidence;
  if (single.empty() && doubled.empty()) throw std::invalid_argument("JudgeRate: no repetitions");
  const auto clean_single = CleanRates(single, policy);
  const auto clean_doubled = CleanRates(doubled, policy);
  auto all = clean_single;
  all.insert(all.end(), clean_doubled.begin(), clean_doubled.end());
  Rate rate{.total = static_cast<int>(single.size() + doubled.size()), .evidence = evidence};
  if (all.empty()) {
    for (const auto* repetitions : {&single, &doubled})
      for (const auto& repetition : *repetitions)
        rate.per_second = std::max(rate.per_second, PerSecond(repetition));
    rate.reason = Reason{fmt::format(
        "in each of the {} repetitions a thread waited for a CPU, or shared its core; the best of "
        "them is only a lower bound",
        rate.total)};
    return rate;
  }
  rate.per_second = Best(all);
  rate.ci95 = MedianInterval95(all);
  if (rate.ci95) rate.spread = (rate.ci95->second - rate.ci95->first) / Median(all);
  if (!clean_single.empty() && !clean_doubled.empty())
    rate.doubling = TimeRatio(clean_single, clean_doubled);
  AddClock(policy, rate);
  rate.agreeing = static_cast<int>(std::ranges::count_if(
      all, [&](double each) { return each >= rate.per_second * (1 - policy.tolerance); }));
  rate.reason = NotValidatedReason(clean_single, clean_doubled, rate.agreeing, policy);
  rate.clean = static_cast<int>(all.size());
  for (const auto* repetitions : {&single, &doubled})
    for (const auto& repetition : *repetitions)
      if (!repetition.time.wait_fraction) rate.waits_known = false;
  return rate;
}

Rate MergePasses(const std::vector<Rate>& passes, const RatePolicy& policy, double tolerance) {
  if (passes.empty()) throw std::invalid_argument("MergePasses: no passes");
  RateEvidence all;
  for (const auto& pass : passes) {
    const auto& [single, doubled] = pass.evidence;
    all.single.insert(all.single.end(), single.begin(), single.end());
    all.doubled.insert(all.doubled.end(), doubled.begin(), doubled.end());
  }
  auto merged = JudgeRate(all, policy);
  const auto agreeing = std::ranges::count_if(passes, [&](const Rate& pass) {
    return pass.clean > 0 && pass.per_second >= merged.per_second * (1 - tolerance);
  });
  if (passes.size() > 1 && agreeing < 2 && merged.IsValidated())
    merged.reason = Reason{
        fmt::format("none of the {} other measurements, spread over the run, was within {:.0f} "
                    "% of the best",
                    passes.size() - 1, 100 * tolerance)};
  return merged;
}

Rate MeasureRate(const TimedKernel& kernel, const RatePolicy& policy) {
  const double begin = policy.now();
  std::int64_t iterations = Calibrate(kernel, policy);
  int recalibrations = 0;
  RateEvidence evidence;
  auto& [single, doubled] = evidence;
  double pause = kFirstPause, wanted = policy.repetition_seconds;
  int made = 0, clean = 0;  // repetitions since the last change of `wanted`
  const auto repeat = [&](std::int64_t n, std::vector<RateRepetition>& into) {
    into.push_back({n, kernel(n)});
    ++made;
    if (IsClean(into.back(), policy)) {
      ++clean;
      pause = kFirstPause;
      return;
    }
    if (policy.sleep) policy.sleep(pause);
    pause = std::min(2 * pause, 0.1);
  };
  // Each doubled repetition follows `per_doubled` single ones: slow phases affect both equally.
  const int per_doubled = std::max(1, policy.repetitions / std::max(1, policy.doubled));
  for (;;) {
    for (int i = 0; i < per_doubled; ++i) repeat(iterations, single);
    repeat(2 * iterations, doubled);
    const bool time_is_up = policy.now() - begin >= policy.max_seconds;
    const double fastest = Fastest(single);
    const bool too_short = fastest < wanted / 2;
    if (too_short && recalibrations < (time_is_up ? 1 : kMaxRecalibrations)) {
      ++recalibrations;
      // Limits the growth when time is up: with a wrong clock the kernel could run for hours.
      const double factor = wanted / fastest;
      iterations = Scaled(iterations, time_is_up ? std::min(factor, kMaxGrowth) : factor);
      single.clear();
      doubled.clear();
      continue;
    }
    auto rate = JudgeRate(evidence, policy);
    if (rate.IsValidated() || time_is_up) return rate;
    if (made >= kPatience && clean < kCleanShare * made &&
        wanted / 2 >= policy.least_repetition_seconds) {
      wanted /= 2;
      iterations = std::max<std::int64_t>(1, iterations / 2);
      made = clean = 0;
    }
  }
}

}  // namespace dlroof::machine
