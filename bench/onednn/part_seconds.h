// The cost of parts of a call, measured apart by the library's own primitives: the functions that a
// recurrent cell applies to each element, and matrix products of its sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dlroof::onednn {

// Cost of a part on one thread.
struct PartCost {
  double seconds = 0;                  // [s]
  std::optional<double> instructions;  // [1] absent: not counted (instruction_count.h)
};

// The cost of `sigmoids` and `tanhs` elements of f32, by the library's own primitives on 64 kB at a
// time, as its cells apply them to what lies in the nearest caches. Absent where it has no such
// primitive. Measures once per process, steps through each primitive for at most `step_seconds`.
std::optional<PartCost> FunctionCost(double sigmoids, double tanhs, double step_seconds);

// `count` products of an m x k by a k x n matrix.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  double count = 0;
};
enum class ProductBy { kMatmul, kGemm };  // the library's primitive, or its dnnl_sgemm (f32 only)
// The cost of the products with all factors in the nearest caches that hold them, less what 8 x 8 x
// 8 takes. `type` is of both factors, results are f32. Absent where the library has no such
// product. Measures each size once per process.
std::optional<PartCost> ProductCost(const std::vector<Product>& products, std::string_view type,
                                    ProductBy by, double step_seconds);

}  // namespace dlroof::onednn
