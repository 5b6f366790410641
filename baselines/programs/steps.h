// Finds the steps (iterations) of a program in its stream of primitive executions. Pure.
//
// A step is the shortest segment of the stream that repeats with the same primitives, each equally
// often, in nearly the same order: threads may exchange neighbours, and a step may have a few more
// or fewer executions. A stream of a single primitive has no steps. A stream whose segments agree
// no better than by chance has none either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "reporters/verbose/verbose_log.h"

namespace dlroof::programs {

struct StepRange {
  std::size_t begin = 0, end = 0;       // executions [begin, end)
  std::optional<double> begin_seconds;  // [s] on the clock of the executions
  std::optional<double> end_seconds;    // [s]; set if it follows from a later time stamp
};

enum class StepsFrom { kNone, kFound, kSpecified, kMarks };
// Returns "none", "found", "given", "marks".
std::string_view Key(StepsFrom from);
std::optional<StepsFrom> StepsFromKey(std::string_view key);

struct Steps {
  StepsFrom from = StepsFrom::kNone;
  std::vector<StepRange> ranges;  // steady steps, in order
  int irregular = 0;              // [1] differing segments between the first and the last step
  std::optional<Reason> reason;   // set if there are no steps
};

// Returns the steps of `stream`, which has the index (< `distinct`) of each execution's primitive.
// `count` is the program's number of steps, if known.
Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count = std::nullopt);

// Returns the steps between a log's marks, or detected steps without marks, with wall-clock times.
Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] wall time of each execution and creation, divided among those that run at the same time, so
  // that the sum is the time in which any runs. Without time stamps: the execution's own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const verbose::VerboseLog& log);

// A division of the stream into segments that may be steps.
struct StepDivision {
  std::vector<std::size_t> cuts;  // begins of segments; the last one ends with the stream
  std::vector<bool> steady;       // by segment: it contains the usual primitives
  std::size_t steady_count = 0;   // [1]
  double length = 0;              // [1] primitives in a segment, median
  double covered = 0;             // [1] primitives in steady segments
  double unexplained = 1;         // [1] share of the stream that the steps do not explain
  bool accepted = false;          // false: the stream has no steps
  std::vector<double> usual;      // [1] by primitive: usual occurrences in a step
  std::vector<bool> regular;      // by primitive: its number per segment varies less than by chance
};

// Returns the best division (with `count` steady segments, if set), in time linear in the stream.
StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::optional<std::size_t> count);

}  // namespace dlroof::programs
