// Writes and reads context.dlroof.program and gpu_program of run files by one list per structure.
#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_summary.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using nlohmann::json;
using Texts = std::vector<std::pair<std::string, std::string>>;  // a JSON object of texts

// A member of a structure. Not written if it has its default value.
template <class T>
struct Field {
  const char* key;
  T& value;
};
template <class T>
Field(const char*, T&) -> Field<T>;

// A member that is always written.
template <class T>
struct Required {
  const char* key;
  T& value;
};
template <class T>
Required(const char*, T&) -> Required<T>;

class Writer {
 public:
  // `rounded`: numbers are rounded to text::kWrittenDigits.
  explicit Writer(bool rounded) : rounded_(rounded) {}

  template <class... Fields>
  void operator()(Fields... fields) {
    (Put(fields), ...);
  }
  json&& Take() { return std::move(out_); }

 private:
  template <class T>
  void Put(Required<T> field) {
    out_[field.key] = ValueOf(field.value);
  }
  template <class T>
  void Put(Field<std::optional<T>> field) {
    if (field.value) Put(Required{field.key, *field.value});
  }
  template <class T>
  void Put(Field<T> field) {
    if constexpr (requires { field.value.empty(); }) {
      if (field.value.empty()) return;
    } else if constexpr (requires { field.value == T(); }) {
      if (field.value == T()) return;
    }
    Put(Required{field.key, field.value});
  }

  static json ValueOf(Texts& texts) {
    return std::map<std::string, std::string>(texts.begin(), texts.end());
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
    if constexpr (std::is_same_v<T, double>) {
      return rounded_ ? text::WholeOrReal(text::Rounded(value)) : json(value);
    } else if constexpr (std::is_enum_v<T>) {
      return Key(value);
    } else if constexpr (std::is_same_v<T, Reason>) {
      return value.text;
    } else if constexpr (std::is_constructible_v<json, T>) {
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

// Reads the members of a structure. Those missing or of an unexpected type keep their values.
class Reader {
 public:
  explicit Reader(const json& from) : from_(from) {}

  template <class... Fields>
  void operator()(Fields... fields) {
    (Read(record::Member(from_, fields.key), fields.value), ...);
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
    if constexpr (std::is_same_v<T, StepsFrom>) {
      if (from.is_string()) value = StepsFromKey(from.get<std::string>()).value_or(value);
      return from.is_string();
    } else if constexpr (std::is_arithmetic_v<T>) {
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

void Members(auto& all, ProgramPrimitive& primitive) {
  all(Field{"record", primitive.record}, Field{"operator", primitive.is_operator},
      Field{"engine", primitive.text.engine}, Field{"kind", primitive.text.kind},
      Field{"implementation", primitive.text.implementation},
      Field{"prop_kind", primitive.text.prop}, Field{"memory_descriptors", primitive.text.tensors},
      Field{"attributes", primitive.text.attributes}, Field{"auxiliary", primitive.text.auxiliary},
      Field{"problem", primitive.text.problem}, Field{"others", primitive.text.others},
      Field{"calls", primitive.calls}, Field{"seconds", primitive.seconds},
      Field{"moves", primitive.moves_data}, Field{"no_work", primitive.work_unknown},
      Field{"step_calls", primitive.step_calls}, Field{"step_seconds", primitive.step_seconds},
      Field{"benchmark", primitive.benchmark}, Field{"benchdnn", primitive.repro});
}
void Members(auto& all, ProgramSteps& steps) {
  all(Required{"from", steps.from}, Field{"reason", steps.reason}, Field{"count", steps.count},
      Field{"warm_up_steps", steps.warm_up_steps}, Field{"outliers", steps.outliers},
      Field{"median_low_seconds", steps.median_low_seconds},
      Field{"median_high_seconds", steps.median_high_seconds},
      Field{"primitives", steps.primitives}, Field{"warm_up_calls", steps.warm_up_calls},
      Field{"warm_up_seconds", steps.warm_up_seconds}, Field{"timed", steps.timed},
      Field{"wall_seconds", steps.wall_seconds},
      Field{"least_wall_seconds", steps.least_wall_seconds},
      Field{"median_wall_seconds", steps.median_wall_seconds},
      Field{"most_wall_seconds", steps.most_wall_seconds},
      Field{"creation_seconds", steps.creation_seconds},
      Field{"creation_hits", steps.creation_hits}, Field{"creation_misses", steps.creation_misses});
}
void Members(auto& all, ProgramProcess& process) {
  all(Field{"id", process.id}, Field{"main", process.main}, Field{"calls", process.calls},
      Field{"seconds", process.seconds});
}
void Members(auto& all, logs::RefusedLines& refused) {
  all(Field{"reason", refused.reason}, Field{"count", refused.count},
      Field{"first_line", refused.first_line});
}
void Members(auto& all, logs::LineCounts& lines) {
  all(Field{"all", lines.all}, Field{"verbose", lines.verbose},
      Field{"information", lines.information}, Field{"executed", lines.executed},
      Field{"used", lines.used}, Field{"created", lines.created}, Field{"dispatch", lines.dispatch},
      Field{"graph", lines.graph}, Field{"refused", lines.refused});
}
void Members(auto& all, ModuleTime& module) {
  all(Field{"path", module.path}, Field{"seconds", module.seconds});
}
void Members(auto& all, TracedProgram& traced) {
  all(Required{"steps", traced.steps}, Required{"window_seconds", traced.window_seconds},
      Required{"hook_seconds", traced.hook_seconds}, Required{"of_no_step", traced.of_no_step},
      Required{"onednn_share", traced.onednn_share},
      Required{"onednn_matched", traced.onednn_matched},
      Required{"operator_share", traced.operator_share}, Required{"rest_share", traced.rest_share},
      Required{"modules", traced.modules});
}
void Members(auto& all, ProgramSummary& summary) {
  all(Field{"log", summary.log}, Field{"command", summary.command},
      Field{"wall_seconds", summary.wall_seconds}, Field{"version", summary.version},
      Field{"runtime", summary.runtime}, Field{"isa", summary.isa_words},
      Field{"threads", summary.threads}, Field{"seconds", summary.seconds},
      Field{"covered_seconds", summary.covered_seconds},
      Field{"creation_hits", summary.creation_hits},
      Field{"creation_misses", summary.creation_misses},
      Field{"creation_seconds", summary.creation_seconds}, Field{"lines", summary.lines},
      Field{"processes", summary.processes}, Required{"primitives", summary.primitives},
      Field{"steps", summary.steps}, Field{"traced", summary.traced});
}
void Members(auto& all, GpuKernelUse& use) {
  all(Field{"name", use.name}, Field{"mangled", use.mangled}, Field{"grid", use.grid},
      Field{"block", use.block}, Field{"launches", use.launches}, Field{"seconds", use.seconds},
      Field{"graph_launches", use.graph_launches}, Field{"step_launches", use.step_launches},
      Field{"step_seconds", use.step_seconds}, Field{"step_wall_seconds", use.step_wall_seconds},
      Field{"record", use.record});
}
void Members(auto& all, GpuTimes& times) {
  all(Field{"kernel_seconds", times.kernel_seconds}, Field{"copy_seconds", times.copy_seconds},
      Field{"fill_seconds", times.fill_seconds}, Field{"idle_seconds", times.idle_seconds},
      Field{"graph_idle_seconds", times.graph_idle_seconds},
      Field{"wall_seconds", times.wall_seconds}, Field{"overlap_seconds", times.overlap_seconds},
      Field{"hidden_copy_seconds", times.hidden_copy_seconds},
      Field{"short_idle_seconds", times.short_idle_seconds}, Field{"short_gaps", times.short_gaps});
}
void Members(auto& all, GpuCopies& copies) {
  all(Field{"kind", copies.kind}, Field{"copies", copies.copies}, Field{"bytes", copies.bytes},
      Field{"seconds", copies.seconds}, Field{"pageable_bytes", copies.pageable_bytes});
}
void Members(auto& all, GpuGap& gap) {
  all(Field{"seconds", gap.seconds}, Field{"before", gap.before}, Field{"after", gap.after},
      Field{"range", gap.range});
}
void Members(auto& all, GpuLane& lane) {
  all(Field{"context", lane.context}, Field{"stream", lane.stream}, Field{"kernels", lane.kernels},
      Field{"copies", lane.copies});
}
void Members(auto& all, GpuRangeWork& range) {
  all(Field{"name", range.name}, Field{"depth", range.depth}, Field{"ranges", range.ranges},
      Field{"launches", range.launches}, Field{"seconds", range.seconds},
      Field{"kernel", range.kernel});
}
void Members(auto& all, GpuSteps& steps) {
  all(Field{"from", steps.from}, Field{"range", steps.range}, Field{"reason", steps.reason},
      Field{"count", steps.count}, Field{"outliers", steps.outliers},
      Field{"launches", steps.launches}, Field{"warm_up_launches", steps.warm_up_launches},
      Field{"warm_up_seconds", steps.warm_up_seconds}, Field{"least_seconds", steps.least_seconds},
      Field{"lower_seconds", steps.lower_seconds}, Field{"median_seconds", steps.median_seconds},
      Field{"upper_seconds", steps.upper_seconds}, Field{"most_seconds", steps.most_seconds},
      Field{"call_seconds", steps.call_seconds},
      Field{"untraced_call_seconds", steps.untraced_call_seconds},
      Field{"node_seconds", steps.node_seconds});
}
void Members(auto& all, GpuTimeline& timeline) {
  all(Field{"pid", timeline.pid}, Field{"command", timeline.command},
      Field{"device", timeline.device}, Field{"device_name", timeline.device_name},
      Field{"compute_capability", timeline.compute_capability},
      Field{"launches", timeline.launches}, Field{"copies", timeline.copies},
      Field{"fills", timeline.fills}, Field{"wall_seconds", timeline.wall_seconds},
      Field{"steps", timeline.steps}, Field{"times", timeline.times},
      Field{"kernels", timeline.kernels}, Field{"copy_kinds", timeline.copy_kinds},
      Field{"gap", timeline.gap}, Field{"lanes", timeline.lanes},
      Field{"lane_seconds", timeline.lane_seconds}, Field{"range_work", timeline.range_work},
      Field{"range_steps", timeline.range_steps}, Field{"range_reason", timeline.range_reason});
}
void Members(auto& all, GpuProcess& process) {
  all(Field{"pid", process.pid}, Field{"command", process.command},
      Field{"launches", process.launches}, Field{"copies", process.copies},
      Field{"fills", process.fills}, Field{"calls", process.calls}, Field{"ranges", process.ranges},
      Field{"dropped", process.dropped}, Field{"untimed", process.untimed},
      Field{"ended", process.ended}, Field{"full", process.full}, Field{"failure", process.failure},
      Field{"remarks", process.remarks});
}
void Members(auto& all, GpuCounting& counting) {
  all(Field{"requested", counting.requested}, Field{"reason", counting.reason},
      Field{"kernels", counting.kernels}, Field{"share", counting.share},
      Field{"seconds", counting.seconds});
}
void Members(auto& all, GpuProgram& program) {
  all(Field{"command", program.command}, Field{"wall_seconds", program.wall_seconds},
      Field{"stopped", program.stopped}, Field{"processes", program.processes},
      Field{"timelines", program.timelines}, Field{"counting", program.counting});
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

}  // namespace

json ToJson(const ProgramSummary& summary) { return Written(summary, false); }

std::optional<ProgramSummary> ProgramOf(const json& context) {
  auto summary = Find<ProgramSummary>(context, "program");
  if (summary && summary->traced && !(summary->traced->window_seconds > 0)) summary->traced.reset();
  return summary;
}

json ToJson(const GpuProgram& program) { return Written(program, true); }

std::optional<GpuProgram> GpuProgramOf(const json& context) {
  return Find<GpuProgram>(context, "gpu_program");
}

}  // namespace dlroof::programs
