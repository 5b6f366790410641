#include "baselines/compare/judged_times.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"
#include "counters/base/error.h"
#include "counters/base/numbers.h"

namespace dlroof::compare {
namespace {

using Field = std::optional<double> record::GpuSample::*;

// Returns a copy with the field in place of `seconds`, or nullopt if a repetition lacks it.
std::optional<record::Record> With(const record::Record& record, Field field, const char* timed) {
  record::Record copy = record;
  copy.timed = timed;
  for (auto& repetition : copy.repetitions) {
    if (!repetition.gpu || !((*repetition.gpu).*field)) return std::nullopt;
    repetition.seconds = *((*repetition.gpu).*field);
    // These times are the device's: of the reasons for noise, only its clock is left.
    if (std::string_view(timed) != record::timed::kCall)
      repetition.noisy = record::IsThrottled(*repetition.gpu);
  }
  return copy;
}

bool HasSamples(const record::Record& record) {
  return std::ranges::any_of(record.repetitions,
                             [](const auto& repetition) { return repetition.gpu != nullptr; });
}

std::optional<record::Record> AsCall(const record::Record& record) {
  if (record.timed == record::timed::kCall) return record;
  return With(record, &record::GpuSample::call_seconds, record::timed::kCall);
}

std::optional<JudgedTimes> CorrectedForEmptyKernel(const record::Record& base,
                                                   const record::Record& contender) {
  const auto before = record::SampleMedian(base, &record::GpuSample::empty_seconds);
  const auto after = record::SampleMedian(contender, &record::GpuSample::empty_seconds);
  if (!before || !after) return std::nullopt;
  JudgedTimes times{base, contender, record::timed::kDevice, *before - *after};
  for (auto& repetition : times.contender.repetitions)
    repetition.seconds = std::max(repetition.seconds + *times.added_seconds, 0.0);
  return times;
}

std::optional<double> Cycles(const record::Record& record) {
  std::vector<double> cycles;
  for (const auto& repetition : record.repetitions) {
    if (repetition.noisy) continue;
    if (!repetition.gpu || !repetition.gpu->clock_hz) return std::nullopt;
    cycles.push_back(repetition.seconds * *repetition.gpu->clock_hz);
  }
  return cycles.empty() ? std::nullopt : std::optional(Median(std::move(cycles)));
}

}  // namespace

std::optional<JudgedTimes> ChooseTimes(const record::Record& base,
                                       const record::Record& contender) {
  if (!HasSamples(base) || !HasSamples(contender)) return std::nullopt;
  if (base.timed == record::timed::kDevice && contender.timed == record::timed::kDevice)
    return CorrectedForEmptyKernel(base, contender);
  for (const auto& [field, timed] :
       {std::pair<Field, const char*>(&record::GpuSample::graph_seconds, record::timed::kGraph),
        std::pair<Field, const char*>(&record::GpuSample::throughput_seconds,
                                      record::timed::kThroughput)}) {
    auto one = With(base, field, timed), other = With(contender, field, timed);
    if (one && other) return JudgedTimes{*std::move(one), *std::move(other), timed};
  }
  if (base.timed == contender.timed) return std::nullopt;
  auto one = AsCall(base), other = AsCall(contender);
  if (!one || !other)
    throw Unsupported("the two runs have no time of the same kind: BASE has '{}', NEW '{}'",
                      base.timed.value_or("unknown"), contender.timed.value_or("unknown"));
  return JudgedTimes{*std::move(one), *std::move(other), record::timed::kCall};
}

std::optional<double> JudgedLogRatio(const record::Record& base, const record::Record& contender) {
  std::optional<JudgedTimes> chosen;
  try {
    chosen = ChooseTimes(base, contender);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
  const auto levels =
      chosen ? LevelsOf(chosen->base, chosen->contender) : LevelsOf(base, contender);
  if (!levels) return std::nullopt;
  return levels->contender.log_seconds - levels->base.log_seconds;
}

bool IsDeviceTime(const record::Record& record) {
  return record.timed == record::timed::kDevice || record.timed == record::timed::kGraph ||
         record.timed == record::timed::kThroughput;
}

std::optional<double> CyclesLogRatio(const record::Record& base, const record::Record& contender) {
  const auto one = Cycles(base), other = Cycles(contender);
  if (!one || !other) return std::nullopt;
  return std::log(*other / *one);
}

}  // namespace dlroof::compare
