// The content of context.dlroof.program and of context.dlroof.gpu_program of a run file: one list
// of members of each structure serves writing and reading.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_summary.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using nlohmann::json;
using Texts = std::vector<std::pair<std::string, std::string>>;  // an object of JSON

template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// Writes the members of a structure. Those with their default are left out.
class Writer {
 public:
  // `rounded`: numbers are rounded to text::kWrittenDigits.
  explicit Writer(bool rounded) : rounded_(rounded) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if constexpr (requires { value.empty(); }) {
      if (value.empty()) return;
    } else if constexpr (requires { value == T(); }) {
      if (value == T()) return;
    }
    Always(key, value);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (value) Always(key, *value);
  }
  template <class T>
  void Always(const char* key, T& value) {
    out_[key] = ValueOf(value);
  }
  json&& Take() { return std::move(out_); }

 private:
  static json ValueOf(std::string& text) { return text; }
  static json ValueOf(Reason& reason) { return reason.text; }
  static json ValueOf(StepsFrom from) { return Key(from); }
  static json ValueOf(KernelKind kind) { return Key(kind); }
  static json ValueOf(gpu_trace::Size3& size) { return size; }
  static json ValueOf(std::pair<double, double>& ends) { return {ends.first, ends.second}; }
  static json ValueOf(Texts& texts) {
    auto object = json::object();
    for (const auto& [name, text] : texts) object[name] = text;
    return object;
  }
  json ValueOf(double number) {
    return rounded_ ? text::WholeOrReal(text::Rounded(number)) : json(number);
  }
  json ValueOf(std::vector<double>& shares) {
    constexpr int kDigits = 4;  // of shares of a lane
    auto list = json::array();
    for (const double share : shares)
      list.push_back(text::WholeOrReal(text::Rounded(share, kDigits)));
    return list;
  }
  template <class T>
  json ValueOf(std::vector<T>& values) {
    auto list = json::array();
    for (auto& value : values) list.push_back(ValueOf(value));
    return list;
  }
  template <class T>
  json ValueOf(T& value) {
    if constexpr (std::is_integral_v<T>) {
      return value;
    } else {
      Writer inner(rounded_);
      Members(inner, value);
      return inner.Take();
    }
  }

  json out_ = json::object();
  bool rounded_;
};

// Reads the members of a structure. What is missing or has another type than expected stays as it
// is.
class Reader {
 public:
  explicit Reader(const json& from) : from_(from) {}

  template <class T>
  void operator()(const char* key, T& value) {
    Read(record::Member(from_, key), value);
  }
  template <class T>
  void Always(const char* key, T& value) {
    (*this)(key, value);
  }

 private:
  static bool Read(const json& from, std::string& text) {
    if (from.is_string()) text = from.get<std::string>();
    return from.is_string();
  }
  static bool Read(const json& from, Reason& reason) { return Read(from, reason.text); }
  static bool Read(const json& from, bool& value) {
    if (from.is_boolean()) value = from.get<bool>();
    return from.is_boolean();
  }
  static bool Read(const json& from, StepsFrom& value) {
    value = from.is_string() ? StepsFromKey(from.get<std::string>()).value_or(value) : value;
    return from.is_string();
  }
  static bool Read(const json& from, KernelKind& value) {
    value = from.is_string() ? KernelKindFromKey(from.get<std::string>()).value_or(value) : value;
    return from.is_string();
  }
  static bool Read(const json& from, gpu_trace::Size3& size) {
    if (!from.is_array() || from.size() != size.size()) return false;
    for (std::size_t i = 0; i < size.size(); ++i) Read(from[i], size[i]);
    return true;
  }
  static bool Read(const json& from, std::pair<double, double>& ends) {
    if (!from.is_array() || from.size() != 2) return false;
    return Read(from[0], ends.first) && Read(from[1], ends.second);
  }
  static bool Read(const json& from, Texts& texts) {
    if (!from.is_object()) return false;
    for (const auto& [name, text] : from.items())
      if (text.is_string()) texts.emplace_back(name, text.get<std::string>());
    return true;
  }
  template <class T>
  static bool Read(const json& from, std::optional<T>& value) {
    T read{};
    if (from.is_null() || !Read(from, read)) return false;
    value = std::move(read);
    return true;
  }
  template <class T>
  static bool Read(const json& from, std::vector<T>& values) {
    if (!from.is_array()) return false;
    for (const auto& element : from) {
      T read{};
      if (Read(element, read)) values.push_back(std::move(read));
    }
    return true;
  }
  template <class T>
  static bool Read(const json& from, T& value) {
    if constexpr (kIsNumber<T>) {
      if (!from.is_number()) return false;
      const auto number = from.get<double>();
      // Counts are never negative, and below 2^53.
      const double most =
          std::min<double>(9e15, static_cast<double>(std::numeric_limits<T>::max()));
      if (std::is_integral_v<T> && !(number >= 0 && number <= most)) return false;
      value = static_cast<T>(number);
    } else {
      Reader inner(from);
      Members(inner, value);
    }
    return true;
  }

  const json& from_;
};

template <class Archive>
void Members(Archive& all, StandaloneCheck& check) {
  all("condition", check.condition);
  all("seconds", check.seconds);
}
template <class Archive>
void Members(Archive& all, StandaloneTime& standalone) {
  all("seconds", standalone.seconds);
  all("disturbed", standalone.noisy);
  all("cold_seconds", standalone.cold_seconds);
  all("program_seconds", standalone.program_seconds);
  all("ratio", standalone.ratio);
  all("implementation", standalone.implementation);
  all("ci95", standalone.ci95);
  all("program_ci95", standalone.program_ci95);
  all("ratio_ci95", standalone.ratio_ci95);
  all("checks", standalone.checks);
}
template <class Archive>
void Members(Archive& all, ProgramPrimitive& one) {
  all("record", one.record);
  all("operator", one.is_operator);
  all("engine", one.text.engine);
  all("kind", one.text.kind);
  all("implementation", one.text.implementation);
  all("prop_kind", one.text.prop);
  all("memory_descriptors", one.text.tensors);
  all("attributes", one.text.attributes);
  all("auxiliary", one.text.auxiliary);
  all("problem", one.text.problem);
  all("others", one.text.others);
  all("calls", one.calls);
  all("seconds", one.seconds);
  all("least_seconds", one.times.least);
  all("lower_quarter_seconds", one.times.lower_quarter);
  all("median_seconds", one.times.median);
  all("upper_quarter_seconds", one.times.upper_quarter);
  all("most_seconds", one.times.most);
  all("moves", one.moves_data);
  all("no_work", one.work_unknown);
  all("step_calls", one.step_calls);
  all("step_seconds", one.step_seconds);
  all("benchmark", one.benchmark);
  all("benchdnn", one.repro);
  all("not_alone", one.not_replayed);
  all("alone", one.standalone);
}
template <class Archive>
void Members(Archive& all, ProgramPhase& phase) {
  all("name", phase.name);
  all("calls", phase.calls);
  all("seconds", phase.seconds);
  all("wall_seconds", phase.wall_seconds);
}
template <class Archive>
void Members(Archive& all, ProgramSteps& steps) {
  all.Always("from", steps.from);
  all("reason", steps.reason);
  all("count", steps.count);
  all("warm_up_steps", steps.warm_up_steps);
  all("outliers", steps.outliers);
  all("median_low_seconds", steps.median_low_seconds);
  all("median_high_seconds", steps.median_high_seconds);
  all("primitives", steps.primitives);
  all("warm_up_calls", steps.warm_up_calls);
  all("warm_up_seconds", steps.warm_up_seconds);
  all("timed", steps.timed);
  all("wall_seconds", steps.wall_seconds);
  all("least_wall_seconds", steps.least_wall_seconds);
  all("median_wall_seconds", steps.median_wall_seconds);
  all("most_wall_seconds", steps.most_wall_seconds);
  all("creation_seconds", steps.creation_seconds);
  all("creation_hits", steps.creation_hits);
  all("creation_misses", steps.creation_misses);
  all("phases", steps.phases);
}
template <class Archive>
void Members(Archive& all, ProgramProcess& process) {
  all("id", process.id);
  all("main", process.main);
  all("calls", process.calls);
  all("seconds", process.seconds);
  all("threads", process.threads);
}
template <class Archive>
void Members(Archive& all, logs::RefusedLines& refused) {
  all("reason", refused.reason);
  all("count", refused.count);
  all("first_line", refused.first_line);
}
template <class Archive>
void Members(Archive& all, logs::LineCounts& lines) {
  all("all", lines.all);
  all("verbose", lines.verbose);
  all("information", lines.information);
  all("executed", lines.executed);
  all("used", lines.used);
  all("created", lines.created);
  all("dispatch", lines.dispatch);
  all("graph", lines.graph);
  all("refused", lines.refused);
}
template <class Archive>
void Members(Archive& all, ModuleTime& module) {
  all("path", module.path);
  all("seconds", module.seconds);
}
template <class Archive>
void Members(Archive& all, TracedProgram& traced) {
  all.Always("steps", traced.steps);
  all.Always("window_seconds", traced.window_seconds);
  all.Always("hook_seconds", traced.hook_seconds);
  all.Always("of_no_step", traced.of_no_step);
  all.Always("onednn_share", traced.onednn_share);
  all.Always("onednn_matched", traced.onednn_matched);
  all.Always("operator_share", traced.operator_share);
  all.Always("rest_share", traced.rest_share);
  all.Always("steps_in_windows", traced.cost.inside);
  all.Always("steps_outside_windows", traced.cost.outside);
  all.Always("window_slowdown", traced.cost.ratio);
  all.Always("modules", traced.modules);
}
template <class Archive>
void Members(Archive& all, OutsideTimes& times) {
  all.Always("computing", times.computing);
  all.Always("waiting", times.waiting);
  all.Always("sleeping", times.sleeping);
  all.Always("other_cpus", times.other_cpus);
}
template <class Archive>
void Members(Archive& all, ProgramSummary& summary) {
  all("log", summary.log);
  all("command", summary.command);
  all("wall_seconds", summary.wall_seconds);
  all("version", summary.version);
  all("runtime", summary.runtime);
  all("isa", summary.isa_words);
  all("threads", summary.threads);
  all("alone_version", summary.standalone_version);
  all("seconds", summary.seconds);
  all("covered_seconds", summary.covered_seconds);
  all("creation_hits", summary.creation_hits);
  all("creation_misses", summary.creation_misses);
  all("creation_seconds", summary.creation_seconds);
  all("line_seconds", summary.line_seconds);
  all("lines", summary.lines);
  all("processes", summary.processes);
  all.Always("primitives", summary.primitives);
  all("steps", summary.steps);
  all("traced", summary.traced);
  all("outside_times", summary.outside_times);
}
template <class Archive>
void Members(Archive& all, GpuKernelUse& use) {
  all("name", use.name);
  all("mangled", use.mangled);
  all("grid", use.grid);
  all("block", use.block);
  all("registers", use.registers);
  all("shared_bytes", use.shared_bytes);
  all("variant", use.variant);
  all("variants", use.variants);
  all.Always("kind", use.kind);
  all("launches", use.launches);
  all("seconds", use.seconds);
  all("graph_launches", use.graph_launches);
  all("step_launches", use.step_launches);
  all("step_seconds", use.step_seconds);
  all("step_wall_seconds", use.step_wall_seconds);
  all("record", use.record);
}
template <class Archive>
void Members(Archive& all, GpuTimes& times) {
  all("kernel_seconds", times.kernel_seconds);
  all("copy_seconds", times.copy_seconds);
  all("fill_seconds", times.fill_seconds);
  all("idle_seconds", times.idle_seconds);
  all("wall_seconds", times.wall_seconds);
  all("overlap_seconds", times.overlap_seconds);
  all("hidden_copy_seconds", times.hidden_copy_seconds);
  all("short_idle_seconds", times.short_idle_seconds);
  all("short_gaps", times.short_gaps);
}
template <class Archive>
void Members(Archive& all, GpuCopies& copies) {
  all("kind", copies.kind);
  all("copies", copies.copies);
  all("bytes", copies.bytes);
  all("seconds", copies.seconds);
  all("pageable_bytes", copies.pageable_bytes);
}
template <class Archive>
void Members(Archive& all, GpuGap& gap) {
  all("seconds", gap.seconds);
  all("at_seconds", gap.at_seconds);
  all("before", gap.before);
  all("after", gap.after);
  all("range", gap.range);
}
template <class Archive>
void Members(Archive& all, GpuLane& lane) {
  all("context", lane.context);
  all("stream", lane.stream);
  all("kernels", lane.kernels);
  all("copies", lane.copies);
}
template <class Archive>
void Members(Archive& all, GpuRangeUse& range) {
  all("name", range.name);
  all("count", range.count);
  all("seconds", range.seconds);
}
template <class Archive>
void Members(Archive& all, GpuRangeWork& range) {
  all("name", range.name);
  all("depth", range.depth);
  all("ranges", range.ranges);
  all("launches", range.launches);
  all("seconds", range.seconds);
  all("kernel", range.kernel);
}
template <class Archive>
void Members(Archive& all, GpuSteps& steps) {
  all("from", steps.from);
  all("range", steps.range);
  all("reason", steps.reason);
  all("count", steps.count);
  all("outliers", steps.outliers);
  all("launches", steps.launches);
  all("warm_up_launches", steps.warm_up_launches);
  all("warm_up_seconds", steps.warm_up_seconds);
  all("least_seconds", steps.least_seconds);
  all("lower_seconds", steps.lower_seconds);
  all("median_seconds", steps.median_seconds);
  all("upper_seconds", steps.upper_seconds);
  all("most_seconds", steps.most_seconds);
}
template <class Archive>
void Members(Archive& all, GpuTimeline& timeline) {
  all("pid", timeline.pid);
  all("command", timeline.command);
  all("device", timeline.device);
  all("device_name", timeline.device_name);
  all("compute_capability", timeline.compute_capability);
  all("launches", timeline.launches);
  all("copies", timeline.copies);
  all("fills", timeline.fills);
  all("wall_seconds", timeline.wall_seconds);
  all("steps", timeline.steps);
  all("times", timeline.times);
  all("kernels", timeline.kernels);
  all("copy_kinds", timeline.copy_kinds);
  all("gaps", timeline.gaps);
  all("lanes", timeline.lanes);
  all("lane_seconds", timeline.lane_seconds);
  all("ranges", timeline.ranges);
  all("range_work", timeline.range_work);
  all("range_steps", timeline.range_steps);
  all("fusible_seconds", timeline.fusible_seconds);
  all("fusible_launches", timeline.fusible_launches);
}
template <class Archive>
void Members(Archive& all, GpuProcess& process) {
  all("pid", process.pid);
  all("command", process.command);
  all("launches", process.launches);
  all("copies", process.copies);
  all("fills", process.fills);
  all("dropped", process.dropped);
  all("untimed", process.untimed);
  all("library_seconds", process.library_seconds);
  all("cupti_seconds", process.cupti_seconds);
  all("records", process.records);
  all("ended", process.ended);
  all("full", process.full);
  all("failure", process.failure);
  all("remarks", process.remarks);
}
template <class Archive>
void Members(Archive& all, GpuCounting& counting) {
  all("requested", counting.requested);
  all("reason", counting.reason);
  all("kernels", counting.kernels);
  all("share", counting.share);
  all("unassigned", counting.unassigned);
  all("seconds", counting.seconds);
}
template <class Archive>
void Members(Archive& all, GpuProgram& program) {
  all("command", program.command);
  all("wall_seconds", program.wall_seconds);
  all("stopped", program.stopped);
  all("processes", program.processes);
  all("timelines", program.timelines);
  all("counting", program.counting);
}

template <class T>
json Written(T value, bool rounded) {
  Writer writer(rounded);
  Members(writer, value);
  return writer.Take();
}

// Reads context.dlroof.KEY, if it is an object.
template <class T>
std::optional<T> Find(const json& context, const char* key) {
  const auto& object = record::Member(record::Member(context, "dlroof"), key);
  if (!object.is_object()) return std::nullopt;
  T value;
  Reader reader(object);
  Members(reader, value);
  return value;
}

// Removes times that a file states without sense.
void RemoveImpossible(ProgramSummary& summary) {
  for (auto& primitive : summary.primitives) {
    auto& standalone = primitive.standalone;
    if (standalone && (!(standalone->seconds > 0) || !(standalone->program_seconds > 0) ||
                       !(standalone->ratio > 0)))
      standalone.reset();
    if (standalone)
      std::erase_if(standalone->checks, [](const auto& check) { return !(check.seconds > 0); });
  }
  if (summary.traced && !(summary.traced->window_seconds > 0)) summary.traced.reset();
  const auto& times = summary.outside_times;
  if (times && !(times->computing + times->waiting + times->sleeping > 0))
    summary.outside_times.reset();
}

}  // namespace

json ToJson(const ProgramSummary& summary) { return Written(summary, false); }

std::optional<ProgramSummary> ProgramOf(const json& context) {
  auto summary = Find<ProgramSummary>(context, "program");
  if (summary) RemoveImpossible(*summary);
  return summary;
}

json ToJson(const GpuProgram& program) { return Written(program, true); }

std::optional<GpuProgram> GpuProgramOf(const json& context) {
  return Find<GpuProgram>(context, "gpu_program");
}

}  // namespace dlroof::programs
