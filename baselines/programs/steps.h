// Steps of a program: the period of its stream of primitives. Pure.
//
// A step is a piece of the stream that comes again with the same primitives, each as often, in
// nearly the same order: threads may exchange neighbours, a step may have a few more or fewer. The
// smallest such piece counts. A stream of one primitive alone has none, nor has one whose pieces
// agree no better than chance would have it.
//
// Division of a stream of primitives into pieces that come again (steps.h says which count). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reporters/verbose/verbose_log.h"

namespace dlroof::programs {

struct StepRange {
  std::size_t begin = 0, end = 0;       // executions [begin, end)
  std::optional<double> begin_seconds;  // [s] on the clock of the executions
  std::optional<double> end_seconds;    // [s]; absent: nothing follows that tells
};

enum class StepsFrom { kNone, kFound, kSpecified, kMarks };
// Returns "none", "found", "given", "marks".
std::string_view Key(StepsFrom from);
std::optional<StepsFrom> StepsFromKey(std::string_view key);

struct Steps {
  StepsFrom from = StepsFrom::kNone;
  std::vector<StepRange> ranges;  // steady steps, in order
  int irregular = 0;              // [1] pieces between the first and the last that differ
  std::string reason;             // without steps: why
};

// `stream`: the primitive of each execution, below `distinct`. `count`: of the steps, where
// somebody knows it; else they are found.
Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count = std::nullopt);

// Returns the marked steps of a log with marks, else those that are found, with their clock times.
Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] by execution and by creation: the clock's time in which it runs, divided by the number of
  // those that run then. Together they are the time in which anything runs. Without a time stamp:
  // its own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const verbose::VerboseLog& log);

// Pieces of the stream between cuts, held against their usual content.
struct StepDivision {
  std::vector<std::size_t> cuts;  // begins of pieces, rising; the last piece ends with the stream
  std::vector<bool> steady;       // by piece: it has the usual content
  std::size_t steady_count = 0;   // [1]
  double length = 0;              // [1] median of a piece
  double covered = 0;             // [1] primitives in steady pieces
  double unexplained = 1;         // [1] of the stream from the first steady piece on
  bool accepted = false;          // else the stream has no steps
  std::vector<double> usual;      // [1] by primitive: times in a step
  std::vector<bool> regular;      // by primitive: its times agree better than chance would have it
};

// Returns the best division; `count`: of its steady pieces, 0: any. Takes time in proportion to the
// stream's length.
StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::size_t count);

}  // namespace dlroof::programs
