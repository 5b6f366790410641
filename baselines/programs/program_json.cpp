// Writes and reads context.dlroof.program and gpu_program of run files.
#include <map>
#include <nlohmann/json.hpp>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_summary.h"
#include "counters/base/json_members.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::logs {

void Members(auto& all, RefusedLines& refused) {
  all(Field("reason", refused.reason), Field("count", refused.count),
      Field("first_line", refused.first_line));
}
void Members(auto& all, LineCounts& lines) {
  all(Field("all", lines.all), Field("verbose", lines.verbose),
      Field("information", lines.information), Field("executed", lines.executed),
      Field("used", lines.used), Field("created", lines.created), Field("dispatch", lines.dispatch),
      Field("graph", lines.graph), Field("refused", lines.refused));
}

}  // namespace dlroof::logs

namespace dlroof::programs {

constexpr const char* kFrom = "a source of steps";

void Members(auto& all, ProgramPrimitive& primitive) {
  auto& text = primitive.text;
  std::map<std::string, std::string> others(text.others.begin(), text.others.end());
  all(Field("record", primitive.record), Field("operator", primitive.is_operator),
      Field("engine", text.engine), Field("kind", text.kind),
      Field("implementation", text.implementation), Field("prop_kind", text.prop),
      Field("memory_descriptors", text.tensors), Field("attributes", text.attributes),
      Field("auxiliary", text.auxiliary), Field("problem", text.problem), Field("others", others),
      Field("calls", primitive.calls), Field("seconds", primitive.seconds),
      Field("moves", primitive.moves_data), Field("no_work", primitive.work_unknown),
      Field("step_calls", primitive.step_calls), Field("step_seconds", primitive.step_seconds),
      Field("benchmark", primitive.benchmark), Field("benchdnn", primitive.repro));
  text.others.assign(others.begin(), others.end());
}
void Members(auto& all, ProgramSteps& steps) {
  all(Keyed("from", steps.from, kStepsFrom, kFrom), Field("reason", steps.reason),
      Field("count", steps.count), Field("warm_up_steps", steps.warm_up_steps),
      Field("outliers", steps.outliers), Field("median_low_seconds", steps.median_low_seconds),
      Field("median_high_seconds", steps.median_high_seconds),
      Field("primitives", steps.primitives), Field("warm_up_calls", steps.warm_up_calls),
      Field("warm_up_seconds", steps.warm_up_seconds), Field("timed", steps.timed),
      Field("wall_seconds", steps.wall_seconds),
      Field("least_wall_seconds", steps.least_wall_seconds),
      Field("median_wall_seconds", steps.median_wall_seconds),
      Field("most_wall_seconds", steps.most_wall_seconds),
      Field("creation_seconds", steps.creation_seconds),
      Field("creation_hits", steps.creation_hits), Field("creation_misses", steps.creation_misses));
}
void Members(auto& all, ProgramProcess& process) {
  all(Field("id", process.id), Field("main", process.main), Field("calls", process.calls),
      Field("seconds", process.seconds));
}
void Members(auto& all, ModuleTime& module) {
  all(Field("path", module.path), Field("seconds", module.seconds));
}
void Members(auto& all, TracedProgram& traced) {
  all(Required("steps", traced.steps), Required("window_seconds", traced.window_seconds),
      Required("hook_seconds", traced.hook_seconds), Required("of_no_step", traced.of_no_step),
      Required("onednn_share", traced.onednn_share),
      Required("onednn_matched", traced.onednn_matched),
      Required("operator_share", traced.operator_share), Required("rest_share", traced.rest_share),
      Required("modules", traced.modules));
}
void Members(auto& all, ProgramSummary& summary) {
  all(Field("log", summary.log), Field("command", summary.command),
      Field("wall_seconds", summary.wall_seconds), Field("others_share", summary.others_share),
      Field("version", summary.version), Field("runtime", summary.runtime),
      Field("isa", summary.isa_words), Field("threads", summary.threads),
      Field("seconds", summary.seconds), Field("covered_seconds", summary.covered_seconds),
      Field("creation_hits", summary.creation_hits),
      Field("creation_misses", summary.creation_misses),
      Field("creation_seconds", summary.creation_seconds), Field("lines", summary.lines),
      Field("processes", summary.processes), Required("primitives", summary.primitives),
      Field("steps", summary.steps), Field("traced", summary.traced));
}
void Members(auto& all, GpuKernelUse& use) {
  all(Field("name", use.name), Field("mangled", use.mangled), Field("grid", use.grid),
      Field("block", use.block), Field("launches", use.launches), Field("seconds", use.seconds),
      Field("graph_launches", use.graph_launches), Field("step_launches", use.step_launches),
      Field("step_seconds", use.step_seconds), Field("step_wall_seconds", use.step_wall_seconds),
      Field("record", use.record));
}
void Members(auto& all, GpuTimes& times) {
  all(Field("kernel_seconds", times.kernel_seconds), Field("copy_seconds", times.copy_seconds),
      Field("fill_seconds", times.fill_seconds), Field("idle_seconds", times.idle_seconds),
      Field("graph_idle_seconds", times.graph_idle_seconds),
      Field("wall_seconds", times.wall_seconds), Field("overlap_seconds", times.overlap_seconds),
      Field("hidden_copy_seconds", times.hidden_copy_seconds),
      Field("short_idle_seconds", times.short_idle_seconds), Field("short_gaps", times.short_gaps));
}
void Members(auto& all, GpuCopies& copies) {
  all(Field("kind", copies.kind), Field("copies", copies.copies), Field("bytes", copies.bytes),
      Field("seconds", copies.seconds), Field("pageable_bytes", copies.pageable_bytes));
}
void Members(auto& all, GpuGap& gap) {
  all(Field("seconds", gap.seconds), Field("before", gap.before), Field("after", gap.after),
      Field("range", gap.range));
}
void Members(auto& all, GpuLane& lane) {
  all(Field("context", lane.context), Field("stream", lane.stream), Field("kernels", lane.kernels),
      Field("copies", lane.copies));
}
void Members(auto& all, GpuRangeWork& range) {
  all(Field("name", range.name), Field("depth", range.depth), Field("ranges", range.ranges),
      Field("launches", range.launches), Field("seconds", range.seconds),
      Field("kernel", range.kernel));
}
void Members(auto& all, GpuSteps& steps) {
  all(Keyed("from", steps.from, kStepsFrom, kFrom), Field("range", steps.range),
      Field("reason", steps.reason), Field("count", steps.count), Field("outliers", steps.outliers),
      Field("launches", steps.launches), Field("warm_up_launches", steps.warm_up_launches),
      Field("warm_up_seconds", steps.warm_up_seconds), Field("least_seconds", steps.least_seconds),
      Field("lower_seconds", steps.lower_seconds), Field("median_seconds", steps.median_seconds),
      Field("upper_seconds", steps.upper_seconds), Field("most_seconds", steps.most_seconds),
      Field("call_seconds", steps.call_seconds),
      Field("untraced_call_seconds", steps.untraced_call_seconds),
      Field("node_seconds", steps.node_seconds));
}
void Members(auto& all, GpuTimeline& timeline) {
  all(Field("pid", timeline.pid), Field("command", timeline.command),
      Field("device", timeline.device), Field("device_name", timeline.device_name),
      Field("compute_capability", timeline.compute_capability),
      Field("launches", timeline.launches), Field("copies", timeline.copies),
      Field("fills", timeline.fills), Field("wall_seconds", timeline.wall_seconds),
      Field("steps", timeline.steps), Field("times", timeline.times),
      Field("kernels", timeline.kernels), Field("copy_kinds", timeline.copy_kinds),
      Field("gap", timeline.gap), Field("lanes", timeline.lanes),
      Field("lane_seconds", timeline.lane_seconds), Field("range_work", timeline.range_work),
      Field("range_steps", timeline.range_steps), Field("range_reason", timeline.range_reason));
}
void Members(auto& all, GpuProcess& process) {
  all(Field("pid", process.pid), Field("command", process.command),
      Field("launches", process.launches), Field("copies", process.copies),
      Field("fills", process.fills), Field("calls", process.calls), Field("ranges", process.ranges),
      Field("dropped", process.dropped), Field("untimed", process.untimed),
      Field("ended", process.ended), Field("full", process.full), Field("failure", process.failure),
      Field("remarks", process.remarks));
}
void Members(auto& all, GpuCounting& counting) {
  all(Field("requested", counting.requested), Field("reason", counting.reason),
      Field("kernels", counting.kernels), Field("share", counting.share),
      Field("seconds", counting.seconds));
}
void Members(auto& all, GpuProgram& program) {
  all(Field("command", program.command), Field("wall_seconds", program.wall_seconds),
      Field("stopped", program.stopped), Field("processes", program.processes),
      Field("timelines", program.timelines), Field("counting", program.counting));
}

namespace {

using nlohmann::json;

// Reads context.dlroof.`key`. Returns nullopt if it is not an object.
template <class T>
std::optional<T> Find(const json& context, const char* key) {
  const auto& object = record::Member(record::Member(context, "dlroof"), key);
  if (!object.is_object()) return std::nullopt;
  return FromMembers<T>({object, key}, Faults::kIgnore);
}

}  // namespace

json ToJson(const ProgramSummary& summary) { return MembersJson(summary); }

std::optional<ProgramSummary> ProgramOf(const json& context) {
  auto summary = Find<ProgramSummary>(context, "program");
  if (summary && summary->traced && !(summary->traced->window_seconds > 0)) summary->traced.reset();
  return summary;
}

json ToJson(const GpuProgram& program) {
  constexpr int kDigits = 4;  // of shares of a lane
  auto rounded = program;
  for (auto& timeline : rounded.timelines)
    for (auto& lane : timeline.lanes)
      for (auto* shares : {&lane.kernels, &lane.copies})
        for (double& share : *shares) share = text::Rounded(share, kDigits);
  auto object = MembersJson(std::move(rounded));
  text::RoundAll(object);
  return object;
}

std::optional<GpuProgram> GpuProgramOf(const json& context) {
  return Find<GpuProgram>(context, "gpu_program");
}

}  // namespace dlroof::programs
