// Steps of a program: the period of its stream of primitives. Pure.
//
// A step is a segment of the stream that repeats with the same primitives, each as often, in nearly
// the same order: threads may exchange neighbours, and a step may have a few more or fewer. The
// shortest such segment counts. A stream of a single primitive has no steps, nor has one whose
// segments agree no better than by chance.
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
  std::optional<double> end_seconds;    // [s]; set if a later time stamp shows it
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

// `stream` has the primitive of each execution, below `distinct`. `count` is the number of steps,
// if known.
Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count = std::nullopt);

// Returns the marked steps of a log with marks, else detected ones, with their wall-clock times.
Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] by execution and by creation: the wall time in which it runs, divided by the number of
  // those that run then, so that all together are the time in which any runs. Without a time stamp
  // it is the execution's own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const verbose::VerboseLog& log);

// A division of the stream into segments, compared with their typical content.
struct StepDivision {
  std::vector<std::size_t> cuts;  // begins of segments, rising; the last one ends with the stream
  std::vector<bool> steady;       // by segment: it has the typical content
  std::size_t steady_count = 0;   // [1]
  double length = 0;              // [1] primitives in a segment, median
  double covered = 0;             // [1] primitives in steady segments
  double unexplained = 1;         // [1] share of the stream from the first steady segment on
  bool accepted = false;          // false: the stream has no steps
  std::vector<double> usual;      // [1] by primitive: occurrences in a step
  std::vector<bool> regular;      // by primitive: its occurrences agree better than by chance
};

// Returns the best division, with `count` steady segments if that is given. Takes time in
// proportion to the stream's length.
StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::optional<std::size_t> count);

}  // namespace dlroof::programs
