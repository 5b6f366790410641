// Division of a stream of primitives into pieces that come again (steps.h says which count). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dlroof::programs {

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
