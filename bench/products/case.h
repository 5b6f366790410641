// The part of a parsed benchmark name that all operators have which multiply a source by weights:
// direction, element types of the tensors, variant of the call. Also the work of one call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/direction.h"
#include "counters/work.h"

namespace dlroof::products {

// Element types of the three tensors; of a gradient, the type of its tensor.
struct ProductTypes {
  std::string source, weights, destination;

  bool operator==(const ProductTypes&) const = default;
};

// "f32" and "tf32" -> f32 f32 f32, "int8" -> u8 s8 u8, "u8s8f32" -> u8 s8 f32, "fp8" -> three times
// e4m3. Throws BadInput without a column for anything that is not a type's one spelling.
ProductTypes ProductTypesFromKey(std::string_view type);
// The inverse of ProductTypesFromKey; empty where a name has no word for these types.
std::string KeyOf(const ProductTypes& types);

bool IsByte(std::string_view element);   // "u8", "s8"
bool IsInt8(const ProductTypes& types);  // integer source and weights

// The element type of the bias: f32 beside integer weights.
std::string_view BiasType(const ProductTypes& types);
// "bf16": the narrowest floating type of the three tensors, "int8" for integers, "fp8"; what
// decides the unit that computes.
std::string_view ComputeType(const ProductTypes& types);

// An operator's case derives from it, adds its problem, and has a function
// ProductSizes SizesOf(const Case&).
struct ProductCase {
  ProductDirection direction = ProductDirection::kForward;
  std::string type = "f32";
  ProductTypes types = {"f32", "f32", "f32"};
  bool training = false;  // fwd as a training step runs it, not as inference
  bool bias = false;      // fwd adds one number per channel, bwd_weights makes its gradient
  bool relu = false;      // fwd, fused: negative results become 0
  bool scales = false;    // int8: quantization scales, see ScalesOf
  // "bf16", "f16", "tf32", "any": f32 may be computed so; "tf32-truncated": so, without rounding;
  // empty: may not.
  std::string fpmath;

  bool operator==(const ProductCase&) const = default;
};

// A problem as a product.
struct ProductSizes {
  std::string problem;                   // its text
  int64_t source, weights, destination;  // [1] elements
  int64_t channels;                      // [1] of the destination: filters, columns
  int64_t terms;                         // [1] products that one forward result sums at most
  int64_t flops;                         // [flop] dense, in every direction
};

// The names that a cell takes.
struct ProductOffer {
  std::vector<std::string> types;
  bool mixes = false;  // any source, weights and destination type beside
  workload::OptionRows options;
};

// Reads into `read` all that ProductCase has; `read_problem` parses the problem, which begins
// behind that many columns. Throws BadInput with the column within the whole name for an unknown
// direction, a type that is not offered, and an option that is not offered, twice or in the wrong
// order.
void ReadProductCase(const workload::BenchmarkName& name, const ProductOffer& offer,
                     const std::function<void(int column_offset)>& read_problem, ProductCase& read);

// The element type of what a direction writes.
std::string_view ResultType(const ProductCase& one);

// [flop] beside the dense count, of element by element operations: each bias add and each relu
// counts 1 per element of the destination, each add to the bias gradient 1 per gradient element.
int64_t ElementwiseFlops(const ProductCase& one, const ProductSizes& sizes);

// Returns the work of one call in any direction: dense FLOPs on `pipe`, element by element ones on
// fp32.vector (on `pipe` for f64), compulsory DRAM bytes (each of the three tensors once, whole,
// without padding: two are read and one is written; the bias once), one launch.
Work ProductWork(const ProductCase& one, const ProductSizes& sizes, const std::string& pipe);
template <class Case>
Work ProductWork(const Case& one, const std::string& pipe) {
  return ProductWork(one, SizesOf(one), pipe);
}

}  // namespace dlroof::products
