#include "baselines/compare/judged_times.h"

#include <algorithm>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::compare {
namespace {

using Field = std::optional<double> record::GpuSample::*;

struct Kind {
  Field field;
  const char* timed;
  bool same;  // if Record::timed == timed, Repetition::seconds already is of this kind
};

constexpr Kind kKinds[] = {
    {&record::GpuSample::queued_seconds, record::timed::kDevice, true},
    {&record::GpuSample::graph_seconds, record::timed::kGraph, false},
    {&record::GpuSample::throughput_seconds, record::timed::kThroughput, false},
    {&record::GpuSample::call_seconds, record::timed::kCall, true}};

// Returns a copy with times of this kind, or nullopt if a repetition lacks it.
std::optional<record::Record> As(const Kind& kind, const record::Record& record) {
  if (kind.same && record.timed == kind.timed) return record;
  record::Record copy = record;
  copy.timed = kind.timed;
  for (auto& repetition : copy.repetitions) {
    if (!repetition.gpu || !((*repetition.gpu).*kind.field)) return std::nullopt;
    repetition.seconds = *((*repetition.gpu).*kind.field);
    // The host's noise does not affect device times; a throttled clock does.
    if (copy.timed != record::timed::kCall) repetition.noisy = record::IsThrottled(*repetition.gpu);
  }
  return copy;
}

bool HasSamples(const record::Record& record) {
  return std::ranges::any_of(record.repetitions,
                             [](const auto& repetition) { return repetition.gpu != nullptr; });
}

void CorrectForEmptyKernel(JudgedTimes& times) {
  const auto before = record::SampleMedian(times.base, &record::GpuSample::empty_seconds);
  const auto after = record::SampleMedian(times.contender, &record::GpuSample::empty_seconds);
  if (!before || !after) return;
  times.added_seconds = *before - *after;
  for (auto& repetition : times.contender.repetitions)
    repetition.seconds = std::max(repetition.seconds + *times.added_seconds, 0.0);
}

}  // namespace

std::optional<JudgedTimes> ChooseTimes(const record::Record& base,
                                       const record::Record& contender) {
  if (!HasSamples(base) || !HasSamples(contender)) return std::nullopt;
  const bool alike = base.timed == contender.timed;
  if (alike && (base.timed == record::timed::kGraph || base.timed == record::timed::kThroughput))
    return std::nullopt;
  for (const Kind& kind : kKinds) {
    auto before = As(kind, base), after = As(kind, contender);
    if (!before || !after) continue;
    JudgedTimes times{*std::move(before), *std::move(after), kind.timed};
    if (times.timed == record::timed::kDevice) CorrectForEmptyKernel(times);
    if (alike && base.timed == times.timed && !times.added_seconds) return std::nullopt;
    return times;
  }
  if (alike) return std::nullopt;
  throw Unsupported("the two runs have no time of the same kind: BASE has '{}', NEW '{}'",
                    base.timed.value_or("unknown"), contender.timed.value_or("unknown"));
}

std::optional<statistics::LevelPair> LevelsOfTimes(const record::Record& base,
                                                   const record::Record& contender) {
  try {
    const auto chosen = contender.device == "gpu" ? ChooseTimes(base, contender) : std::nullopt;
    return chosen ? statistics::LevelsOf(chosen->base, chosen->contender)
                  : statistics::LevelsOf(base, contender);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

bool IsSameMeasurement(const record::Record& base, const record::Record& contender) {
  const auto clean = [](const record::Record& record) {
    std::vector<double> seconds;
    for (const auto& repetition : record.repetitions)
      if (!repetition.noisy) seconds.push_back(repetition.seconds);
    return seconds;
  };
  return clean(base) == clean(contender);
}

bool CanTell(const record::Record& record) {
  return record.status == record::Status::kOk && LevelsOfTimes(record, record).has_value();
}

}  // namespace dlroof::compare
