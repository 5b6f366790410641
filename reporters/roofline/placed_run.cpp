#include "reporters/roofline/placed_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/ledger/ledger_advice.h"
#include "reporters/roofline/advice.h"
#include "reporters/roofline/chart.h"
#include "reporters/text/written_number.h"

namespace dlroof {
namespace {

constexpr int kShareDigits = 3;

void Round(double& value) { value = Rounded(value); }

void Round(std::pair<double, double>& pair) {
  Round(pair.first);
  Round(pair.second);
}

template <class T>
void Round(std::optional<T>& value) {
  if (value) Round(*value);
}

template <class Key>
void Round(std::map<Key, double>& values) {
  for (auto& [key, value] : values) Round(value);
}

void Round(Timing& timing) {
  Round(timing.median);
  Round(timing.ci95);
}

void Round(ClassicPoint& point) {
  for (double* number : {&point.intensity, &point.flops_per_second, &point.roof}) Round(*number);
  Round(point.fraction);
  Round(point.ci95);
}

void Round(TimePoint& time) {
  // One pipe judged by its own ceiling is compute_seconds again.
  if (time.pipe_seconds.size() == 1 && time.pipe_seconds.begin()->second == time.compute_seconds)
    time.pipe_seconds.clear();
  Round(time.seconds);
  Round(time.compute_seconds);
  Round(time.pipe_seconds);
  Round(time.memory_seconds);
  for (auto* number : {&time.overhead_seconds, &time.gap, &time.point_compute_seconds})
    Round(*number);
  Round(time.point_memory_seconds);
}

}  // namespace

Record Written(Record record) {
  for (auto& repetition : record.repetitions) {
    const double iterations = repetition.clean_calls.value_or(repetition.iterations);
    repetition.seconds = RoundedToClock(repetition.seconds, iterations, kWrittenDigits);
    for (auto* clock :
         {&repetition.cpu_seconds, &repetition.main_cpu_seconds, &repetition.run_delay_seconds})
      if (*clock) *clock = RoundedToClock(**clock, iterations);
    for (auto* share : {&repetition.core_share, &repetition.link_share})
      if (*share) *share = Rounded(**share, kShareDigits);
  }
  return record;
}

// Replaces what an advice proposes by what the ledger's largest part does, where that is explained.
void AdviseBy(const Ledger& ledger, std::string& advice) {
  const auto* largest = ledger.Largest();
  const auto proposal = advice.find(": ");
  if (largest == nullptr || largest->kind == PartKind::kUnexplained ||
      proposal == std::string::npos)
    return;
  advice = advice.substr(0, proposal + 2) + LedgerAdvice(ledger) + ".";
}

Placed PlaceWritten(const Record& written, const Machine* machine, const PlaceView& view) {
  Placed placed;
  if (written.status == Status::kOk) placed.timing = TimeOf(written.repetitions);
  placed.placement = Place(written, machine, view);
  const auto* ceilings = machine == nullptr ? nullptr : ForThreads(*machine, written.threads);
  if (placed.timing && ceilings != nullptr)
    AddFindings(written, *placed.timing, *ceilings, view.words, placed.placement);
  if (ceilings != nullptr) placed.ledger = LedgerOf(written, placed.placement, *machine, view);
  if (placed.ledger) AdviseBy(*placed.ledger, placed.placement.advice);
  if (placed.timing) Round(*placed.timing);
  for (auto& point : placed.placement.classic) Round(point);
  if (placed.placement.time) Round(*placed.placement.time);
  return placed;
}

PlacedRun PlaceRun(RunFile file, const PlaceView& view) {
  PlacedRun run{{}, view, {}, SummarizeModels(file), TakeCensus(file.records)};
  run.view.words = WordsOf(file.context);
  run.file = std::move(file);
  run.places.reserve(run.file.records.size());
  for (auto& record : run.file.records) {
    record = Written(std::move(record));
    run.places.push_back(PlaceWritten(record, MachineFor(run.file, record), run.view));
  }
  return run;
}

const ClassicPoint* Binding(const Placement& placement) {
  const ClassicPoint* binding = nullptr;
  for (const auto& point : placement.classic)
    if (binding == nullptr || point.roof <= binding->roof) binding = &point;
  return binding;
}

std::string SpreadText(const Timing& timing) {
  if (!timing.ci95 || !(timing.median > 0)) return "";
  const double half =
      std::max(timing.median - timing.ci95->first, timing.ci95->second - timing.median);
  return fmt::format("{:.1f} %", 100 * half / timing.median);
}

std::string BoundText(const TimePoint& time) {
  return fmt::format(
      "{}{}", time.bound_level ? LevelName(Key(*time.bound_level)) : std::string(Key(time.bound)),
      time.given ? " (given)" : "");
}

}  // namespace dlroof
