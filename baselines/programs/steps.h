// The steps (iterations) of a program: what it says itself, or a sequence of calls that its log
// repeats without a difference. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::programs {

struct StepRange {
  std::size_t begin = 0, end = 0;       // executions [begin, end)
  std::optional<double> begin_seconds;  // [s] on the clock of the executions
  std::optional<double> end_seconds;    // [s]; set if it follows from a later time stamp
};

enum class StepsFrom { kNone, kFound, kSpecified, kMarks, kModel, kGraphs };
// Returns "none", "found", "given", "marks", "model" (calls of the model that torch.profiler saw),
// "graphs" (launches of a CUDA graph).
std::string_view Key(StepsFrom from);
std::optional<StepsFrom> StepsFromKey(std::string_view key);

struct Steps {
  StepsFrom from = StepsFrom::kNone;
  std::vector<StepRange> ranges;  // in order
  std::optional<Reason> reason;   // set if there are no steps
};

// A sequence that the end of a stream repeats without a difference, from `begin` on.
struct RepeatedSequence {
  std::size_t begin = 0;
  std::size_t length = 0;  // [1] of the sequence
};

// Returns the shortest sequence that the stream repeats at least three times up to its end, over at
// least two thirds of it, and that is not one call alone. The stream may end within it. Takes
// linear time.
std::optional<RepeatedSequence> FindRepetition(std::span<const std::uint32_t> stream);

// Returns the repetitions of a stream (kFound) as steps. They end with the stream, or begin with it
// if all of it repeats. What is before them is the program's start.
Steps RepeatedSteps(std::span<const std::uint32_t> stream);

// Returns `count` steps (kSpecified): each begins with a call of a symbol that the stream has
// `count` times, or with every second, third, ... call of one that it has a multiple as often. Of
// several such symbols the one that makes most steps equally long is taken, and of those the first
// in the stream. Returns no steps if less than half of them are equally long.
Steps SpecifiedSteps(std::span<const std::uint32_t> stream, std::size_t count);

// Returns the steps between a log's marks, or `count` steps, or without both the repetitions of the
// main process's primitives, with wall-clock times. Ranges are of all executions; those of other
// processes in them are no part of the step.
Steps StepsOf(const logs::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] wall time of each execution and creation of the main process, divided among those that run
  // at the same time, so that the sum is the time in which any runs. Without time stamps, and for
  // other processes: the execution's own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const logs::VerboseLog& log);

// Returns the time of each execution [s]: its own, but for a ukernel its share of the wall time,
// since a program calls ukernels from all of its threads at the same time.
std::vector<double> CallSeconds(const logs::VerboseLog& log, const Timeline& timeline);

}  // namespace dlroof::programs
