#include "reporters/roofline/chart.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr double kDefaultValue = 1;  // value of a key that a problem's text omits

using Parts = std::map<std::string, std::string, std::less<>>;

Parts PartsOf(std::string_view problem) {
  Parts parts;
  for (auto& part : ProblemParts(problem)) parts[part.key] = std::move(part.value);
  return parts;
}

std::optional<double> ValueOf(const Parts& parts, const SweepWord& word) {
  const auto* const text = FindValue(parts, word.key);
  return text == nullptr ? kDefaultValue : ParseNumber<double>(*text);
}

// Returns the key of a record's line. The records of a line have the same op, device, library,
// direction, type, `parts` of the problem, cache state, options and threads.
std::string GroupOf(const record::Record& record, const Parts& parts,
                    const std::vector<std::string>& options, const std::string& threads) {
  std::string group;
  for (const auto* text :
       {&record.op, &record.device, &record.library, &record.direction, &record.type})
    group.append(*text).append(1, '\n');
  group += fmt::format("{}\n{}\n{}\n", record.cache.value_or(""), fmt::join(options, "/"), threads);
  for (const auto& [key, value] : parts) group += fmt::format("{}={} ", key, value);
  return group;
}

// Returns the key of the record's line along `word`: without this parameter and the keys that
// follow it. If `strict`, the padding (_p) stays in the key.
std::string GroupOf(const record::Record& record, Parts parts, const SweepWord& word, bool strict) {
  parts.erase(word.key);
  for (const auto& key : Followers(word))
    if (!strict || key != "_p") parts.erase(key);
  return GroupOf(record, parts, record.options, std::to_string(record.threads.value_or(0)));
}

struct Candidate {
  std::size_t record;
  double value;
  std::string loose, strict;  // keys of its line (GroupOf) without and with the padding
};

const SweepWord* BatchWord(const record::Record& record, const OpVocabulary& words) {
  const auto* const op = FindValue(words, record.op);
  const auto is_batch = [](const SweepWord& word) { return word.name == "batch"; };
  return op == nullptr ? nullptr : FindIf(op->sweep, is_batch);
}

// Returns the lines through the records for which `candidate_of` returns a Candidate. Candidates
// with the same loose key are on one line unless two of them have the same value.
template <class CandidateOf>
std::vector<SweepLine> LinesOf(const PlacedRun& run, std::size_t least,
                               const CandidateOf& candidate_of) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (const auto& record = run.file.records[i]; !record.problem.empty())
      if (auto candidate = candidate_of(i, record)) candidates.push_back(std::move(*candidate));
  std::map<std::string, std::set<double>> values;
  std::set<std::string> twice;  // loose keys with two candidates of the same value
  for (const auto& candidate : candidates)
    if (!values[candidate.loose].insert(candidate.value).second) twice.insert(candidate.loose);
  text::InOrder<std::vector<const Candidate*>> groups;
  for (const auto& candidate : candidates)
    groups[twice.contains(candidate.loose) ? candidate.loose + "\n" + candidate.strict
                                           : candidate.loose]
        .push_back(&candidate);
  std::vector<SweepLine> lines;
  for (auto& [key, group] : groups.all) {
    std::ranges::stable_sort(group, {}, &Candidate::value);
    SweepLine line;
    for (const auto* candidate : group) {
      if (!line.values.empty() && line.values.back() == candidate->value) continue;
      line.records.push_back(candidate->record);
      line.values.push_back(candidate->value);
    }
    if (line.records.size() < least) continue;
    const auto& first = run.file.records[line.records.front()];
    line.series = fmt::format("{} {} {}", first.library, first.direction, first.type);
    lines.push_back(std::move(line));
  }
  return lines;
}

// Returns whether a logarithmic axis can show the number.
bool IsDrawable(double value) { return std::isfinite(value) && value > 0; }

Roof RoofOf(std::string_view key, const machine::Ceiling& ceiling) {
  return {std::string(key), ceiling.per_second, ceiling.IsValidated(), ceiling.IsSpecified(),
          ceiling.sustained_per_second};
}

RoofSet MakeSet(const machine::Machine& machine, const machine::CeilingSet& ceilings, int threads) {
  RoofSet set{.device = machine.device, .machine = machine.name, .threads = threads};
  for (const auto& [pipe, ceiling] : ceilings.flops) set.flops.push_back(RoofOf(pipe, ceiling));
  std::ranges::stable_sort(set.flops, std::ranges::greater{}, &Roof::per_second);
  for (const auto& [level, ceiling] : ceilings.bytes)
    set.bytes.push_back(RoofOf(Key(level), ceiling));
  set.launch_seconds = ceilings.launch_seconds;
  set.ridges = ceilings.ridges;
  // If the rate falls by more than noise while the intensity rises, another program slowed one of
  // the ridge's kernels, each of which was measured only once.
  const auto falls = [](const auto& point, const auto& next) {
    constexpr double kNoise = 0.05;  // [1]
    return next.flops_per_second < (1 - kNoise) * point.flops_per_second;
  };
  std::erase_if(set.ridges, [&](const auto& ridge) {
    return std::ranges::adjacent_find(ridge.second, falls) != ridge.second.end();
  });
  return set;
}

bool IsMeasured(const ClassicPoint& point) {
  return point.flops_from == Provenance::kMeasured && point.bytes_from == Provenance::kMeasured;
}

// Returns the name of the record's series. In runs that record::SideBySide joined it is the run's
// label and the type, because more series would exhaust the colours.
std::string ChartSeries(const record::Record& record) {
  if (const auto label = record::LabelOf(record))
    return std::string(*label) + (record.type.empty() ? "" : " " + record.type);
  if (record::IsKernelSum(record))
    return text::ShortKernelName(record::KernelNameOf(record).kernel);
  if (record.direction.empty()) return record.name;
  return record.op + " " + record.direction + " " + record.type;
}

std::optional<std::pair<double, double>> Coordinates(const TimePoint& time, Level level) {
  const auto x = FindCopy(time.memory_seconds, level);
  if (!x || !IsDrawable(*x) || !IsDrawable(time.compute_seconds)) return std::nullopt;
  return std::pair(*x, time.compute_seconds);
}

// Calls visit(index, record, placed) for the placed records that belong to `roofs`.
template <class Visit>
void EachPlaced(const PlacedRun& run, const RoofSet& roofs, const Visit& visit) {
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (BelongsTo(run.file.records[i], roofs) && !run.places[i].placement.classic.empty())
      visit(i, run.file.records[i], run.places[i]);
}

// Returns `level` or, if `or_nearer` and the placement has no point at `level`, its farthest level.
Level MarkLevel(const Placement& placement, Level level, bool or_nearer) {
  if (!or_nearer || placement.classic.empty() || PointOf(placement, level) != nullptr) return level;
  return std::ranges::max(placement.classic, {}, &ClassicPoint::level).level;
}

}  // namespace

std::vector<SweepLine> SweepLines(const PlacedRun& run, const SweepParameter& parameter,
                                  std::size_t least) {
  const auto& word = parameter.word;
  return LinesOf(run, least, [&](std::size_t i, const record::Record& record) {
    std::optional<Candidate> candidate;
    if (!run.places[i].placement.time || std::ranges::count(parameter.ops, record.op) == 0)
      return candidate;
    const auto parts = PartsOf(record.problem);
    if (const auto value = ValueOf(parts, word))
      candidate = {i, *value, GroupOf(record, parts, word, false),
                   GroupOf(record, parts, word, true)};
    return candidate;
  });
}

std::optional<double> BatchPerThread(const record::Record& record, const OpVocabulary& words) {
  const auto* word = BatchWord(record, words);
  if (word == nullptr || !record.threads) return std::nullopt;
  const auto batch = ValueOf(PartsOf(record.problem), *word);
  return batch ? std::optional(*batch / *record.threads) : std::nullopt;
}

std::vector<SweepLine> ThreadLines(const PlacedRun& run, std::size_t least, bool weak) {
  const auto words = WordsOf(run.file.context);
  return LinesOf(run, least, [&](std::size_t i, const record::Record& record) {
    std::optional<Candidate> candidate;
    const auto share = weak ? BatchPerThread(record, words) : std::nullopt;
    if (!record.threads || !run.places[i].timing || (weak && !share)) return candidate;
    auto parts = PartsOf(record.problem);
    if (share) parts.erase(BatchWord(record, words)->key);
    auto options = record.options;
    std::erase_if(options, [](const auto& option) { return option.starts_with("threads"); });
    auto group = GroupOf(record, parts, options, "");
    if (share) group += fmt::format("\n{} per thread", *share);
    candidate = {i, static_cast<double>(*record.threads), group, group};
    return candidate;
  });
}

std::vector<SweepLine> SweepLines(const PlacedRun& run, std::string_view name, std::size_t least) {
  const auto words = WordsOf(run.file.context);
  const auto names = SweepNames(words);
  if (std::ranges::count(names, name) == 0)
    throw BadInput("--sweep {}: no such parameter; there are {}", text::Printable(name),
                   fmt::join(names, ", "));
  std::vector<SweepLine> lines;
  for (const auto& parameter : SweepParameters(words))
    if (parameter.word.name == name)
      for (auto& line : SweepLines(run, parameter, least)) lines.push_back(std::move(line));
  return lines;
}

std::string_view RoofNote(const Roof& roof) {
  if (roof.specified) return " (specified, not measured)";
  return roof.validated ? "" : " (not validated)";
}

std::optional<Roof> SustainedOf(const Roof& roof) {
  if (!roof.sustained_per_second) return std::nullopt;
  return Roof{roof.key, *roof.sustained_per_second, roof.validated, roof.specified};
}

std::vector<RoofSet> RoofSets(const std::vector<machine::Machine>& machines) {
  std::vector<RoofSet> sets;
  for (const auto& machine : machines)
    for (auto set = machine.by_threads.rbegin(); set != machine.by_threads.rend(); ++set)
      sets.push_back(MakeSet(machine, set->second, set->first));
  return sets;
}

bool BelongsTo(const record::Record& record, const RoofSet& roofs) {
  return record.device == roofs.device && record.threads.value_or(roofs.threads) == roofs.threads;
}

std::optional<std::size_t> MainRoofSet(const PlacedRun& run, const std::vector<RoofSet>& sets) {
  std::optional<std::size_t> main;
  std::size_t most = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::size_t placed = 0;
    EachPlaced(run, sets[i], [&](auto&&...) { ++placed; });
    if (main && placed <= most) continue;
    most = placed;
    main = i;
  }
  return main;
}

std::set<std::string> PipesInUse(const PlacedRun& run, const RoofSet& roofs) {
  std::set<std::string> used, drawn;
  EachPlaced(run, roofs, [&](std::size_t, const record::Record& record, const Placed& placed) {
    const TimePoint& time = *placed.placement.time;
    for (const auto& [from, work] : record.work)
      for (const auto& [pipe, flops] : work.flops) {
        if (flops == 0) continue;
        const auto row = FindCopy(time.compute_roofs, pipe).value_or(pipe);
        used.insert(row);
        // With tensor_balance another pipe's roof is used; both roofs are then drawn.
        if (time.pipe_seconds.contains(pipe) && !row.starts_with(pipe)) used.insert(pipe);
      }
  });
  for (const Roof& roof : roofs.flops)
    if (used.contains(roof.key)) drawn.insert(roof.key);
  return drawn;
}

bool IsFinerPipe(std::string_view key) { return std::ranges::count(key, '.') > 1; }

std::string LevelName(std::string_view key) {
  std::string name(key);
  if (!LevelFromKey(key)) return name;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

double RidgeIntensity(const Roof& flat, const Roof& slanted) {
  return flat.per_second / slanted.per_second;
}

std::optional<Level> MainLevel(const PlacedRun& run, const RoofSet& roofs) {
  std::optional<Level> main;
  for (const auto& mark : ClassicMarks(run, roofs, Level::kDram, true))
    main = std::max(main, std::optional(mark.level));
  const bool has_dram = std::ranges::count(roofs.bytes, Key(Level::kDram), &Roof::key) > 0;
  return main && has_dram ? std::optional(Level::kDram) : main;
}

std::optional<std::pair<double, double>> RateInterval(const record::Timing& timing,
                                                      double flops_per_second) {
  if (!timing.ci95) return std::nullopt;
  const auto [low, high] = *timing.ci95;
  if (!(low > 0 && low <= timing.median && timing.median <= high)) return std::nullopt;
  return std::pair(flops_per_second * timing.median / high, flops_per_second * timing.median / low);
}

std::vector<ClassicMark> ClassicMarks(const PlacedRun& run, const RoofSet& roofs, Level asked,
                                      bool or_nearer) {
  std::vector<ClassicMark> marks;
  EachPlaced(run, roofs, [&](std::size_t i, const record::Record& record, const Placed& placed) {
    const auto level = MarkLevel(placed.placement, asked, or_nearer);
    const auto* point = PointOf(placed.placement, level);
    if (point == nullptr || !IsDrawable(point->intensity) || !IsDrawable(point->flops_per_second))
      return;
    marks.push_back({i, level, ChartSeries(record), point->intensity, point->flops_per_second,
                     IsMeasured(*point), RateInterval(*placed.timing, point->flops_per_second),
                     placed.timing->noisy});
  });
  return marks;
}

std::vector<double> PipesUntil(const TimePoint& time) {
  std::vector<double> until;
  double sum = 0;
  for (const auto& [pipe, seconds] : time.pipe_seconds) {
    sum += seconds;
    if (sum > 0) until.push_back(sum);
  }
  return until;
}

std::optional<std::pair<double, double>> TimePlace(const TimePoint& time, Level level) {
  const auto complexity = Coordinates(time, level);
  if (!complexity || !IsDrawable(time.seconds)) return std::nullopt;
  const double scale = time.seconds / std::max(complexity->first, complexity->second);
  return std::pair(complexity->first * scale, complexity->second * scale);
}

std::vector<TimeMark> TimeMarks(const PlacedRun& run, const RoofSet& roofs, Level asked,
                                bool or_nearer) {
  std::vector<TimeMark> marks;
  EachPlaced(run, roofs, [&](std::size_t i, const record::Record& record, const Placed& placed) {
    const TimePoint& time = *placed.placement.time;
    const auto level = MarkLevel(placed.placement, asked, or_nearer);
    const auto complexity = Coordinates(time, level);
    if (!complexity) return;
    const auto* point = PointOf(placed.placement, level);
    auto overhead = time.overhead_seconds;
    if (overhead && !IsDrawable(*overhead)) overhead.reset();
    marks.push_back({i, level, ChartSeries(record), point != nullptr && IsMeasured(*point),
                     *complexity, TimePlace(time, level), overhead, PipesUntil(time),
                     placed.timing->noisy,
                     std::ranges::count(time.not_validated_levels, level) > 0});
  });
  return marks;
}

}  // namespace dlroof::roofline
