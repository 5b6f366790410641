#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "baselines/programs/program_summary.h"
#include "counters/base/keys.h"

namespace dlroof::programs {
namespace {

std::vector<std::size_t> MainExecutions(const logs::VerboseLog& log) {
  std::vector<std::size_t> main;
  main.reserve(log.executions.size());
  for (std::size_t i = 0; i < log.executions.size(); ++i)
    if (log.executions[i].process == log.main_process) main.push_back(i);
  return main;
}

Steps MarkedSteps(const logs::VerboseLog& log) {
  Steps steps;
  const logs::StepMark* open = nullptr;
  for (const auto& mark : log.marks) {
    if (mark.begin) {
      open = &mark;
    } else if (open != nullptr && open->step == mark.step && mark.seconds >= open->seconds) {
      steps.ranges.push_back({open->before, mark.before, open->seconds, mark.seconds});
      open = nullptr;
    }
  }
  if (!steps.ranges.empty()) steps.from = StepsFrom::kMarks;
  return steps;
}

// Returns the Z function of the reversed stream: element i is the length of the longest common
// prefix of the reversed stream and of its rest from position i on.
std::vector<std::size_t> MatchesFromTheEnd(std::span<const std::uint32_t> stream) {
  const std::size_t size = stream.size();
  const auto at = [&](std::size_t i) { return stream[size - 1 - i]; };
  std::vector<std::size_t> matches(size);
  std::size_t left = 0, right = 0;  // the match with the largest end so far
  for (std::size_t i = 1; i < size; ++i) {
    auto& own = matches[i];
    if (i < right) own = std::min(right - i, matches[i - left]);
    while (i + own < size && at(own) == at(i + own)) ++own;
    if (i + own > right) {
      left = i;
      right = i + own;
    }
  }
  return matches;
}

// The positions at which steps of a stream begin.
struct Cuts {
  std::vector<std::size_t> begins;
  std::size_t equal = 0;   // [1] steps of this length, without the last, whose end is unknown
  std::size_t length = 0;  // [1] most frequent number of calls of a step
};

Cuts CutsAt(const std::vector<std::size_t>& places, std::size_t apart) {
  Cuts cuts;
  std::map<std::size_t, std::size_t> times;  // number of steps by length
  for (std::size_t i = 0; i < places.size(); i += apart) {
    cuts.begins.push_back(places[i]);
    if (i == 0) continue;
    const auto length = places[i] - places[i - apart];
    if (++times[length] <= cuts.equal) continue;
    cuts.equal = times[length];
    cuts.length = length;
  }
  return cuts;
}

struct Edge {
  double at = 0;  // [s]
  bool begins = false;
  std::size_t call = 0;
};

// Replaces the time of each call [s] by its share of wall time: while n calls run, each gets 1/n.
void ShareTimes(std::vector<Edge>& edges, std::vector<double>& own) {
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.at != b.at ? a.at < b.at : a.begins && !b.begins;
  });
  // `shared` is the integral over time of 1 / (number of running calls).
  double shared = 0, before = 0;
  std::size_t running = 0;
  std::vector<double> at_begin(own.size());
  for (const auto& edge : edges) {
    if (running > 0) shared += (edge.at - before) / static_cast<double>(running);
    before = edge.at;
    if (edge.begins) {
      at_begin[edge.call] = shared;
      ++running;
    } else if (running > 0) {
      own[edge.call] = std::max(shared - at_begin[edge.call], 0.0);
      --running;
    }
  }
}

}  // namespace

std::optional<RepeatedSequence> FindRepetition(std::span<const std::uint32_t> stream) {
  constexpr std::size_t kMinTimes = 3;  // two equal halves may be epochs, or chance
  const auto matches = MatchesFromTheEnd(stream);
  std::size_t length = 0, longest = 0;
  for (std::size_t i = 1; kMinTimes * i <= stream.size(); ++i) {
    const auto repeated = i + matches[i];
    // Of sequences whose repetitions begin at the same place, takes the shortest.
    if (repeated < kMinTimes * i || repeated <= longest) continue;
    length = i;
    longest = repeated;
  }
  // Short repetitions of few kinds of calls may be chance.
  if (length < 2 || 3 * longest < 2 * stream.size()) return std::nullopt;
  return RepeatedSequence{stream.size() - longest, length};
}

Steps RepeatedSteps(std::span<const std::uint32_t> stream) {
  Steps steps;
  const auto found = FindRepetition(stream);
  if (!found) {
    steps.reason = Reason{"no sequence of calls repeats to the end without a difference"};
    return steps;
  }
  steps.from = StepsFrom::kFound;
  const auto rest = (stream.size() - found->begin) % found->length;
  auto begin = found->begin == 0 ? 0 : found->begin + rest;
  for (; begin + found->length <= stream.size(); begin += found->length)
    steps.ranges.push_back({begin, begin + found->length});
  return steps;
}

Steps SpecifiedSteps(std::span<const std::uint32_t> stream, std::size_t count) {
  Steps steps;
  std::map<std::uint32_t, std::vector<std::size_t>> places;  // by symbol
  for (std::size_t i = 0; i < stream.size(); ++i) places[stream[i]].push_back(i);
  Cuts best;
  for (const auto& [symbol, own] : places) {
    if (count == 0 || own.size() % count != 0) continue;
    auto cuts = CutsAt(own, own.size() / count);
    if (best.begins.empty() || cuts.equal > best.equal ||
        (cuts.equal == best.equal && cuts.begins.front() < best.begins.front()))
      best = std::move(cuts);
  }
  if (best.begins.empty() || 2 * best.equal + 1 < count) {
    steps.reason = Reason{fmt::format("no {} equal steps found", count)};
    return steps;
  }
  steps.from = StepsFrom::kSpecified;
  // The last step ends with the stream, or is as long as the others.
  const auto last = best.begins.back();
  best.begins.push_back(count < 2 ? stream.size() : std::min(last + best.length, stream.size()));
  for (std::size_t i = 1; i < best.begins.size(); ++i)
    steps.ranges.push_back({best.begins[i - 1], best.begins[i]});
  return steps;
}

Steps StepsOf(const logs::VerboseLog& log, std::optional<int> count) {
  if (!count)
    if (auto marked = MarkedSteps(log); marked.from == StepsFrom::kMarks) return marked;
  const auto main = MainExecutions(log);
  const auto stream = VectorOf<std::uint32_t>(
      main, [&](const auto execution) { return log.executions[execution].primitive; });
  const auto number = static_cast<std::size_t>(std::max(count.value_or(0), 0));
  auto steps = count ? SpecifiedSteps(stream, number) : RepeatedSteps(stream);
  if (!count && steps.reason)
    steps.reason->text +=
        ": --steps N, DLROOF_MARK lines around each step, or profile --torch tell the steps";
  const auto start = [&](std::size_t of_main) -> std::optional<double> {
    if (of_main >= main.size()) return std::nullopt;
    return log.executions[main[of_main]].start_seconds;
  };
  for (auto& range : steps.ranges) {
    range.begin_seconds = start(range.begin);
    range.end_seconds = start(range.end);
    range.begin = main[range.begin];
    range.end = range.end < main.size() ? main[range.end] : log.executions.size();
    // In concatenated logs of several runs the clock goes back.
    if (range.begin_seconds && range.end_seconds && *range.end_seconds < *range.begin_seconds)
      range.end_seconds.reset();
  }
  return steps;
}

Timeline TimelineOf(const logs::VerboseLog& log) {
  const std::size_t executions = log.executions.size();
  Timeline timeline{.stamped = executions > 0};
  std::vector<double> own(executions + log.creations.size());
  std::vector<Edge> edges;
  edges.reserve(2 * own.size());
  const auto add = [&](std::size_t call, double seconds, const std::optional<double>& start) {
    own[call] = seconds;
    if (!start) return;
    edges.push_back({*start, true, call});
    edges.push_back({*start + seconds, false, call});
  };
  const auto of_main = [&](std::uint32_t process, const std::optional<double>& start) {
    return process == log.main_process ? start : std::nullopt;
  };
  for (std::size_t i = 0; i < executions; ++i) {
    const auto& execution = log.executions[i];
    timeline.stamped = timeline.stamped && execution.start_seconds.has_value();
    add(i, execution.seconds, of_main(execution.process, execution.start_seconds));
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i) {
    const auto& creation = log.creations[i];
    add(executions + i, creation.seconds, of_main(creation.process, creation.start_seconds));
  }
  ShareTimes(edges, own);
  timeline.executions.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(executions));
  timeline.creations.assign(own.begin() + static_cast<std::ptrdiff_t>(executions), own.end());
  return timeline;
}

std::vector<double> CallSeconds(const logs::VerboseLog& log, const Timeline& timeline) {
  std::vector<double> seconds;
  seconds.reserve(log.executions.size());
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    const auto& execution = log.executions[i];
    const bool shared = logs::IsUkernel(log.primitives[execution.primitive]);
    seconds.push_back(shared ? timeline.executions[i] : execution.seconds);
  }
  return seconds;
}

}  // namespace dlroof::programs
