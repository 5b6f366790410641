#include "reporters/roofline/placed_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/ledger/ledger.h"
#include "reporters/ledger/ledger_advice.h"
#include "reporters/roofline/advice.h"
#include "reporters/roofline/chart.h"
#include "reporters/text/written_number.h"

namespace dlroof::roofline {
namespace {

constexpr int kShareDigits = 3;

void Round(double& value) { value = text::Rounded(value); }

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

void Round(record::Timing& timing) {
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

// Fills in the binding roof and the levels beside it.
void AddRoofs(const Placement& placement, breakdown::LedgerFacts& facts, std::optional<Level>& binding) {
  const auto& time = *placement.time;
  if (!placement.classic.empty()) facts.roof_from = placement.classic.front().flops_from;
  for (const auto& point : placement.classic) {
    const auto seconds = time.memory_seconds.find(point.level);
    if (seconds == time.memory_seconds.end() || seconds->second <= facts.roof_seconds) continue;
    facts.roof_seconds = seconds->second;
    facts.roof = LevelName(Key(point.level));
    facts.roof_from = point.bytes_from;
    facts.arithmetic = false;
    binding = point.level;
  }
  for (const auto& point : placement.classic) {
    const auto seconds = time.memory_seconds.find(point.level);
    if (seconds == time.memory_seconds.end() || point.level == binding || point.level == Level::kL1)
      continue;
    facts.levels.push_back({LevelName(Key(point.level)), seconds->second, point.bytes_from});
  }
}

// Returns the nearest cache of all threads together that holds so many bytes; absent: none does.
std::optional<Level> HolderOf(double bytes, const machine::Machine& machine, int threads) {
  for (const auto& [level, capacity] : machine.cache_bytes) {
    const bool own = level == Level::kL1 || level == Level::kL2;
    if (bytes <= capacity * (own ? threads : 1)) return level;
  }
  return std::nullopt;
}

// A warm call's compulsory bytes that a cache holds never come from DRAM: they are that cache's,
// unless the model of its loops has told its bytes.
void MoveToHolder(const record::Record& record, const machine::Machine& machine, const machine::CeilingSet& ceilings,
                  std::vector<breakdown::LevelTime>& levels) {
  if (record.cache != "warm") return;
  const auto dram = std::ranges::find(levels, LevelName(Key(Level::kDram)), &breakdown::LevelTime::level);
  const auto rate = ceilings.bytes.find(Level::kDram);
  if (dram == levels.end() || dram->from != Provenance::kModelled || rate == ceilings.bytes.end())
    return;
  const double bytes = dram->seconds * rate->second.per_second;
  const auto holder = HolderOf(bytes, machine, record.threads);
  if (!holder) return;
  levels.erase(dram);
  const auto own = ceilings.bytes.find(*holder);
  const auto name = LevelName(Key(*holder));
  if (*holder == Level::kL1 || own == ceilings.bytes.end() ||
      std::ranges::find(levels, name, &breakdown::LevelTime::level) != levels.end())
    return;
  levels.push_back({name, bytes / own->second.per_second, Provenance::kModelled});
}

// Fills in what the same roof asks for under the ceilings of one thread.
void AddAlone(const record::Record& record, const machine::Machine& machine, const PlaceView& view,
              const std::optional<Level>& binding, breakdown::LedgerFacts& facts) {
  record::Record alone = record;
  alone.threads = 1;
  const auto time = PlaceTime(alone, facts.seconds, machine, view);
  if (!time) return;
  facts.alone_compute_seconds = time->compute_seconds;
  if (!binding)
    facts.alone_roof_seconds = time->compute_seconds;
  else if (const auto found = time->memory_seconds.find(*binding);
           found != time->memory_seconds.end())
    facts.alone_roof_seconds = found->second;
}

// [s] of the vector loads at the rate of vectors of that width from L1.
std::optional<double> LoadSeconds(const ParallelTime& parallel, const machine::CeilingSet& ceilings) {
  if (!parallel.vector_loads || !parallel.vector_bytes) return std::nullopt;
  const auto* isa = *parallel.vector_bytes == 64   ? "avx512"
                    : *parallel.vector_bytes == 32 ? "avx2"
                                                   : "sse2";
  const auto loads = ceilings.mixes.find(std::string("l1.load.") + isa);
  if (loads == ceilings.mixes.end()) return std::nullopt;
  return *parallel.vector_loads * *parallel.vector_bytes / loads->second.per_second;
}

}  // namespace

record::Record Written(record::Record record) {
  for (auto& repetition : record.repetitions) {
    const double iterations = repetition.clean_calls.value_or(repetition.iterations);
    repetition.seconds = text::RoundedToClock(repetition.seconds, iterations, text::kWrittenDigits);
    for (auto* clock :
         {&repetition.cpu_seconds, &repetition.main_cpu_seconds, &repetition.run_delay_seconds})
      if (*clock) *clock = text::RoundedToClock(**clock, iterations);
    for (auto* share : {&repetition.core_share, &repetition.link_share})
      if (*share) *share = text::Rounded(**share, kShareDigits);
  }
  return record;
}

// Replaces what an advice proposes by what the ledger's largest part does, where that is explained.
void AdviseBy(const breakdown::Ledger& ledger, std::string& advice) {
  const auto* largest = ledger.Largest();
  const auto proposal = advice.find(": ");
  if (largest == nullptr || largest->kind == breakdown::PartKind::kUnexplained ||
      proposal == std::string::npos)
    return;
  advice = advice.substr(0, proposal + 2) + breakdown::LedgerAdvice(ledger) + ".";
}

Placed PlaceWritten(const record::Record& written, const machine::Machine* machine, const PlaceView& view) {
  Placed placed;
  if (written.status == record::Status::kOk) placed.timing = record::TimeOf(written.repetitions);
  placed.placement = Place(written, machine, view);
  const auto* ceilings = machine == nullptr ? nullptr : machine::ForThreads(*machine, written.threads);
  if (placed.timing && ceilings != nullptr)
    AddFindings(written, *placed.timing, *ceilings, view.words, placed.placement);
  if (ceilings != nullptr) placed.ledger = LedgerOf(written, placed.placement, *machine, view);
  if (placed.ledger) AdviseBy(*placed.ledger, placed.placement.advice);
  if (placed.timing) Round(*placed.timing);
  for (auto& point : placed.placement.classic) Round(point);
  if (placed.placement.time) Round(*placed.placement.time);
  return placed;
}

PlacedRun PlaceRun(record::RunFile file, const PlaceView& view) {
  PlacedRun run{{}, view, {}, SummarizeModels(file), TakeCensus(file.records)};
  run.view.words = WordsOf(file.context);
  run.file = std::move(file);
  run.places.reserve(run.file.records.size());
  for (auto& record : run.file.records) {
    record = Written(std::move(record));
    run.places.push_back(PlaceWritten(record, record::MachineFor(run.file, record), run.view));
  }
  return run;
}

const ClassicPoint* PointOf(const Placement& placement, Level level) {
  const auto found = std::ranges::find(placement.classic, level, &ClassicPoint::level);
  return found == placement.classic.end() ? nullptr : &*found;
}

const ClassicPoint* Binding(const Placement& placement) {
  const ClassicPoint* binding = nullptr;
  for (const auto& point : placement.classic)
    if (binding == nullptr || point.roof <= binding->roof) binding = &point;
  return binding;
}

std::string SpreadText(const record::Timing& timing) {
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

std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most) {
  const auto occurrences = Occurrences(run.file.context);
  std::vector<Opportunity> found;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& [timing, placement, ledger] = run.places[i];
    if (!timing || !placement.time || !placement.time->gap || *placement.time->gap <= 1) continue;
    const auto occurs = occurrences.find(run.file.records[i].name);
    const double count = occurs == occurrences.end() ? 1 : occurs->second;
    const double seconds = count * timing->median;
    found.push_back({i, count, seconds, seconds - seconds / *placement.time->gap});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Opportunity::above_roof_seconds);
  if (found.size() > most) found.resize(most);
  return found;
}

std::optional<breakdown::Ledger> LedgerOf(const record::Record& record, const Placement& placement,
                               const machine::Machine& machine, const PlaceView& view) {
  const auto* ceilings = machine::ForThreads(machine, record.threads);
  const bool gpu = record.device == "gpu";
  if ((!gpu && !record.parallel) || !placement.time || ceilings == nullptr) return std::nullopt;
  breakdown::LedgerFacts facts{.seconds = placement.time->seconds,
                    .roof_seconds = placement.time->compute_seconds,
                    .roof = "arithmetic",
                    .call_seconds = ceilings->launch_seconds,
                    .parallel = record.parallel.value_or(ParallelTime{})};
  std::optional<Level> binding;
  AddRoofs(placement, facts, binding);
  if (gpu) return breakdown::MakeGpuLedger(facts, record.kernels);
  MoveToHolder(record, machine, *ceilings, facts.levels);
  AddAlone(record, machine, view, binding, facts);
  facts.load_seconds = LoadSeconds(facts.parallel, *ceilings);
  return breakdown::MakeLedger(facts);
}

}  // namespace dlroof::roofline
