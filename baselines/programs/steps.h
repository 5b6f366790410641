// Finds the steps (iterations) of a program in the primitive executions of its main process. Pure.
//
// A step is the shortest segment of the stream that repeats with the same primitives, each equally
// often, in nearly the same order, and that contains every primitive of the loop: threads may
// exchange neighbours, and a step may have a few more or fewer executions. A stream of a single
// primitive has no steps. A stream whose segments agree no better than by chance has none either.
// Accumulated gradients: each forward and backward pass is a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "baselines/programs/step_division.h"
#include "counters/base/error.h"
#include "reporters/verbose/verbose_log.h"

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
  std::vector<StepRange> ranges;  // steady steps, in order
  int irregular = 0;              // [1] differing segments between the first and the last step
  int total = 0;                  // [1] steady steps, and segments that contain a step and more
  std::optional<Reason> reason;   // set if there are no steps
  // Set if the number of steps is doubtful: why, without the numbers. `other` is another number
  // that is possible.
  std::optional<Reason> doubt;
  std::optional<int> other;
  bool confirmed = false;  // the program's own output counts as many
};

// Returns the steps of `stream`, which has the index (< `distinct`) of each execution's primitive.
// `count` is the program's number of steps, if known.
// `passes` are by primitive, and may be empty.
Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count = std::nullopt, const std::vector<Pass>& passes = {});

// Returns the steps between a log's marks, or detected steps without marks, with wall-clock times.
// Ranges are of all executions; those of other processes in them are no part of the step.
Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] wall time of each execution and creation of the main process, divided among those that run
  // at the same time, so that the sum is the time in which any runs. Without time stamps, and for
  // other processes: the execution's own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const verbose::VerboseLog& log);

// Returns the time of each execution [s]: its own, but for a ukernel its share of the wall time,
// since a program calls ukernels from all of its threads at the same time.
std::vector<double> CallSeconds(const verbose::VerboseLog& log, const Timeline& timeline);

// Returns the thread of each execution, from 0 in each process: the first one that was free when
// the call began. Calls of one thread do not overlap.
std::vector<std::uint32_t> ThreadsOf(const verbose::VerboseLog& log);

}  // namespace dlroof::programs
