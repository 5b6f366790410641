#include "baselines/programs/program_summary.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "baselines/programs/steps.h"
#include "counters/base/numbers.h"
#include "reporters/record/run_file.h"

namespace dlroof::programs {
namespace {

// Returns the `share` quantile of sorted values: the value with the nearest rank.
double Quantile(const std::vector<double>& rising, double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(rising.size() - 1) + 0.5);
  return rising[rank];
}

CallTimes TimesOf(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {seconds.front(), Quantile(seconds, 0.25), MedianOfSorted(seconds),
          Quantile(seconds, 0.75), seconds.back()};
}

std::vector<ProgramPrimitive> PrimitivesOf(const verbose::VerboseLog& log,
                                           const std::vector<double>& call_seconds) {
  std::vector<std::vector<double>> seconds(log.primitives.size());
  for (std::size_t i = 0; i < log.executions.size(); ++i)
    seconds[log.executions[i].primitive].push_back(call_seconds[i]);
  std::vector<ProgramPrimitive> primitives;
  for (std::size_t i = 0; i < log.primitives.size(); ++i) {
    ProgramPrimitive primitive{.text = log.primitives[i]};
    primitive.calls = static_cast<double>(seconds[i].size());
    for (const double one : seconds[i]) primitive.seconds += one;
    primitive.times = TimesOf(std::move(seconds[i]));
    const auto work = verbose::WorkOf(verbose::ReadPrimitive(primitive.text));
    primitive.moves_data = verbose::HasNoFlops(work);
    primitive.work_unknown = work.reason;
    primitives.push_back(std::move(primitive));
  }
  return primitives;
}

// [1] A first step whose wall time is this many times the median is part of the warm-up.
constexpr double kWarmUp = 1.5;
// A later step is an outlier if its wall time differs from the median by this many standard
// deviations (estimated by the median distance from the median) and by this share of the median.
constexpr double kOutlier = 3.5, kOutlierShare = 0.25;

double WallOf(const StepRange& range) {
  return range.begin_seconds && range.end_seconds ? *range.end_seconds - *range.begin_seconds : 0;
}

std::vector<double> WallsOf(const std::vector<StepRange>& ranges) {
  std::vector<double> walls;
  for (const auto& range : ranges)
    if (WallOf(range) > 0) walls.push_back(WallOf(range));
  return walls;
}

// Removes the first steps that belong to the warm-up, but leaves at least two steps. Returns their
// number.
int LeaveOutWarmUp(std::vector<StepRange>& ranges) {
  const auto walls = WallsOf(ranges);
  if (walls.size() < 3) return 0;
  const double most = kWarmUp * Median(walls);
  std::size_t slow = 0;
  while (slow + 2 < ranges.size() && WallOf(ranges[slow]) > most) ++slow;
  ranges.erase(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(slow));
  return static_cast<int>(slow);
}

// Returns the steps over which means are computed: those with wall times but outliers, or all if
// none has a wall time. Counts the outliers.
std::vector<StepRange> AveragedSteps(const Steps& steps, int& outliers) {
  constexpr double kNormal = 1.4826;  // [1] standard deviation / median distance from the median
  const auto walls = WallsOf(steps.ranges);
  if (walls.empty()) return steps.ranges;
  const double median = Median(walls);
  std::vector<double> distances;
  for (const double wall : walls) distances.push_back(std::abs(wall - median));
  const double most = std::max(kOutlier * kNormal * Median(distances), kOutlierShare * median);
  std::vector<StepRange> timed;
  for (const auto& range : steps.ranges) {
    if (!(WallOf(range) > 0)) continue;
    if (walls.size() >= 3 && std::abs(WallOf(range) - median) > most)
      ++outliers;
    else
      timed.push_back(range);
  }
  return timed;
}

void AddWallTimes(const std::vector<StepRange>& averaged, ProgramSteps& steps) {
  auto walls = WallsOf(averaged);
  if (walls.empty()) return;
  steps.timed = static_cast<int>(walls.size());
  double sum = 0;
  for (const double wall : walls) sum += wall;
  steps.wall_seconds = sum / static_cast<double>(walls.size());
  std::ranges::sort(walls);
  steps.least_wall_seconds = walls.front();
  steps.median_wall_seconds = MedianOfSorted(walls);
  steps.most_wall_seconds = walls.back();
  if (const auto interval = MedianInterval95OfSorted(walls)) {
    steps.median_low_seconds = interval->first;
    steps.median_high_seconds = interval->second;
  }
}

bool IsMain(const verbose::VerboseLog& log, std::size_t execution) {
  return log.executions[execution].process == log.main_process;
}

// Begins of a step's phases: `backward` is the first backward call, `update` follows the last.
struct PhaseBounds {
  std::size_t begin, backward, update, end;
};

std::optional<PhaseBounds> BoundsOf(const verbose::VerboseLog& log, const StepRange& range) {
  PhaseBounds bounds{range.begin, range.end, range.end, range.end};
  bool found = false;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const auto& text = log.primitives[log.executions[i].primitive];
    if (!IsMain(log, i) || !text.prop.starts_with("backward")) continue;
    if (!found) bounds.backward = i;
    found = true;
    bounds.update = i + 1;
  }
  if (!found) return std::nullopt;
  return bounds;
}

std::optional<double> StartOf(const verbose::VerboseLog& log, std::size_t i,
                              const StepRange& range) {
  if (i == range.begin) return range.begin_seconds;
  if (i >= range.end) return range.end_seconds;
  return log.executions[i].start_seconds;
}

void AddPhase(const verbose::VerboseLog& log, const Timeline& timeline, const StepRange& range,
              std::size_t begin, std::size_t end, double weight, ProgramPhase& phase) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!IsMain(log, i)) continue;
    phase.calls += weight;
    phase.seconds += weight * timeline.executions[i];
  }
  const auto from = StartOf(log, begin, range);
  const auto to = StartOf(log, end, range);
  if (!from || !to)
    phase.wall_seconds.reset();
  else if (phase.wall_seconds)
    *phase.wall_seconds += weight * (*to - *from);
}

std::vector<ProgramPhase> PhasesOf(const verbose::VerboseLog& log, const Timeline& timeline,
                                   const std::vector<StepRange>& averaged) {
  std::vector<ProgramPhase> phases = {{.name = "forward", .wall_seconds = 0},
                                      {.name = "backward", .wall_seconds = 0},
                                      {.name = "update", .wall_seconds = 0}};
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(averaged.size(), 1));
  for (const auto& range : averaged) {
    const auto bounds = BoundsOf(log, range);
    if (!bounds) return {};
    AddPhase(log, timeline, range, bounds->begin, bounds->backward, weight, phases[0]);
    AddPhase(log, timeline, range, bounds->backward, bounds->update, weight, phases[1]);
    AddPhase(log, timeline, range, bounds->update, bounds->end, weight, phases[2]);
  }
  return averaged.empty() ? std::vector<ProgramPhase>() : phases;
}

// Sets each primitive's mean calls and time per step, and the mean creations per step.
void AddStepMeans(const verbose::VerboseLog& log, const Timeline& timeline,
                  const std::vector<StepRange>& averaged, ProgramSummary& summary) {
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(averaged.size(), 1));
  auto& steps = summary.steps;
  for (const auto& range : averaged) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (!IsMain(log, i)) continue;
      steps.primitives += weight;
      auto& primitive = summary.primitives[log.executions[i].primitive];
      primitive.step_calls += weight;
      primitive.step_seconds += weight * timeline.executions[i];
    }
    for (std::size_t i = 0; i < log.creations.size(); ++i) {
      const auto& creation = log.creations[i];
      if (creation.before < range.begin || creation.before >= range.end ||
          creation.process != log.main_process)
        continue;
      steps.creation_seconds += weight * timeline.creations[i];
      (creation.hit ? steps.creation_hits : steps.creation_misses) += weight;
    }
  }
}

void AddSteps(const verbose::VerboseLog& log, const Timeline& timeline, std::optional<int> count,
              ProgramSummary& summary) {
  Steps found = StepsOf(log, count);
  auto& steps = summary.steps;
  steps.warm_up_steps = LeaveOutWarmUp(found.ranges);
  steps.from = found.from;
  steps.reason = found.reason;
  steps.count = static_cast<int>(found.ranges.size());
  if (found.ranges.empty()) return;
  const auto first = found.ranges.front().begin;
  for (std::size_t i = 0; i < first; ++i) {
    if (!IsMain(log, i)) continue;
    ++steps.warm_up_calls;
    steps.warm_up_seconds += log.executions[i].seconds;
  }
  const auto averaged = AveragedSteps(found, steps.outliers);
  AddWallTimes(averaged, steps);
  AddStepMeans(log, timeline, averaged, summary);
  steps.phases = PhasesOf(log, timeline, averaged);
}

std::vector<ProgramProcess> ProcessesOf(const verbose::VerboseLog& log,
                                        const std::vector<double>& call_seconds) {
  std::vector<ProgramProcess> processes(log.processes.size());
  const auto threads = ThreadsOf(log);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i].id = log.processes[i].id;
    processes[i].main = i == log.main_process;
  }
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    const auto& execution = log.executions[i];
    auto& process = processes[execution.process];
    ++process.calls;
    process.seconds += call_seconds[i];
    if (execution.start_seconds)
      process.threads = std::max(process.threads, static_cast<int>(threads[i]) + 1);
  }
  std::erase_if(processes, [](const ProgramProcess& one) { return one.calls == 0; });
  return processes;
}

// context.dlroof.program of a run file: Writer and Reader use the same lists of members.

using nlohmann::json;

// Writes members of a structure into an object.
class Writer {
 public:
  explicit Writer(json& object) : object_(object) {}

  void operator()(const char* key, const std::string& text) {
    if (!text.empty()) object_[key] = text;
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(const char* key, T number) {
    if (number != T{}) object_[key] = number;
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) object_[key] = *value;
  }
  void operator()(const char* key, const std::optional<Reason>& reason) {
    if (reason) object_[key] = reason->text;
  }

 private:
  json& object_;
};

// Reads members from an object; a missing one or one of another type remains unchanged.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {}

  void operator()(const char* key, std::string& text) { text = record::Text(object_, key); }
  void operator()(const char* key, double& number) {
    if (const auto& value = record::Member(object_, key); value.is_number())
      number = value.get<double>();
  }
  template <std::integral T>
  void operator()(const char* key, T& number) {
    constexpr double kMost = 2147483647;
    const auto& value = record::Member(object_, key);
    if (!value.is_number()) return;
    const auto real = value.get<double>();
    if (real >= 0 && real <= kMost) number = static_cast<T>(real);
  }
  void operator()(const char* key, bool& flag) {
    if (const auto& value = record::Member(object_, key); value.is_boolean())
      flag = value.get<bool>();
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (const auto& found = record::Member(object_, key); found.is_number()) {
      T read{};
      (*this)(key, read);
      value = read;
    }
  }
  void operator()(const char* key, std::optional<Reason>& reason) {
    if (auto text = record::Text(object_, key); !text.empty()) reason = Reason{std::move(text)};
  }

 private:
  const json& object_;
};

// The lists of members and their JSON keys; `visit` is a Writer or a Reader.
void VisitText(auto& visit, auto& text) {
  visit("engine", text.engine);
  visit("kind", text.kind);
  visit("implementation", text.implementation);
  visit("prop_kind", text.prop);
  visit("memory_descriptors", text.tensors);
  visit("attributes", text.attributes);
  visit("auxiliary", text.auxiliary);
  visit("problem", text.problem);
}

void VisitPrimitive(auto& visit, auto& one) {
  visit("record", one.record);
  visit("operator", one.is_operator);
  VisitText(visit, one.text);
  visit("calls", one.calls);
  visit("seconds", one.seconds);
  visit("least_seconds", one.times.least);
  visit("lower_quarter_seconds", one.times.lower_quarter);
  visit("median_seconds", one.times.median);
  visit("upper_quarter_seconds", one.times.upper_quarter);
  visit("most_seconds", one.times.most);
  visit("moves", one.moves_data);
  visit("no_work", one.work_unknown);
  visit("step_calls", one.step_calls);
  visit("step_seconds", one.step_seconds);
  visit("benchmark", one.benchmark);
  visit("benchdnn", one.repro);
  visit("not_alone", one.not_replayed);
}

void VisitStandalone(auto& visit, auto& standalone) {
  visit("seconds", standalone.seconds);
  visit("disturbed", standalone.noisy);
  visit("cold_seconds", standalone.cold_seconds);
  visit("program_seconds", standalone.program_seconds);
  visit("ratio", standalone.ratio);
  visit("implementation", standalone.implementation);
}

constexpr std::pair<const char*, std::optional<std::pair<double, double>> StandaloneTime::*>
    kIntervals[] = {{"ci95", &StandaloneTime::ci95},
                    {"program_ci95", &StandaloneTime::program_ci95},
                    {"ratio_ci95", &StandaloneTime::ratio_ci95}};

void VisitSteps(auto& visit, auto& steps) {
  visit("reason", steps.reason);
  visit("count", steps.count);
  visit("warm_up_steps", steps.warm_up_steps);
  visit("outliers", steps.outliers);
  visit("median_low_seconds", steps.median_low_seconds);
  visit("median_high_seconds", steps.median_high_seconds);
  visit("primitives", steps.primitives);
  visit("warm_up_calls", steps.warm_up_calls);
  visit("warm_up_seconds", steps.warm_up_seconds);
  visit("timed", steps.timed);
  visit("wall_seconds", steps.wall_seconds);
  visit("least_wall_seconds", steps.least_wall_seconds);
  visit("median_wall_seconds", steps.median_wall_seconds);
  visit("most_wall_seconds", steps.most_wall_seconds);
  visit("creation_seconds", steps.creation_seconds);
  visit("creation_hits", steps.creation_hits);
  visit("creation_misses", steps.creation_misses);
}

void VisitPhase(auto& visit, auto& phase) {
  visit("name", phase.name);
  visit("calls", phase.calls);
  visit("seconds", phase.seconds);
  visit("wall_seconds", phase.wall_seconds);
}

void VisitProcess(auto& visit, auto& process) {
  visit("id", process.id);
  visit("main", process.main);
  visit("calls", process.calls);
  visit("seconds", process.seconds);
  visit("threads", process.threads);
}

void VisitLines(auto& visit, auto& lines) {
  visit("all", lines.all);
  visit("verbose", lines.verbose);
  visit("information", lines.information);
  visit("executed", lines.executed);
  visit("used", lines.used);
  visit("created", lines.created);
  visit("dispatch", lines.dispatch);
  visit("graph", lines.graph);
}

void VisitRefused(auto& visit, auto& refused) {
  visit("reason", refused.reason);
  visit("count", refused.count);
  visit("first_line", refused.first_line);
}

void VisitSummary(auto& visit, auto& summary) {
  visit("log", summary.log);
  visit("command", summary.command);
  visit("wall_seconds", summary.wall_seconds);
  visit("version", summary.version);
  visit("runtime", summary.runtime);
  visit("isa", summary.isa_words);
  visit("threads", summary.threads);
  visit("alone_version", summary.standalone_version);
  visit("seconds", summary.seconds);
  visit("covered_seconds", summary.covered_seconds);
  visit("creation_hits", summary.creation_hits);
  visit("creation_misses", summary.creation_misses);
  visit("creation_seconds", summary.creation_seconds);
  visit("line_seconds", summary.line_seconds);
}

// Calls read(element) for each element of an array member.
template <class Read>
void Each(const json& object, const char* key, const Read& read) {
  const auto& list = record::Member(object, key);
  if (!list.is_array()) return;
  for (const auto& element : list) read(element);
}

// Reads a StandaloneTime. Returns nothing if its times are missing.
std::optional<StandaloneTime> StandaloneFrom(const json& object) {
  StandaloneTime standalone;
  Reader reader(object);
  VisitStandalone(reader, standalone);
  for (const auto& [key, member] : kIntervals) {
    const auto& ends = record::Member(object, key);
    if (ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number())
      standalone.*member = {ends[0].get<double>(), ends[1].get<double>()};
  }
  const auto& checks = record::Member(object, "checks");
  if (checks.is_array())
    for (const auto& check : checks) {
      const auto& seconds = record::Member(check, "seconds");
      if (seconds.is_number() && seconds.get<double>() > 0)
        standalone.checks.push_back({record::Text(check, "condition"), seconds.get<double>()});
    }
  if (!(standalone.seconds > 0) || !(standalone.program_seconds > 0) || !(standalone.ratio > 0))
    return std::nullopt;
  return standalone;
}

json ToJson(const StandaloneTime& standalone) {
  json object = json::object();
  Writer writer(object);
  VisitStandalone(writer, standalone);
  for (const auto& [key, member] : kIntervals)
    if (const auto& ci95 = standalone.*member) object[key] = {ci95->first, ci95->second};
  for (const auto& check : standalone.checks)
    object["checks"].push_back({{"condition", check.condition}, {"seconds", check.seconds}});
  return object;
}

ProgramPrimitive PrimitiveFrom(const json& object) {
  ProgramPrimitive primitive;
  Reader reader(object);
  VisitPrimitive(reader, primitive);
  primitive.standalone = StandaloneFrom(record::Member(object, "alone"));
  const auto& others = record::Member(object, "others");
  if (others.is_object())
    for (const auto& [name, text] : others.items())
      if (text.is_string()) primitive.text.others.emplace_back(name, text.get<std::string>());
  return primitive;
}

json ToJson(const ProgramPrimitive& primitive) {
  json object = json::object();
  Writer writer(object);
  VisitPrimitive(writer, primitive);
  if (primitive.standalone) object["alone"] = ToJson(*primitive.standalone);
  for (const auto& [name, text] : primitive.text.others) object["others"][name] = text;
  return object;
}

json ToJson(const ProgramSteps& steps) {
  json object = {{"from", Key(steps.from)}};
  Writer writer(object);
  VisitSteps(writer, steps);
  for (const auto& phase : steps.phases) {
    Writer phase_writer(object["phases"].emplace_back(json::object()));
    VisitPhase(phase_writer, phase);
  }
  return object;
}

ProgramSteps ReadSteps(const json& object) {
  ProgramSteps steps;
  Reader reader(object);
  VisitSteps(reader, steps);
  steps.from = StepsFromKey(record::Text(object, "from")).value_or(StepsFrom::kNone);
  Each(object, "phases", [&](const json& element) {
    Reader phase_reader(element);
    VisitPhase(phase_reader, steps.phases.emplace_back());
  });
  return steps;
}

}  // namespace

ProgramSummary SummarizeProgram(const verbose::VerboseLog& log, std::optional<int> steps) {
  ProgramSummary summary{.version = log.version,
                         .runtime = log.runtime,
                         .isa_words = log.isa_words,
                         .threads = log.threads,
                         .lines = log.lines};
  const auto timeline = TimelineOf(log);
  const auto call_seconds = CallSeconds(log, timeline);
  summary.primitives = PrimitivesOf(log, call_seconds);
  summary.processes = ProcessesOf(log, call_seconds);
  double covered = 0;
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    summary.seconds += call_seconds[i];
    if (IsMain(log, i)) covered += timeline.executions[i];
  }
  if (timeline.stamped) summary.covered_seconds = covered;
  for (const auto& creation : log.creations) {
    (creation.hit ? summary.creation_hits : summary.creation_misses) += 1;
    summary.creation_seconds += creation.seconds;
  }
  AddSteps(log, timeline, steps, summary);
  return summary;
}

json ToJson(const ProgramSummary& summary) {
  json object = json::object();
  Writer writer(object);
  VisitSummary(writer, summary);
  Writer lines(object["lines"] = json::object());
  VisitLines(lines, summary.lines);
  for (const auto& refused : summary.lines.refused) {
    Writer row(object["lines"]["refused"].emplace_back(json::object()));
    VisitRefused(row, refused);
  }
  for (const auto& process : summary.processes) {
    Writer row(object["processes"].emplace_back(json::object()));
    VisitProcess(row, process);
  }
  object["primitives"] = json::array();
  for (const auto& primitive : summary.primitives)
    object["primitives"].push_back(ToJson(primitive));
  object["steps"] = ToJson(summary.steps);
  if (summary.traced) object["traced"] = ToJson(*summary.traced);
  if (summary.outside_times) object["outside_times"] = ToJson(*summary.outside_times);
  return object;
}

std::optional<ProgramSummary> ProgramOf(const json& context) {
  const auto& object = record::Member(record::Member(context, "dlroof"), "program");
  if (!object.is_object()) return std::nullopt;
  ProgramSummary summary;
  Reader reader(object);
  VisitSummary(reader, summary);
  const auto& lines = record::Member(object, "lines");
  Reader line_reader(lines);
  VisitLines(line_reader, summary.lines);
  Each(lines, "refused", [&](const json& element) {
    Reader row(element);
    VisitRefused(row, summary.lines.refused.emplace_back());
  });
  Each(object, "processes", [&](const json& element) {
    Reader row(element);
    VisitProcess(row, summary.processes.emplace_back());
  });
  Each(object, "primitives",
       [&](const json& element) { summary.primitives.push_back(PrimitiveFrom(element)); });
  summary.steps = ReadSteps(record::Member(object, "steps"));
  summary.traced = TracedProgramFrom(record::Member(object, "traced"));
  summary.outside_times = OutsideTimesFrom(record::Member(object, "outside_times"));
  return summary;
}

}  // namespace dlroof::programs
