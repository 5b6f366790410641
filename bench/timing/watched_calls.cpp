#include "bench/timing/watched_calls.h"

#include <algorithm>

#include "bench/timing/timer.h"
#include "counters/cpu/clocks.h"

namespace dlroof {

void WatchedCalls::Add(const PreparedCall& call, int threads, std::int64_t calls) {
  const auto* source = TheRegionSource();
  if (source == nullptr) return;
  for (const auto& library : AllLibraries()) library.on_threads([](int) {});
  Pass pass;
  const auto spent = SpentBy(source->begin, [&] {
    for (std::int64_t i = 0; i < calls; ++i) call.run();
  });
  int widest = 1;
  pass.sums = source->end(widest);
  pass.threads = std::max(widest, call.threads > 0 ? call.threads : threads);
  pass.repetition = RepetitionOf(spent, static_cast<double>(calls));
  passes_.push_back(pass);
  if (call.functions && !function_seconds_) function_seconds_ = call.functions();
}

std::optional<ParallelTime> WatchedCalls::Mean() const {
  std::vector<Repetition> each;
  for (const auto& pass : passes_) each.push_back(pass.repetition);
  MarkDisturbed(each);
  const bool any = std::ranges::any_of(each, [](const auto& one) { return !one.disturbed; });
  ParallelTime mean;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const auto& [repetition, sums, threads] = passes_[i];
    if (any && each[i].disturbed) continue;
    mean.calls += repetition.iterations;
    mean.seconds += repetition.seconds * repetition.iterations;
    mean.regions.regions += sums.regions;
    mean.regions.seconds += sums.seconds;
    mean.regions.longest_seconds += sums.longest_seconds;
    mean.regions.busy_seconds += sums.busy_seconds;
    mean.threads = std::max(mean.threads, threads);
    if (repetition.run_delay_seconds)
      mean.run_delay_seconds = mean.run_delay_seconds.value_or(0) +
                               *repetition.run_delay_seconds * repetition.iterations;
  }
  if (mean.calls == 0) return std::nullopt;
  for (double* sum : {&mean.seconds, &mean.regions.regions, &mean.regions.seconds,
                      &mean.regions.longest_seconds, &mean.regions.busy_seconds})
    *sum /= mean.calls;
  if (mean.run_delay_seconds) *mean.run_delay_seconds /= mean.calls;
  mean.function_seconds = function_seconds_;
  mean.source = TheRegionSource()->name;
  return mean;
}

}  // namespace dlroof
