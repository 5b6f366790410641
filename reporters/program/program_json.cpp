// context.dlroof.program of a run file (program_summary.h): written and read by the same rows.
#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "reporters/program/program_summary.h"
#include "reporters/record/context.h"

namespace dlroof::programs {
namespace {

using nlohmann::json;

// Puts members of a structure into an object.
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

 private:
  json& object_;
};

// Takes them out again; what is missing or of another type keeps its value.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {}

  void operator()(const char* key, std::string& text) { text = record::Text(object_, key); }
  void operator()(const char* key, double& number) {
    if (const auto& value = record::Member(object_, key); value.is_number()) number = value.get<double>();
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
    if (const auto& value = record::Member(object_, key); value.is_boolean()) flag = value.get<bool>();
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (const auto& found = record::Member(object_, key); found.is_number()) {
      T read{};
      (*this)(key, read);
      value = read;
    }
  }

 private:
  const json& object_;
};

// Each structure's members and their keys.
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
  VisitText(visit, one.text);
  visit("calls", one.calls);
  visit("seconds", one.seconds);
  visit("least_seconds", one.times.least);
  visit("lower_quarter_seconds", one.times.lower_quarter);
  visit("median_seconds", one.times.median);
  visit("upper_quarter_seconds", one.times.upper_quarter);
  visit("most_seconds", one.times.most);
  visit("moves", one.moves);
  visit("no_work", one.no_work);
  visit("step_calls", one.step_calls);
  visit("step_seconds", one.step_seconds);
  visit("benchmark", one.benchmark);
  visit("benchdnn", one.repro);
  visit("not_alone", one.not_alone);
}

void VisitAlone(auto& visit, auto& alone) {
  visit("seconds", alone.seconds);
  visit("disturbed", alone.disturbed);
  visit("cold_seconds", alone.cold_seconds);
  visit("program_seconds", alone.program_seconds);
  visit("ratio", alone.ratio);
  visit("implementation", alone.implementation);
}

constexpr std::pair<const char*, std::optional<std::pair<double, double>> AloneTime::*>
    kAloneIntervals[] = {{"ci95", &AloneTime::ci95},
                         {"program_ci95", &AloneTime::program_ci95},
                         {"ratio_ci95", &AloneTime::ratio_ci95}};

void VisitSteps(auto& visit, auto& steps) {
  visit("reason", steps.reason);
  visit("count", steps.count);
  visit("irregular", steps.irregular);
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
  visit("alone_version", summary.alone_version);
  visit("seconds", summary.seconds);
  visit("covered_seconds", summary.covered_seconds);
  visit("creation_hits", summary.creation_hits);
  visit("creation_misses", summary.creation_misses);
  visit("creation_seconds", summary.creation_seconds);
}

// Calls read(element) for each element of an array member.
template <class Read>
void Each(const json& object, const char* key, const Read& read) {
  const auto& list = record::Member(object, key);
  if (!list.is_array()) return;
  for (const auto& element : list) read(element);
}

// Without a time there is none.
std::optional<AloneTime> AloneFrom(const json& object) {
  AloneTime alone;
  Reader reader(object);
  VisitAlone(reader, alone);
  for (const auto& [key, member] : kAloneIntervals) {
    const auto& ends = record::Member(object, key);
    if (ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number())
      alone.*member = {ends[0].get<double>(), ends[1].get<double>()};
  }
  if (!(alone.seconds > 0) || !(alone.program_seconds > 0) || !(alone.ratio > 0))
    return std::nullopt;
  return alone;
}

json ToJson(const AloneTime& alone) {
  json object = json::object();
  Writer writer(object);
  VisitAlone(writer, alone);
  for (const auto& [key, member] : kAloneIntervals)
    if (alone.*member) object[key] = {(alone.*member)->first, (alone.*member)->second};
  return object;
}

ProgramPrimitive PrimitiveFrom(const json& object) {
  ProgramPrimitive primitive;
  Reader reader(object);
  VisitPrimitive(reader, primitive);
  primitive.alone = AloneFrom(record::Member(object, "alone"));
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
  if (primitive.alone) object["alone"] = ToJson(*primitive.alone);
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
  object["primitives"] = json::array();
  for (const auto& primitive : summary.primitives)
    object["primitives"].push_back(ToJson(primitive));
  object["steps"] = ToJson(summary.steps);
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
  Each(object, "primitives",
       [&](const json& element) { summary.primitives.push_back(PrimitiveFrom(element)); });
  summary.steps = ReadSteps(record::Member(object, "steps"));
  return summary;
}

}  // namespace dlroof::programs
