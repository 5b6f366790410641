#include "baselines/programs/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "baselines/programs/step_doubts.h"
#include "reporters/verbose/primitive.h"

namespace dlroof::programs {
namespace {

// Returns the indices of the main process's executions.
std::vector<std::size_t> MainExecutions(const verbose::VerboseLog& log) {
  std::vector<std::size_t> main;
  main.reserve(log.executions.size());
  for (std::size_t i = 0; i < log.executions.size(); ++i)
    if (log.executions[i].process == log.main_process) main.push_back(i);
  return main;
}

constexpr double kLeastOfStep = 0.9;  // [1] share of a step's usual calls

// Returns whether the calls contain a step.
bool ContainsStep(std::span<const std::uint32_t> calls, std::span<const std::uint32_t> others,
                  const StepDivision& division) {
  std::vector<double> times(division.usual.size());
  for (const auto one : calls) ++times[one];
  for (const auto one : others) ++times[one];
  double same = 0, usual = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    same += std::min(times[i], division.usual[i]);
    usual += division.usual[i];
  }
  return same >= kLeastOfStep * usual;
}

// Returns whether the calls before the first cut contain a step, alone or with a segment behind the
// steady ones: where the cuts are within the steps, the first one begins before the first cut, and
// the last one ends in such a segment.
bool HasStepAtTheEdges(std::span<const std::uint32_t> stream, const StepDivision& division,
                       std::size_t last_steady) {
  const auto head = stream.first(division.cuts.front());
  if (ContainsStep(head, {}, division)) return true;
  for (std::size_t i = last_steady + 1; i < division.cuts.size(); ++i) {
    if (division.contains[i]) continue;
    const auto end = i + 1 < division.cuts.size() ? division.cuts[i + 1] : stream.size();
    if (ContainsStep(head, stream.subspan(division.cuts[i], end - division.cuts[i]), division))
      return true;
  }
  return false;
}

// Returns the number of steps by the calls of each of their primitives: N calls of a primitive that
// a step has n times are N / n steps. This number is taken if most primitives agree on one above
// `total`, or several on the smallest one: such steps are hidden in segments that differ, before an
// evaluation or at the stream's begin. Otherwise it is `total`. Of training steps only the
// primitives of backward passes count, because evaluations have the others too.
int TotalByCalls(std::span<const std::uint32_t> stream, const StepDivision& division,
                 const std::vector<Pass>& passes, int total) {
  constexpr double kLeastAgree = 0.8;       // [1] of the step's primitives
  constexpr double kLeastOfSmallest = 0.2;  // [1] of them, for the smallest number
  constexpr double kMostTimes = 1.5;        // [1] of `total`
  const auto of_step = [&](std::size_t one) { return division.usual[one] > 0; };
  const auto goes_backward = [&](std::size_t one) {
    return one < passes.size() && passes[one] == Pass::kBackward;
  };
  std::vector<double> calls(division.usual.size());
  for (const auto one : stream) ++calls[one];
  bool training = false;
  for (std::size_t one = 0; one < calls.size(); ++one)
    training = training || (of_step(one) && goes_backward(one));
  std::map<double, double> votes;  // for each number of steps
  double voters = 0;
  for (std::size_t one = 0; one < calls.size(); ++one) {
    if (!of_step(one) || (training && !goes_backward(one))) continue;
    ++voters;
    ++votes[calls[one] / division.usual[one]];
  }
  const auto is_possible = [&](double steps) {
    return steps == std::floor(steps) && steps > total && steps <= kMostTimes * total;
  };
  if (votes.empty()) return total;
  const auto most = std::ranges::max_element(votes, {}, [](const auto& one) { return one.second; });
  if (voters >= 2 && most->second >= kLeastAgree * voters)
    return is_possible(most->first) ? static_cast<int>(most->first) : total;
  // Calls outside of the steps only add to the number: the smallest one on which some agree is
  // right.
  for (const auto& [number, agree] : votes)
    if (agree >= std::max(2.0, kLeastOfSmallest * voters))
      return is_possible(number) ? static_cast<int>(number) : total;
  return total;
}

// Returns the steps between the begin and end marks in the log.
Steps MarkedSteps(const verbose::VerboseLog& log) {
  Steps steps;
  const verbose::StepMark* open = nullptr;
  for (const auto& mark : log.marks) {
    if (mark.begin) {
      open = &mark;
    } else if (open != nullptr && open->step == mark.step && mark.seconds >= open->seconds) {
      steps.ranges.push_back({open->before, mark.before, open->seconds, mark.seconds});
      open = nullptr;
    }
  }
  if (!steps.ranges.empty()) steps.from = StepsFrom::kMarks;
  steps.total = static_cast<int>(steps.ranges.size());
  return steps;
}

// The batch in a problem: the first size, or the number behind "mb". "mb4_ic3oc8" and "4x3x32x32"
// are the same layer in a batch of another size, such as the last one of a data set.
struct Batch {
  std::string problem;  // without it
  std::string number;   // "" if there is none
};

Batch BatchOf(const std::string& problem) {
  const auto digits = [&](std::size_t begin) {
    return std::min(problem.find_first_not_of("0123456789", begin), problem.size());
  };
  std::size_t begin = 0;
  if (const auto at = problem.find("mb"); at != std::string::npos && digits(at + 2) > at + 2)
    begin = at + 2;
  const auto end = digits(begin);
  return {problem.substr(0, begin) + problem.substr(end), problem.substr(begin, end - begin)};
}

// Returns the rows, the inner size and the columns of a product "8x32:32x64", or nothing.
std::optional<std::array<double, 3>> ProductSizes(const verbose::PrimitiveText& text) {
  if (text.kind != "matmul" && text.kind != "gemm_api") return std::nullopt;
  const auto dims = verbose::ReadDimsList(text.problem);
  if (!dims || dims->size() < 2 || dims->at(0).size() != 2 || dims->at(1).size() != 2 ||
      dims->at(0)[1] != dims->at(1)[0])
    return std::nullopt;
  return std::array{dims->at(0)[0], dims->at(0)[1], dims->at(1)[1]};
}

// A stream in which an inner loop of few primitives, which has most of the calls (the products of
// blocks of an attention's backward pass), is one call each time.
struct Outline {
  std::vector<std::uint32_t> stream;
  std::vector<std::size_t> begins;  // of each call in the whole stream, and the stream's end
};

Outline OutlineOf(std::span<const std::uint32_t> stream, std::size_t distinct) {
  constexpr double kOften = 0.2;           // [1] of all calls
  constexpr std::size_t kLeastOthers = 8;  // [1] other primitives
  constexpr std::size_t kShorter = 4;      // [1] times, by one call for each run
  std::vector<double> calls(distinct);
  for (const auto one : stream) ++calls[one];
  const auto is_inner = [&](std::uint32_t one) {
    return calls[one] >= kOften * static_cast<double>(stream.size());
  };
  Outline outline;
  std::set<std::uint32_t> others;
  std::optional<std::uint32_t> loop;  // stands for each run
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const bool inner = is_inner(stream[i]);
    if (!inner) others.insert(stream[i]);
    if (inner && i > 0 && is_inner(stream[i - 1])) continue;
    if (inner && !loop) loop = stream[i];
    outline.stream.push_back(inner ? *loop : stream[i]);
    outline.begins.push_back(i);
  }
  outline.begins.push_back(stream.size());
  if (others.size() >= kLeastOthers && kShorter * outline.stream.size() <= stream.size())
    return outline;
  outline.stream.assign(stream.begin(), stream.end());
  outline.begins.resize(stream.size() + 1);
  std::iota(outline.begins.begin(), outline.begins.end(), 0);
  return outline;
}

// Gives each primitive the first one that differs in the batch only.
class BatchClasses {
 public:
  explicit BatchClasses(const std::vector<verbose::PrimitiveText>& primitives)
      : first_(primitives.size()) {
    std::iota(first_.begin(), first_.end(), 0U);
    std::map<std::vector<std::string>, std::uint32_t> first;
    std::map<std::uint32_t, std::set<std::string>> batches;  // by first primitive
    for (std::uint32_t i = 0; i < primitives.size(); ++i) {
      const auto& text = primitives[i];
      const auto batch = BatchOf(text.problem);
      auto key = std::vector{text.kind, text.prop, text.auxiliary, batch.problem};
      // Layouts tell reorders apart; other kinds may have other layouts for another batch.
      if (text.problem.empty()) key.push_back(std::to_string(i));
      if (text.kind == "reorder") key.push_back(text.tensors);
      first_[i] = first.try_emplace(std::move(key), i).first->second;
      if (text.kind != "reorder") batches[first_[i]].insert(batch.number);
    }
    JoinGradients(primitives, batches);
  }

  std::vector<std::uint32_t> Firsts() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < first_.size(); ++i) all.push_back(Find(i));
    return all;
  }

 private:
  // The gradient of weights has the batch as its inner size: "16x64:64x32" and "16x40:40x32" are
  // the same one if there are batches of 64 and of 40.
  void JoinGradients(const std::vector<verbose::PrimitiveText>& primitives,
                     const std::map<std::uint32_t, std::set<std::string>>& batches) {
    // Batches are those of most layers; the rows of a gradient of weights look like one of few.
    std::map<double, std::size_t> layers;  // that have this batch, and another one
    std::size_t most = 0;
    for (const auto& [one, numbers] : batches)
      if (numbers.size() > 1)
        for (const auto& number : numbers)
          most = std::max(most, ++layers[std::atof(number.c_str())]);
    const auto is_batch = [&](double size) {
      const auto found = layers.find(size);
      return found != layers.end() && 2 * found->second > most;
    };
    std::map<std::vector<std::string>, std::uint32_t> first;
    for (std::uint32_t i = 0; i < primitives.size(); ++i) {
      const auto product = ProductSizes(primitives[i]);
      if (!product || !is_batch((*product)[1])) continue;
      const auto [found, added] =
          first.try_emplace({primitives[i].kind, primitives[i].prop, primitives[i].auxiliary,
                             fmt::format("{}x{}", (*product)[0], (*product)[2])},
                            i);
      if (!added)
        first_[std::max(Find(i), Find(found->second))] = std::min(Find(i), Find(found->second));
    }
  }

  std::uint32_t Find(std::uint32_t one) const {
    while (first_[one] != one) one = first_[one];
    return one;
  }

  std::vector<std::uint32_t> first_;  // an earlier one of the same class, or itself
};

// Doubts the steps if each primitive occurs twice, three times, ... in every step.
void CheckSmallest(const StepDivision& division, Steps& steps) {
  int common = 0;
  for (const double usual : division.usual) common = std::gcd(common, static_cast<int>(usual));
  if (common < 2) return;
  steps.other = steps.total * common;
  steps.doubt = Reason{
      fmt::format("every primitive of a step occurs {} times or a multiple in it, in different "
                  "orders: several passes of a network, or threads with steps of their own?",
                  common)};
}

constexpr std::string_view kFromKeys[] = {"none", "found", "given", "marks", "model", "graphs"};

// [s] Rounding of a time stamp: 13 digits before the point, in milliseconds, of a double.
constexpr double kStampSeconds = 1e-6;

struct Edge {
  double at = 0;  // [s]
  bool begins = false;
  std::size_t call = 0;
};

// Replaces the time of each call [s] by its share of the time in which calls run side by side.
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

std::string_view Key(StepsFrom from) { return kFromKeys[static_cast<std::size_t>(from)]; }

std::optional<StepsFrom> StepsFromKey(std::string_view key) {
  const auto* found = std::ranges::find(kFromKeys, key);
  if (found == std::end(kFromKeys)) return std::nullopt;
  return static_cast<StepsFrom>(found - kFromKeys);
}

Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count, const std::vector<Pass>& passes) {
  Steps steps;
  const auto division =
      FindDivision(stream, distinct,
                   count && *count > 0 ? std::optional<std::size_t>(*count) : std::nullopt, passes);
  if (!division.accepted) {
    steps.reason = Reason{count ? fmt::format("no {} equal steps found", *count)
                                : "no steady steps found: --steps says how many the program has"};
    return steps;
  }
  steps.from = count ? StepsFrom::kSpecified : StepsFrom::kFound;
  std::size_t last = 0;
  for (std::size_t i = 0; i < division.cuts.size(); ++i) {
    steps.total += division.steady[i] || division.contains[i] ? 1 : 0;
    if (!division.steady[i]) continue;
    if (!steps.ranges.empty()) steps.irregular += static_cast<int>(i - last - 1);
    last = i;
    steps.ranges.push_back(
        {division.cuts[i], i + 1 < division.cuts.size() ? division.cuts[i + 1] : stream.size()});
  }
  steps.total += HasStepAtTheEdges(stream, division, last) ? 1 : 0;
  if (!count) {
    steps.total = TotalByCalls(stream, division, passes, steps.total);
    CheckSmallest(division, steps);
  }
  return steps;
}

Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count) {
  if (!count)
    if (auto marked = MarkedSteps(log); marked.from == StepsFrom::kMarks) return marked;
  const auto main = MainExecutions(log);
  std::vector<std::uint32_t> stream;
  stream.reserve(main.size());
  for (const auto execution : main) stream.push_back(log.executions[execution].primitive);
  std::vector<Pass> passes;
  for (const auto& primitive : log.primitives)
    passes.push_back(primitive.prop.starts_with("backward")  ? Pass::kBackward
                     : primitive.prop.starts_with("forward") ? Pass::kForward
                                                             : Pass::kNone);
  const auto alike = BatchClasses(log.primitives).Firsts();
  for (auto& one : stream) one = alike[one];
  const auto outline = OutlineOf(stream, log.primitives.size());
  auto steps = FindSteps(outline.stream, log.primitives.size(), count, passes);
  for (auto& range : steps.ranges) {
    range.begin = outline.begins[range.begin];
    range.end = outline.begins[range.end];
  }
  if (steps.from == StepsFrom::kFound) CheckSteps({log, main, passes, stream}, steps);
  const auto start = [&](std::size_t of_main) -> std::optional<double> {
    if (of_main >= main.size()) return std::nullopt;
    return log.executions[main[of_main]].start_seconds;
  };
  for (auto& range : steps.ranges) {
    range.begin_seconds = start(range.begin);
    range.end_seconds = start(range.end);
    range.begin = main[range.begin];
    range.end = range.end < main.size() ? main[range.end] : log.executions.size();
    // Concatenated logs of several runs have clocks that go back.
    if (range.begin_seconds && range.end_seconds && *range.end_seconds < *range.begin_seconds)
      range.end_seconds.reset();
  }
  return steps;
}

Timeline TimelineOf(const verbose::VerboseLog& log) {
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
    const auto& one = log.executions[i];
    timeline.stamped = timeline.stamped && one.start_seconds.has_value();
    add(i, one.seconds, of_main(one.process, one.start_seconds));
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i) {
    const auto& one = log.creations[i];
    add(executions + i, one.seconds, of_main(one.process, one.start_seconds));
  }
  ShareTimes(edges, own);
  timeline.executions.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(executions));
  timeline.creations.assign(own.begin() + static_cast<std::ptrdiff_t>(executions), own.end());
  return timeline;
}

std::vector<double> CallSeconds(const verbose::VerboseLog& log, const Timeline& timeline) {
  std::vector<double> seconds;
  seconds.reserve(log.executions.size());
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    const auto& execution = log.executions[i];
    const bool shared = verbose::IsUkernel(log.primitives[execution.primitive]);
    seconds.push_back(shared ? timeline.executions[i] : execution.seconds);
  }
  return seconds;
}

std::vector<std::uint32_t> ThreadsOf(const verbose::VerboseLog& log) {
  std::vector<std::uint32_t> threads(log.executions.size());
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  const auto start = [&](std::size_t i) { return log.executions[i].start_seconds.value_or(0); };
  std::ranges::stable_sort(order, {}, start);
  std::vector<std::vector<double>> ends(log.processes.size());  // [s] by process and thread
  for (const auto i : order) {
    const auto& execution = log.executions[i];
    if (!execution.start_seconds) continue;
    auto& of_process = ends[execution.process];
    const auto free = std::ranges::find_if(
        of_process, [&](double end) { return end <= *execution.start_seconds + kStampSeconds; });
    threads[i] = static_cast<std::uint32_t>(free - of_process.begin());
    const double end = *execution.start_seconds + execution.seconds;
    if (free == of_process.end())
      of_process.push_back(end);
    else
      *free = end;
  }
  return threads;
}

}  // namespace dlroof::programs
