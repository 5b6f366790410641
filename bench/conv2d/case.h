// What a conv2d benchmark's name asks for: a problem, a direction, the types of its tensors and the
// variant of the call; and the work of one such call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/conv2d/problem.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/work.h"

namespace dlroof {

// Element types of the three tensors; of a gradient, the type of its tensor.
struct Conv2dTypes {
  std::string source, weights, destination;

  bool operator==(const Conv2dTypes&) const = default;
};

// "f32" and "tf32" -> f32 f32 f32, "int8" -> u8 s8 u8, "u8s8f32" -> u8 s8 f32, "fp8" -> three times
// e4m3. Throws BadInput
// without a column for anything that is not a type's one spelling.
Conv2dTypes Conv2dTypesFromKey(std::string_view type);
bool IsInt8(const Conv2dTypes& types);  // integer source and weights

// The layout of source and destination in memory; `any` is the library's choice.
enum class Conv2dLayout { kAny, kNchw, kNhwc };
enum class Conv2dAlgorithm { kDirect, kAuto, kWinograd };

struct Conv2dCase {
  Conv2dProblem problem;
  Conv2dDirection direction = Conv2dDirection::kForward;
  std::string type = "f32";
  Conv2dTypes types = {"f32", "f32", "f32"};
  bool training = false;  // fwd as a training step runs it, not as inference
  bool bias = false;      // fwd adds one number per filter, bwd_weights makes its gradient
  bool relu = false;      // fwd, fused: negative results become 0
  bool scales = false;    // int8: quantization scales, see Conv2dScalesOf
  Conv2dLayout layout = Conv2dLayout::kAny;
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kDirect;
  // "bf16", "f16", "tf32", "any": f32 may be computed so; "tf32-truncated": so, without rounding;
  // empty: may not.
  std::string fpmath;

  bool operator==(const Conv2dCase&) const = default;
};

// The element type of what a direction writes, and of the bias: f32 beside integer weights.
std::string_view ResultType(const Conv2dCase& conv);
std::string_view BiasType(const Conv2dTypes& types);
// "bf16": the narrowest floating type of the three tensors, "int8" for integers, "fp8"; what
// decides the unit that computes.
std::string_view ComputeType(const Conv2dTypes& types);

// The options that exist, in the order of a name; a cell offers all or some of these rows.
const OptionRows& Conv2dOptions();

// What a cell takes.
struct Conv2dOffer {
  std::vector<std::string> types;
  bool mixes = false;  // any source, weights and destination type beside
  OptionRows options;
};

// Throws BadInput with the column within the whole name for an unknown direction, a type that is
// not offered, a bad problem, an option that is not offered, twice or in the wrong order, or one
// that the direction or the type cannot have.
Conv2dCase ReadConv2dCase(const BenchmarkName& name, const Conv2dOffer& offer);

// Reads a name of Conv2D/cpu/onednn.
Conv2dCase ReadOnednnConv2dCase(const BenchmarkName& name);

// [flop] beside the dense count, of element by element operations: each bias add and each relu
// counts 1 per output, each add to the bias gradient 1 per gradient element.
int64_t ElementwiseFlops(const Conv2dCase& conv);

// Of one call in any direction: dense FLOPs on `pipe`, element by element ones on fp32.vector (on
// `pipe` for f64), compulsory DRAM bytes (each of the three tensors once, whole, without padding:
// two are read and one is written; the bias once), one launch.
Work Conv2dWork(const Conv2dCase& conv, const std::string& pipe);

}  // namespace dlroof
