#include <array>
#include <concepts>
#include <nlohmann/json.hpp>

#include "baselines/programs/gpu_program.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using nlohmann::json;

json ValueOf(const Reason& reason) { return reason.text; }
json ValueOf(const std::string& text) { return text; }
json ValueOf(bool value) { return value; }
json ValueOf(const std::vector<std::string>& texts) { return texts; }
json ValueOf(const std::vector<double>& numbers) {
  auto list = json::array();
  for (const double number : numbers) list.push_back(text::WholeOrReal(text::Rounded(number, 4)));
  return list;
}
json ValueOf(const gpu_trace::Size3& size) { return json{size[0], size[1], size[2]}; }
json ValueOf(KernelKind kind) { return Key(kind); }
json ValueOf(StepsFrom from) { return Key(from); }
template <std::integral Number>
json ValueOf(Number number) {
  return number;
}
json ValueOf(double number) { return text::WholeOrReal(text::Rounded(number)); }

void Read(const json& from, Reason& reason) {
  if (from.is_string()) reason.text = from.get<std::string>();
}
void Read(const json& from, std::string& text) {
  if (from.is_string()) text = from.get<std::string>();
}
void Read(const json& from, bool& value) {
  if (from.is_boolean()) value = from.get<bool>();
}
void Read(const json& from, double& number) {
  if (from.is_number()) number = from.get<double>();
}
void Read(const json& from, int& number) {
  if (from.is_number_integer()) number = from.get<int>();
}
void Read(const json& from, std::uint32_t& number) {
  if (from.is_number_unsigned() && from.get<std::uint64_t>() <= ~std::uint32_t{0})
    number = from.get<std::uint32_t>();
}
void Read(const json& from, std::vector<std::string>& texts) {
  if (!from.is_array()) return;
  for (const auto& one : from)
    if (one.is_string()) texts.push_back(one.get<std::string>());
}
void Read(const json& from, std::vector<double>& numbers) {
  if (!from.is_array()) return;
  for (const auto& one : from) numbers.push_back(one.is_number() ? one.get<double>() : 0);
}
void Read(const json& from, gpu_trace::Size3& size) {
  if (!from.is_array() || from.size() != size.size()) return;
  for (std::size_t i = 0; i < size.size(); ++i) Read(from[i], size[i]);
}
void Read(const json& from, KernelKind& kind) {
  if (from.is_string()) kind = KernelKindFromKey(from.get<std::string>()).value_or(kind);
}
void Read(const json& from, StepsFrom& kind) {
  if (from.is_string()) kind = StepsFromKey(from.get<std::string>()).value_or(kind);
}

// One list of members for both directions. Members with their default are left out.
struct Writer {
  json out = json::object();

  template <class Value>
  void operator()(const char* key, Value& value) {
    if (value != Value()) out[key] = ValueOf(value);
  }
  void operator()(const char* key, KernelKind& value) { out[key] = ValueOf(value); }
  template <class Value>
  void operator()(const char* key, std::optional<Value>& value) {
    if (value) out[key] = ValueOf(*value);
  }
  template <class Value>
  void Member(const char* key, Value& value);
  template <class Value>
  void List(const char* key, std::vector<Value>& values);
};
struct Reader {
  const json& from;

  const json* Find(const char* key) const {
    if (!from.is_object()) return nullptr;
    const auto found = from.find(key);
    return found == from.end() ? nullptr : &*found;
  }
  template <class Value>
  void operator()(const char* key, Value& value) {
    if (const auto* found = Find(key)) Read(*found, value);
  }
  template <class Value>
  void operator()(const char* key, std::optional<Value>& value) {
    if (const auto* found = Find(key)) Read(*found, value.emplace());
  }
  template <class Value>
  void Member(const char* key, Value& value);
  template <class Value>
  void List(const char* key, std::vector<Value>& values);
};

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
  all("kind", use.kind);
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
  all.Member("steps", timeline.steps);
  all.Member("times", timeline.times);
  all.List("kernels", timeline.kernels);
  all.List("copy_kinds", timeline.copy_kinds);
  all.List("gaps", timeline.gaps);
  all.List("lanes", timeline.lanes);
  all("lane_seconds", timeline.lane_seconds);
  all.List("ranges", timeline.ranges);
  all.List("range_work", timeline.range_work);
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
  all.List("processes", program.processes);
  all.List("timelines", program.timelines);
  all.Member("counting", program.counting);
}

template <class Value>
void Writer::Member(const char* key, Value& value) {
  Writer inner;
  Members(inner, value);
  out[key] = std::move(inner.out);
}
template <class Value>
void Writer::List(const char* key, std::vector<Value>& values) {
  auto list = json::array();
  for (auto& value : values) {
    Writer inner;
    Members(inner, value);
    list.push_back(std::move(inner.out));
  }
  out[key] = std::move(list);
}
template <class Value>
void Reader::Member(const char* key, Value& value) {
  if (const auto* found = Find(key)) {
    Reader inner{*found};
    Members(inner, value);
  }
}
template <class Value>
void Reader::List(const char* key, std::vector<Value>& values) {
  const auto* found = Find(key);
  if (found == nullptr || !found->is_array()) return;
  for (const auto& one : *found) {
    Reader inner{one};
    Members(inner, values.emplace_back());
  }
}

}  // namespace

json ToJson(const GpuProgram& program) {
  GpuProgram copy = program;
  Writer writer;
  Members(writer, copy);
  return std::move(writer.out);
}

std::optional<GpuProgram> GpuProgramOf(const json& context) {
  const auto* at = &context;
  for (const auto* key : {"dlroof", "gpu_program"}) {
    if (!at->is_object()) return std::nullopt;
    const auto found = at->find(key);
    if (found == at->end()) return std::nullopt;
    at = &*found;
  }
  if (!at->is_object()) return std::nullopt;
  GpuProgram program;
  Reader reader{*at};
  Members(reader, program);
  return program;
}

}  // namespace dlroof::programs
