// A parsed Matmul benchmark name: problem, direction, types, options. Also the work of one call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/matmul/problem.h"
#include "bench/matmul/product.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/work.h"

namespace dlroof {

// Element types of A, B and C; of a gradient, the type of its matrix.
struct MatmulTypes {
  std::string source, weights, destination;

  bool operator==(const MatmulTypes&) const = default;
};

// Returns f32 f32 f32 for "f32" and "tf32", u8 s8 u8 for "int8", u8 s8 f32 for "u8s8f32". Throws
// BadInput without a column for anything that is not a type's one spelling.
MatmulTypes MatmulTypesFromKey(std::string_view type);
// The inverse; empty where a name has no word for these types.
std::string KeyOf(const MatmulTypes& types);
bool IsInt8(const MatmulTypes& types);  // integer A and B

struct MatmulCase {
  MatmulProblem problem;
  MatmulDirection direction = MatmulDirection::kForward;
  std::string type = "f32";
  MatmulTypes types = {"f32", "f32", "f32"};
  bool ip = false;        // by the library's inner product, which has n x k weights
  bool training = false;  // ip: fwd as a training step runs it, not as inference
  bool bias = false;      // fwd adds one number per column, bwd_weights of ip makes its gradient
  bool relu = false;      // fwd, fused: negative results become 0
  bool scales = false;    // int8: quantization scales, see MatmulScalesOf
  bool any = false;       // fwd: the library chooses the order of every matrix
  // "bf16", "f16", "tf32", "any": f32 may be computed so; "tf32-truncated": so, without rounding;
  // empty: may not.
  std::string fpmath;

  bool operator==(const MatmulCase&) const = default;
};

// The product that a call computes. With `ip` the weights lie in memory as n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

// The element type of a matrix, and of the bias: f32 beside integer weights.
std::string_view TypeOf(const MatmulTypes& types, Matrix matrix);
std::string_view BiasType(const MatmulTypes& types);
// "bf16": the narrowest floating type of the three, "int8" for integers.
std::string_view ComputeType(const MatmulTypes& types);

// The names that a cell takes.
struct MatmulOffer {
  std::vector<std::string> types;
  bool mixes = false;  // any A, B and C type beside
  OptionRows options;
};
// The options that exist, in the order of a name; a cell offers all or some of these rows.
const OptionRows& MatmulOptions();

// Throws BadInput with the column within the whole name for an unknown direction, a type that is
// not offered, a bad problem, an option that is not offered, twice or in the wrong order, or one
// that the direction, the type or the problem cannot have.
MatmulCase ReadMatmulCase(const BenchmarkName& name, const MatmulOffer& offer);

// Reads a name of Matmul/cpu/onednn.
MatmulCase ReadOnednnMatmulCase(const BenchmarkName& name);

// [flop] beside the dense count: each bias add and each relu counts 1 per element of C, each add
// to the bias gradient too.
int64_t ElementwiseFlops(const MatmulCase& matmul);

// [byte] of one element: "f32" is 4.
int64_t MatmulElementBytes(std::string_view type);

// Returns the work of a call in any direction: dense FLOPs on `pipe`, elementwise ones on
// fp32.vector (on `pipe` for f64), compulsory DRAM bytes (each matrix and the bias once), one
// launch.
Work MatmulWork(const MatmulCase& matmul, const std::string& pipe);

}  // namespace dlroof
