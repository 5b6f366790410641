// Scales of products of narrow types (fp8, fp4): which elements of a factor share one, and how
// cuBLASLt reads them in memory (cuBLAS 13 documentation, 3.1.4, "Narrow Precision Data Types").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/matmul/case.h"
#include "counters/base/error.h"

namespace dlroof::matmul {

// Returns the options of names that choose the scales.
std::vector<std::string_view> ScalingOptions();
// Returns the scales that an option of the name chooses, or kNone.
Scaling ScalingOf(const workload::BenchmarkName& name);

// Returns why a GPU of this compute capability (90 for 9.0) has no such product, or nullopt.
std::optional<Reason> ScalingRefusal(const MatmulCase& matmul, int compute_capability);

// The scales of one factor of a forward product. A scaled element is the element times its scale.
// Both factors are stored with consecutive elements along the sum's dimension.
class FactorScales {
 public:
  // `matrix` is kA or kB. The scales are seeded: 1/2, 1 or 2, which every scale's type has.
  FactorScales(const MatmulCase& matmul, Matrix matrix, uint64_t seed);

  int64_t count() const;  // 0 without scales
  double Bytes() const;   // of all scales, without padding
  // Returns the scale of element `step` of the sum in row `row` of A, or in column `row` of B.
  float At(int64_t row, int64_t step) const;
  // Multiplies the elements of a factor by their scales.
  void Apply(std::vector<float>& elements) const;
  // Returns the scales in cuBLASLt's order and type, with its padding.
  std::vector<std::byte> Stored() const;

 private:
  size_t StoredIndex(int64_t row_block, int64_t block) const;
  size_t StoredCount() const;

  bool is_weights_;
  std::string_view type_;              // of a scale; empty without scales
  bool is_tiled_;                      // stored in tiles of 128 rows and 4 scales along the sum
  bool is_padded_;                     // stored in multiples of 4 along the sum
  int64_t rows_, depth_;               // of the factor
  int64_t block_rows_, block_depth_;   // of the elements that share a scale
  int64_t row_blocks_, depth_blocks_;  // numbers of scales
  std::vector<float> values_;          // row_blocks_ x depth_blocks_
};

// Returns the bytes of both factors' scales, each once.
double ScaleBytes(const MatmulCase& matmul);

}  // namespace dlroof::matmul
