// The steps (iterations) of a program: marked by the program itself, or found as a sequence of
// calls that its log repeats exactly. Pure.
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
  std::optional<double> end_seconds;    // [s]; set if there is a later time stamp
};

enum class StepsFrom { kNone, kFound, kSpecified, kMarks, kModel, kGraphs };
// Returns "none", "found", "given", "marks", "model" (the model's calls recorded by
// torch.profiler), "graphs" (launches of a CUDA graph).
std::string_view Key(StepsFrom from);
std::optional<StepsFrom> StepsFromKey(std::string_view key);

struct Steps {
  StepsFrom from = StepsFrom::kNone;
  std::vector<StepRange> ranges;  // in order
  std::optional<Reason> reason;   // set if there are no steps
};

// A sequence that a stream repeats exactly from `begin` to its end.
struct RepeatedSequence {
  std::size_t begin = 0;
  std::size_t length = 0;  // [1] of the sequence
};

// Returns the shortest sequence of at least two calls that the stream repeats at least three times
// up to its end, over at least two thirds of the stream. The stream may end within the sequence.
// Takes linear time.
std::optional<RepeatedSequence> FindRepetition(std::span<const std::uint32_t> stream);

// Returns the repetitions of a stream as steps (kFound). They end with the stream, or begin with it
// if the whole stream repeats.
Steps RepeatedSteps(std::span<const std::uint32_t> stream);

// Returns `count` steps (kSpecified). Each begins with a symbol that is in the stream `count`
// times, or with every k-th occurrence of a symbol that is in it k x `count` times. Chooses the
// symbol that makes the most steps equally long, of tied symbols the first in the stream. Returns
// no steps if less than half of them are equally long.
Steps SpecifiedSteps(std::span<const std::uint32_t> stream, std::size_t count);

// Returns the steps between a log's marks, or `count` steps, or without both the repetitions of the
// main process's primitives, with wall-clock times. Ranges are indices of executions; executions of
// other processes in a range are not part of the step.
Steps StepsOf(const logs::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] wall time of each execution and creation of the main process. Time in which several run is
  // divided among them, so that the sum is the time in which any runs. Without time stamps, and for
  // other processes: the execution's own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const logs::VerboseLog& log);

// Returns the time [s] of each execution: its own time or, for a ukernel, its share of the wall
// time, because a program calls ukernels from all of its threads at the same time.
std::vector<double> CallSeconds(const logs::VerboseLog& log, const Timeline& timeline);

}  // namespace dlroof::programs
