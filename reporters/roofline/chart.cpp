#include "reporters/roofline/chart.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "reporters/text/json_access.h"

namespace dlroof {
namespace {

using nlohmann::json;

std::vector<Roof> RoofsOf(const json& ceilings) {
  std::vector<Roof> roofs;
  if (!ceilings.is_object()) return roofs;
  for (const auto& [key, ceiling] : ceilings.items()) {
    const auto per_second = Positive(ceiling, "per_second");
    if (per_second)
      roofs.push_back({key, *per_second, Member(ceiling, "proved") == true,
                       Positive(ceiling, "sustained_per_second")});
  }
  return roofs;
}

// Pairs [flop/byte, flop/s] of one level; what cannot stand on logarithmic axes is left out.
std::vector<RidgePoint> RidgeOf(const json& pairs) {
  std::vector<RidgePoint> ridge;
  const auto positive = [](const json& value) {
    return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
  };
  if (!pairs.is_array()) return ridge;
  for (const auto& pair : pairs)
    if (pair.is_array() && pair.size() == 2 && positive(pair[0]) && positive(pair[1]))
      ridge.push_back({pair[0].get<double>(), pair[1].get<double>()});
  std::stable_sort(ridge.begin(), ridge.end(), [](const RidgePoint& a, const RidgePoint& b) {
    return a.intensity < b.intensity;
  });
  return ridge;
}

RoofSet MakeSet(const json& machine, const json& ceilings, int threads) {
  RoofSet set;
  set.device = Text(machine, "device");
  set.machine = Text(machine, "name");
  set.threads = threads;
  set.flops = RoofsOf(Member(ceilings, "flops"));
  std::stable_sort(set.flops.begin(), set.flops.end(),
                   [](const Roof& a, const Roof& b) { return a.per_second > b.per_second; });
  const auto bytes = RoofsOf(Member(ceilings, "bytes"));
  for (const Level level : AllLevels())
    for (const Roof& roof : bytes)
      if (roof.key == Key(level)) set.bytes.push_back(roof);
  set.launch_seconds = Positive(ceilings, "launch_seconds");
  for (const Level level : AllLevels()) {
    auto ridge = RidgeOf(Member(Member(ceilings, "ridges"), std::string(Key(level)).c_str()));
    if (!ridge.empty()) set.ridges[level] = std::move(ridge);
  }
  return set;
}

// Threads of a set that is not filed under them: those of any of its ceilings.
int ThreadsOf(const json& ceilings) {
  for (const char* kind : {"flops", "bytes"}) {
    const auto& rows = Member(ceilings, kind);
    if (!rows.is_object()) continue;
    for (const auto& row : rows)
      if (const auto threads = Positive(row, "threads")) return static_cast<int>(*threads);
  }
  return 0;
}

const json& Records(const json& run_file) {
  static const json none = json::array();
  const auto& records = Member(run_file, "records");
  return records.is_array() ? records : none;
}

// The record's classic entry of this level, null where there is none.
const json& ClassicEntry(const json& record, Level level) {
  static const json null;
  const auto& entries = Member(record, "classic");
  if (!entries.is_array()) return null;
  for (const auto& entry : entries)
    if (Text(entry, "level") == Key(level)) return entry;
  return null;
}

bool IsMeasured(const json& entry) {
  return Text(entry, "flops_from") == "measured" && Text(entry, "bytes_from") == "measured";
}

std::string SeriesOf(const json& record) {
  const auto direction = Text(record, "direction");
  if (direction.empty()) return Text(record, "name");
  return Text(record, "op") + " " + direction + " " + Text(record, "type");
}

std::optional<std::pair<double, double>> Coordinates(const json& time, Level level) {
  const auto x = Positive(Member(time, "memory_seconds"), std::string(Key(level)).c_str());
  const auto y = Positive(time, "compute_seconds");
  if (!x || !y) return std::nullopt;
  return std::pair(*x, *y);
}

bool IsUnproved(const json& time, Level level) {
  const auto& levels = Member(time, "unproved_levels");
  return levels.is_array() && std::find(levels.begin(), levels.end(), Key(level)) != levels.end();
}

}  // namespace

std::optional<Roof> SustainedOf(const Roof& roof) {
  if (!roof.sustained_per_second) return std::nullopt;
  return Roof{roof.key, *roof.sustained_per_second, roof.proved};
}

std::vector<MeasuredSet> MeasuredSets(const json& machine) {
  const auto& by_threads = Member(machine, "by_threads");
  std::map<int, const json*, std::greater<>> found;
  if (by_threads.is_object()) {
    for (const auto& [key, ceilings] : by_threads.items()) {
      const int threads = std::atoi(key.c_str());
      if (threads > 0) found[threads] = &ceilings;
    }
  }
  if (found.empty()) found[ThreadsOf(machine)] = &machine;
  std::vector<MeasuredSet> sets;
  sets.reserve(found.size());
  for (const auto& [threads, ceilings] : found) sets.push_back({threads, ceilings});
  return sets;
}

std::vector<RoofSet> RoofSets(const json& run_file) {
  std::vector<RoofSet> sets;
  const auto& machines = Member(run_file, "machines");
  if (!machines.is_array()) return sets;
  for (const auto& machine : machines)
    if (machine.is_object())
      for (const auto& [threads, ceilings] : MeasuredSets(machine))
        sets.push_back(MakeSet(machine, *ceilings, threads));
  return sets;
}

bool BelongsTo(const json& record, const RoofSet& roofs) {
  const auto threads = Positive(record, "threads");
  return Text(record, "device") == roofs.device && (!threads || *threads == roofs.threads);
}

std::optional<std::size_t> MainRoofSet(const json& run_file, const std::vector<RoofSet>& sets) {
  std::optional<std::size_t> main;
  std::ptrdiff_t most = -1;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto& records = Records(run_file);
    const auto placed = std::count_if(records.begin(), records.end(), [&](const json& record) {
      return BelongsTo(record, sets[i]) && Member(record, "classic").is_array();
    });
    if (placed <= most) continue;
    most = placed;
    main = i;
  }
  return main;
}

namespace {

// The pipe has a time at its own ceiling while another one judges its FLOPs.
bool Judges(const json& record, const std::string& pipe) {
  const auto& time = Member(record, "time");
  const auto row = Text(Member(time, "compute_roofs"), pipe.c_str());
  return Positive(Member(time, "pipe_seconds"), pipe.c_str()) && !row.starts_with(pipe);
}

}  // namespace

std::set<std::string> PipesInUse(const json& run_file, const RoofSet& roofs) {
  std::set<std::string> used, drawn;
  for (const auto& record : Records(run_file)) {
    if (!BelongsTo(record, roofs) || !Member(record, "classic").is_array()) continue;
    for (const auto& work : Member(record, "work"))
      for (const auto& [pipe, flops] : Member(work, "flops").items()) {
        if (flops == 0) continue;
        if (Judges(record, pipe)) used.insert(pipe);
        const auto row = Text(Member(Member(record, "time"), "compute_roofs"), pipe.c_str());
        used.insert(row.empty() ? pipe : row);
      }
  }
  for (const Roof& roof : roofs.flops)
    if (used.count(roof.key) > 0) drawn.insert(roof.key);
  return drawn;
}

bool IsFinerPipe(std::string_view key) { return std::count(key.begin(), key.end(), '.') > 1; }

std::string LevelName(std::string_view key) {
  std::string name(key);
  if (!LevelFromKey(key)) return name;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

double RidgeIntensity(const Roof& flat, const Roof& slanted) {
  return flat.per_second / slanted.per_second;
}

std::optional<Level> MainLevel(const json& run_file, const RoofSet& roofs) {
  std::optional<Level> main;
  std::size_t most = 0;
  for (const Level level : AllLevels()) {
    const auto marks = ClassicMarks(run_file, roofs, level).size();
    if (marks == 0 || marks < most) continue;
    most = marks;
    main = level;
  }
  return main;
}

std::optional<std::pair<double, double>> RateInterval(const json& record, double flops_per_second) {
  const auto& seconds = Member(record, "seconds");
  const auto median = Positive(seconds, "median");
  const auto& ci95 = Member(seconds, "ci95");
  if (!median || !ci95.is_array() || ci95.size() != 2 || !ci95[0].is_number() ||
      !ci95[1].is_number())
    return std::nullopt;
  const double low = ci95[0].get<double>(), high = ci95[1].get<double>();
  if (!(low > 0 && low <= *median && *median <= high)) return std::nullopt;
  return std::pair(flops_per_second * *median / high, flops_per_second * *median / low);
}

std::vector<ClassicMark> ClassicMarks(const json& run_file, const RoofSet& roofs, Level level) {
  std::vector<ClassicMark> marks;
  const auto& records = Records(run_file);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!BelongsTo(records[i], roofs)) continue;
    const auto& entry = ClassicEntry(records[i], level);
    const auto intensity = Positive(entry, "intensity");
    const auto rate = Positive(entry, "flops_per_second");
    if (!intensity || !rate) continue;
    marks.push_back({i, SeriesOf(records[i]), *intensity, *rate, IsMeasured(entry),
                     RateInterval(records[i], *rate)});
  }
  return marks;
}

std::vector<double> PipesUntil(const json& time) {
  std::vector<double> until;
  const auto& pipes = Member(time, "pipe_seconds");
  if (!pipes.is_object()) return until;
  double sum = 0;
  for (const auto& [pipe, seconds] : pipes.items()) {
    sum += Positive(pipes, pipe.c_str()).value_or(0);
    if (sum > 0) until.push_back(sum);
  }
  return until;
}

std::optional<std::pair<double, double>> TimePlace(const json& time, Level level) {
  const auto complexity = Coordinates(time, level);
  const auto seconds = Positive(time, "seconds");
  if (!complexity || !seconds || !Positive(time, "gap") || IsUnproved(time, level))
    return std::nullopt;
  const double scale = *seconds / std::max(complexity->first, complexity->second);
  return std::pair(complexity->first * scale, complexity->second * scale);
}

std::vector<TimeMark> TimeMarks(const json& run_file, const RoofSet& roofs, Level level) {
  std::vector<TimeMark> marks;
  const auto& records = Records(run_file);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!BelongsTo(records[i], roofs)) continue;
    const auto& time = Member(records[i], "time");
    const auto complexity = Coordinates(time, level);
    if (!complexity) continue;
    marks.push_back({i, SeriesOf(records[i]), IsMeasured(ClassicEntry(records[i], level)),
                     *complexity, TimePlace(time, level), Positive(time, "overhead_seconds"),
                     PipesUntil(time)});
  }
  return marks;
}

}  // namespace dlroof
