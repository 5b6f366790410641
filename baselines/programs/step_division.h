// Divides a stream of primitive executions into equal segments. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dlroof::programs {

// The pass of a training step to which a primitive belongs, if its log says so.
enum class Pass { kNone, kForward, kBackward };

// A division of the stream into segments that may be steps.
struct StepDivision {
  std::vector<std::size_t> cuts;  // begins of segments; the last one ends with the stream
  std::vector<bool> steady;       // by segment: it contains the usual primitives, and no others
  std::vector<bool> contains;     // by segment: it contains the usual primitives
  std::size_t steady_count = 0;   // [1]
  double length = 0;              // [1] primitives in a segment, median
  double covered = 0;             // [1] primitives in steady segments
  double unexplained = 1;         // [1] share of the stream that the steps do not explain
  bool accepted = false;          // false: the stream has no steps
  std::vector<double> usual;      // [1] by primitive: usual occurrences in a step
  std::vector<bool> regular;      // by primitive: its number per segment varies less than by chance
};

// Returns the best division (with `count` steady segments, if set), in time linear in the stream.
// `passes` are by primitive, and may be empty.
StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::optional<std::size_t> count, const std::vector<Pass>& passes = {});

}  // namespace dlroof::programs
