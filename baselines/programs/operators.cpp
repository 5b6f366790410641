#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "baselines/programs/program_summary.h"
#include "counters/base/keys.h"

namespace dlroof::programs {
namespace {

constexpr std::size_t kWarmUpFrom = 4;  // [1] from 4 steps on, at least the first is warm-up
constexpr double kSmall = 1e-3;         // [1] operators with less of the time share one entry

// A period on one thread during which the innermost call stays the same.
struct Segment {
  double begin = 0, end = 0;               // [s]
  std::size_t call = 0;                    // index into Trace::calls
  bool in_operator = false;                // the innermost call is an operator, not a span
  bool in_hook = false;                    // the innermost call is a hook of a module
  std::optional<std::size_t> module = {};  // index of the call of the innermost module
};

bool IsModule(const imports::TraceCall& call) {
  return !call.op && call.span.starts_with(kModuleSpan);
}

bool IsHook(const imports::TraceCall& call) { return !call.op && call.span == kHookSpan; }

// Returns the segments of all threads. `calls`: by thread, then by begin.
std::vector<Segment> SegmentsOf(const std::vector<imports::TraceCall>& calls) {
  constexpr double kNever = 1e300;
  std::vector<Segment> segments, open;  // `open`: calls of a thread, the innermost last
  double cursor = 0;
  // Ends the segment of the innermost open call at `time`. Adds it unless it is empty.
  const auto emit = [&](double time) {
    if (!open.empty() && time > cursor) {
      segments.push_back(open.back());
      segments.back().begin = cursor;
      segments.back().end = time;
    }
    cursor = std::max(cursor, time);
  };
  const auto close_until = [&](double time) {
    for (; !open.empty() && open.back().end <= time; open.pop_back()) emit(open.back().end);
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& call = calls[i];
    close_until(i > 0 && calls[i - 1].thread == call.thread ? call.begin : kNever);
    if (open.empty()) cursor = call.begin;
    emit(call.begin);
    auto module = open.empty() ? std::nullopt : open.back().module;
    if (IsModule(call)) module = i;
    const double end = open.empty() ? call.end : std::min(call.end, open.back().end);
    open.push_back({call.begin, end, i, call.op.has_value(), IsHook(call), module});
  }
  close_until(kNever);
  return segments;
}

// The begin or end of a range (whose time is divided), a primitive or a segment.
struct Bound {
  enum Kind { kRange, kPrimitive, kSegment };
  double at = 0;  // [s]
  bool begin = false;
  Kind kind = kRange;
  std::size_t segment = 0;  // index of the segment, for kSegment
};

// Visits all bounds in order of time and credits each interval to the calls open in it.
class TimeDivider {
 public:
  TimeDivider(const imports::Trace& trace, std::vector<Segment> segments)
      : trace_(trace),
        segments_(std::move(segments)),
        of_call_(trace.calls.size()),
        has_primitive_(trace.calls.size()) {}

  DividedTime Divide(const std::vector<TimeRange>& primitives,
                     const std::vector<TimeRange>& ranges) {
    AddBounds(primitives, Bound::kPrimitive);
    AddBounds(ranges, Bound::kRange);
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      bounds_.push_back({segments_[i].begin, true, Bound::kSegment, i});
      bounds_.push_back({segments_[i].end, false, Bound::kSegment, i});
    }
    // Sorts ends before begins of the same time.
    std::ranges::stable_sort(bounds_, [](const Bound& a, const Bound& b) {
      return a.at != b.at ? a.at < b.at : a.begin < b.begin;
    });
    double before = 0;
    for (const auto& bound : bounds_) {
      if (bound.at > before) {
        // Also outside of the ranges: a step's first operator may begin before the step.
        if (primitives_ > 0) MarkActive();
        if (ranges_ > 0) Count(bound.at - before);
      }
      before = bound.at;
      Pass(bound);
    }
    AddOperators(ranges);
    AddModules();
    return std::move(divided_);
  }

 private:
  void AddBounds(const std::vector<TimeRange>& ranges, Bound::Kind kind) {
    for (const auto& [begin, end] : ranges) {
      if (!(end > begin)) continue;
      bounds_.push_back({begin, true, kind});
      bounds_.push_back({end, false, kind});
    }
  }

  void Pass(const Bound& bound) {
    const int change = bound.begin ? 1 : -1;
    if (bound.kind == Bound::kRange) ranges_ += change;
    if (bound.kind == Bound::kPrimitive) primitives_ += change;
    if (bound.kind != Bound::kSegment) return;
    if (bound.begin)
      active_.push_back(bound.segment);
    else
      std::erase(active_, bound.segment);
  }

  void MarkActive() {
    for (const auto i : active_)
      if (segments_[i].in_operator) has_primitive_[segments_[i].call] = true;
  }

  void Count(double seconds) {
    std::size_t operators = 0;
    bool only_hooks = !active_.empty();
    const Segment* shown = nullptr;  // the segment whose module gets the time
    for (const auto i : active_) {
      operators += segments_[i].in_operator ? 1 : 0;
      only_hooks = only_hooks && segments_[i].in_hook;
      if (shown == nullptr || segments_[i].in_operator) shown = &segments_[i];
    }
    if (only_hooks && primitives_ == 0) {
      divided_.hook_seconds += seconds;
      return;
    }
    divided_.seconds += seconds;
    if (shown != nullptr && shown->module) modules_[*shown->module] += seconds;
    if (primitives_ > 0) {
      divided_.onednn_seconds += seconds;
      if (operators > 0) divided_.onednn_in_operator_seconds += seconds;
      return;
    }
    if (operators == 0) return;
    divided_.operator_seconds += seconds;
    for (const auto i : active_)
      if (segments_[i].in_operator)
        of_call_[segments_[i].call] += seconds / static_cast<double>(operators);
  }

  void AddOperators(const std::vector<TimeRange>& ranges) {
    std::map<std::size_t, OperatorTime> by_op;
    std::map<std::size_t, std::size_t> with_primitives;  // [1] calls by operator
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      const auto& call = trace_.calls[i];
      if (!call.op) continue;
      const bool in_range = RangeWith(ranges, call.begin).has_value();
      if (!in_range && of_call_[i] == 0) continue;
      auto& time = by_op[*call.op];
      time.op = *call.op;
      time.seconds += of_call_[i];
      if (!in_range) continue;
      time.each.push_back(of_call_[i]);
      with_primitives[*call.op] += has_primitive_[i] ? 1 : 0;
    }
    for (auto& [op, time] : by_op) {
      time.by_onednn = with_primitives[op] > 0 && 2 * with_primitives[op] >= time.each.size();
      if (time.seconds > 0) divided_.operators.push_back(std::move(time));
    }
    std::ranges::stable_sort(divided_.operators, std::ranges::greater{}, &OperatorTime::seconds);
  }

  void AddModules() {
    std::map<std::string, double> by_path;
    for (const auto& [call, seconds] : modules_)
      by_path[ModulePath(trace_.calls[call].span)] += seconds;
    for (const auto& [path, seconds] : by_path) divided_.modules.push_back({path, seconds});
    std::ranges::stable_sort(divided_.modules, std::ranges::greater{}, &ModuleTime::seconds);
  }

  const imports::Trace& trace_;
  std::vector<Segment> segments_;
  std::vector<double> of_call_;            // [s] self time of each call
  std::vector<bool> has_primitive_;        // by call: a primitive ran while it was the innermost
  std::map<std::size_t, double> modules_;  // [s] self time by index of the module's call
  std::vector<Bound> bounds_;
  std::vector<std::size_t> active_;  // open segments, at most one per thread
  int ranges_ = 0, primitives_ = 0;
  DividedTime divided_;
};

// Returns the log's steps after the warm-up that the trace contains completely, in ascending order,
// without outliers unless all are outliers.
std::vector<TimeRange> StepsIn(const imports::Trace& trace, const Steps& all,
                               const ProgramSteps& steps) {
  std::vector<TimeRange> whole, regular;
  for (std::size_t i = static_cast<std::size_t>(steps.warm_up_steps); i < all.ranges.size(); ++i) {
    const auto &begin = all.ranges[i].begin_seconds, &end = all.ranges[i].end_seconds;
    if (!begin || !end || *begin < trace.begin || *end > trace.end || *end <= *begin) continue;
    whole.emplace_back(*begin, *end);
    if (*end - *begin >= steps.least_wall_seconds.value_or(0) &&
        *end - *begin <= steps.most_wall_seconds.value_or(HUGE_VAL))
      regular.emplace_back(*begin, *end);
  }
  if (!regular.empty()) whole = std::move(regular);
  std::ranges::sort(whole);
  return whole;
}

// Removes the model's slow first steps (which compile it), at least one from kWarmUpFrom steps on.
void LeaveOutWarmUp(std::vector<TimeRange>& ranges) {
  const auto walls =
      VectorOf<double>(ranges, [](const auto& row) { return row.second - row.first; });
  auto slow = WarmUpSteps(walls);
  if (slow == 0 && walls.size() >= kWarmUpFrom) slow = 1;
  ranges.erase(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(slow));
}

// Returns the duration [s] of each range without that of hooks. `ranges`: ascending, disjoint.
std::vector<double> SecondsWithoutHooks(const imports::Trace& trace,
                                        const std::vector<TimeRange>& ranges) {
  auto seconds = VectorOf<double>(ranges, [](const auto& row) { return row.second - row.first; });
  for (const auto& call : trace.calls) {
    if (!IsHook(call)) continue;
    if (const auto range = RangeWith(ranges, call.begin))
      seconds[*range] -= std::min(call.end, ranges[*range].second) - call.begin;
  }
  return seconds;
}

// Makes the ranges the summary's steps. A primitive is in the step in which it begins.
void SetStepsFromModel(const imports::Trace& trace, const std::vector<TimeRange>& ranges,
                       const logs::VerboseLog& log, ProgramSummary& summary) {
  summary.steps.from = StepsFrom::kModel;
  summary.steps.reason.reset();
  summary.steps.count = static_cast<int>(ranges.size());
  SetStepMeans(
      log, TimelineOf(log), SecondsWithoutHooks(trace, ranges), ranges.size(),
      [&](const auto& begin, std::size_t) { return begin && RangeWith(ranges, *begin); }, summary);
}

ProgramPrimitive EntryOf(const imports::TraceOp& op, const OperatorTime& time) {
  ProgramPrimitive entry{.calls = static_cast<double>(time.each.size()), .seconds = time.seconds};
  entry.is_operator = true;
  entry.text = {.engine = "cpu", .kind = op.name, .implementation = "PyTorch", .prop = "operator"};
  for (const auto& sizes : op.sizes)
    if (!sizes.empty())
      entry.text.problem +=
          fmt::format("{}{}", entry.text.problem.empty() ? "" : ":", fmt::join(sizes, "x"));
  for (const auto& type : op.types)
    if (entry.text.auxiliary.empty()) entry.text.auxiliary = imports::TypeName(type);
  if (time.by_onednn) {
    entry.work_unknown = Reason{"its FLOPs are those of oneDNN's primitives in it"};
    return entry;
  }
  const auto count = imports::CountOfOp(op);
  entry.moves_data = count && count->moves_data;
  if (!count) entry.work_unknown = Reason{"not counted for this operator of PyTorch"};
  return entry;
}

// Appends an entry to summary.primitives for each operator, and one for all small operators.
// Returns the operators with an entry of their own.
std::vector<OperatorTime> AddEntries(const imports::Trace& trace, const DividedTime& divided,
                                     ProgramSummary& summary) {
  std::vector<OperatorTime> taken;
  ProgramPrimitive small;
  small.is_operator = true;
  small.text = {
      .engine = "cpu", .kind = "small operators", .implementation = "PyTorch", .prop = "operator"};
  small.work_unknown = Reason{"not counted: each takes less than 0.1 % of the time"};
  for (const auto& time : divided.operators) {
    if (time.seconds < kSmall * divided.seconds) {
      small.calls += static_cast<double>(time.each.size());
      small.seconds += time.seconds;
      continue;
    }
    summary.primitives.push_back(EntryOf(trace.ops[time.op], time));
    taken.push_back(time);
  }
  if (small.seconds > 0) summary.primitives.push_back(small);
  return taken;
}

// `steps`: number of complete steps in the trace; 0 if the whole trace was divided. `number`: the
// same, but 1 for the whole trace.
TracedProgram TracedOf(const DividedTime& divided, int steps, double number) {
  TracedProgram traced{.steps = steps,
                       .window_seconds = divided.seconds,
                       .hook_seconds = divided.hook_seconds / number,
                       .onednn_share = divided.onednn_seconds / divided.seconds,
                       .operator_share = divided.operator_seconds / divided.seconds,
                       .modules = divided.modules};
  traced.rest_share = std::max(1 - traced.onednn_share - traced.operator_share, 0.0);
  if (divided.onednn_seconds > 0)
    traced.onednn_matched = divided.onednn_in_operator_seconds / divided.onednn_seconds;
  for (auto& module : traced.modules) module.seconds /= number;
  return traced;
}

// Returns the factor [1] that converts operators' times in the trace to times in the mean step: the
// ratio of their times outside of oneDNN, or 1 if the step's is unknown.
double ScaleOf(const DividedTime& divided, double steps, const ProgramSummary& summary) {
  if (summary.steps.count == 0 || !summary.steps.wall_seconds) return 1;
  double inside = summary.steps.creation_seconds;
  for (const auto& primitive : summary.primitives) inside += primitive.step_seconds;
  const double outside = *summary.steps.wall_seconds - inside;
  const double traced = (divided.seconds - divided.onednn_seconds) / steps;
  return outside > 0 && traced > 0 ? outside / traced : 1;
}

}  // namespace

std::string ModulePath(std::string_view span) {
  span.remove_prefix(std::string_view(kModuleSpan).size());
  std::string path;
  for (std::size_t i = 0; i < span.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(span[i])) != 0;
    const bool after_dot = i > 0 && (span[i - 1] == '.' || path.ends_with('*'));
    if (digit && path.ends_with('*')) continue;
    path += digit && after_dot ? '*' : span[i];
  }
  return path;
}

DividedTime DivideTime(const imports::Trace& trace, const std::vector<TimeRange>& primitives,
                       const std::vector<TimeRange>& ranges) {
  return TimeDivider(trace, SegmentsOf(trace.calls)).Divide(primitives, ranges);
}

std::vector<TimeRange> PrimitiveRanges(const logs::VerboseLog& log) {
  std::vector<TimeRange> ranges;
  const auto add = [&](const auto& call) {
    if (call.process == log.main_process && call.start_seconds)
      ranges.emplace_back(*call.start_seconds, *call.start_seconds + call.seconds);
  };
  for (const auto& execution : log.executions) add(execution);
  for (const auto& creation : log.creations) add(creation);
  return ranges;
}

std::vector<TimeRange> ModelSteps(const imports::Trace& trace) {
  std::map<std::string, std::vector<double>> begins;  // of outermost modules, by name
  double end = 0;
  std::optional<std::size_t> thread;
  for (const auto& call : trace.calls) {
    if (!IsModule(call)) continue;
    if (thread == call.thread && call.begin < end) continue;  // inside of the last outermost module
    thread = call.thread;
    end = call.end;
    begins[call.span].push_back(call.begin);
  }
  const std::vector<double>* most = nullptr;
  for (const auto& [name, times] : begins)
    if (most == nullptr || times.size() > most->size()) most = &times;
  std::vector<TimeRange> steps;
  for (std::size_t i = 1; most != nullptr && i < most->size(); ++i)
    if ((*most)[i] > (*most)[i - 1]) steps.emplace_back((*most)[i - 1], (*most)[i]);
  return steps;
}

std::vector<OperatorTime> AddOperators(const imports::Trace& trace, const logs::VerboseLog& log,
                                       const Steps& steps_of_log, ProgramSummary& summary) {
  auto ranges = StepsIn(trace, steps_of_log, summary.steps);
  if (ranges.empty() && summary.steps.count == 0) {
    ranges = ModelSteps(trace);
    LeaveOutWarmUp(ranges);
    if (ranges.size() > 1)
      SetStepsFromModel(trace, ranges, log, summary);
    else
      ranges.clear();
  }
  const bool steps = !ranges.empty();
  if (!steps && summary.steps.count > 0 && summary.steps.wall_seconds) {
    summary.traced =
        TracedProgram{.of_no_step = true, .window_seconds = std::max(trace.end - trace.begin, 0.0)};
    return {};
  }
  if (ranges.empty()) ranges = {{trace.begin, trace.end}};
  const auto divided = DivideTime(trace, PrimitiveRanges(log), ranges);
  if (!(divided.seconds > 0)) return {};
  const double number = steps ? static_cast<double>(ranges.size()) : 1;
  const double scale = ScaleOf(divided, number, summary);
  auto taken = AddEntries(trace, divided, summary);
  if (summary.steps.count > 0)
    for (auto& primitive : summary.primitives)
      if (primitive.is_operator) {
        primitive.step_calls = primitive.calls / number;
        primitive.step_seconds = scale * primitive.seconds / number;
      }
  summary.traced = TracedOf(divided, steps ? static_cast<int>(ranges.size()) : 0, number);
  return taken;
}

}  // namespace dlroof::programs
