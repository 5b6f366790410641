// Common parts of the operators that multiply a source by weights (Conv2D, Matmul): direction,
// element types, options of a call, its work, its seeded inputs and its quantization scales; the
// comparison of a result, element by element, with sums in double of the same inputs, without any
// library, so that tests can insert errors; and an operator's reference loops as a benchmark.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/operator_parts.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::workload {

// Element types of source, weights and destination. The gradient of a tensor has the tensor's type.
struct ProductTypes {
  std::string source, weights, destination;

  bool operator==(const ProductTypes&) const = default;
};

// Returns the element types of a name's type: f32 f32 f32 for "f32" and "tf32", u8 s8 u8 for
// "int8", u8 s8 f32 for "u8s8f32", e4m3 e4m3 e4m3 for "fp8". Each combination has one spelling.
// Throws BadInput without a column for any other text.
ProductTypes ProductTypesFromKey(std::string_view type);
// Returns a name's type for these element types, e.g. "u8s8f32", or nullopt if no name has them.
std::optional<std::string> KeyOf(const ProductTypes& types);

bool IsByte(std::string_view element);   // true for "u8" and "s8"
bool IsInt8(const ProductTypes& types);  // true for integer source and weights
// The range of an integer type of weights, of 8 or 4 bits.
struct IntegerWeights {
  std::string_view type;
  float low, high;
};
// Returns the range of "s8 u8 s4 u4", or null for other types.
const IntegerWeights* FindIntegerWeights(std::string_view type);
// Returns whether the weights are integers of 8 or 4 bits and the other tensors are not. The
// library converts such weights to floating point within the product (oneDNN: decompression).
bool HasCompressedWeights(const ProductTypes& types);

// Returns the element type of the bias, which is f32 if the weights are integers.
std::string_view BiasType(const ProductTypes& types);
// Returns the type that selects the pipe: "int8", "fp8", "fp4", or the narrowest float ("bf16").
std::string_view ComputeType(const ProductTypes& types);

// A parsed benchmark name without its problem. An operator's case derives from this struct, adds
// the problem, and has a function ProductSizes SizesOf(const Case&).
struct ProductCase {
  ProductDirection direction = ProductDirection::kForward;
  std::string type = "f32";
  ProductTypes types = {"f32", "f32", "f32"};
  bool training = false;  // forward call of a training step, not of inference
  bool bias = false;      // fwd adds a bias per channel, bwd_weights computes its gradient
  bool sum = false;       // fwd adds its result to what is in the destination, in the same kernel
  // fwd applies this function to its result in the same kernel, after bias and sum.
  std::optional<Eltwise> eltwise;
  bool scales = false;  // int8 results use quantization scales, see ScalesOf
  // The narrower type in which f32 may be computed: "bf16", "f16", "tf32", "any", or (for the type
  // "tf32") "tf32-truncated", which truncates inputs to tf32 instead of rounding. Absent: f32.
  std::optional<std::string> fpmath;

  bool operator==(const ProductCase&) const = default;
};

// `count` products of an m x k and a k x n matrix.
struct MatrixProducts {
  int64_t m = 0, n = 0, k = 0, count = 0;

  bool operator==(const MatrixProducts&) const = default;
};

// The sizes of a problem, viewed as a matrix product.
struct ProductSizes {
  std::string problem;                   // the problem's text, for messages
  int64_t source, weights, destination;  // [1] elements
  int64_t channels;                      // [1] channels of the destination (filters, columns)
  int64_t terms;                         // [1] most products that are summed for one forward result
  int64_t flops;                         // [flop] of the matrix product in every direction
  double quantization_bytes = 0;         // [byte] scales and zero points of compressed weights
};

// The types and options that a backend accepts in names.
struct ProductCapabilities {
  std::vector<std::string> types;
  bool mixes = false;  // also accepts every combination of element types ("u8s8f32")
  OptionRows options;
  bool compressed_weights = false;  // with `mixes`: also HasCompressedWeights
};

// Parses direction, type and options of a name into `read`, and calls `read_problem` with the
// number of characters before the problem, to parse the problem. Throws BadInput with the column,
// counted from the start of the benchmark's full name, for an unknown direction, and for types and
// options that the backend does not accept, that are repeated or that are out of order.
void ReadProductCase(const BenchmarkName& name, const ProductCapabilities& capabilities,
                     const std::function<void(int column_offset)>& read_problem, ProductCase& read);
// Returns a parsed case. parse(text, characters before the problem) returns its `problem`.
template <class Case, class Parse>
Case ReadProductCase(const BenchmarkName& name, const ProductCapabilities& capabilities,
                     Parse parse) {
  Case read;
  ReadProductCase(
      name, capabilities, [&](int offset) { read.problem = parse(name.problem, offset); }, read);
  return read;
}

// Returns the element type of the tensor that the direction writes.
std::string_view ResultType(const ProductCase& product);

// Returns a call's work: the problem's FLOPs on `pipe`, elementwise FLOPs on fp32.vector (on `pipe`
// for f64), one launch, and the compulsory DRAM bytes of all tensors: those read and written, bias,
// scales and zero points of compressed weights, the destination before a sum; without padding.
Work ProductWork(const ProductCase& product, const ProductSizes& sizes, const std::string& pipe);
template <class Case>
Work ProductWork(const Case& product, const std::string& pipe) {
  return ProductWork(product, SizesOf(product), pipe);
}

// The three tensors of a call and its bias. A call reads two tensors and writes one.
template <class Number>
struct ProductArrays {
  std::vector<Number> source, weights, destination;
  std::vector<Number> bias = {};    // one per channel; empty if the call has no bias
  std::vector<Number> addend = {};  // what `sum` adds the result to; otherwise empty
};
// The inputs of a call in row-major order. The tensor that the call writes has no elements.
using ProductInputs = ProductArrays<float>;

// Quantization scales of the option `scales`: destination = (source scale x channel's scale x sum +
// bias, then `eltwise`) / destination scale. All scales are powers of two: they do not round.
struct ProductScales {
  float source = 1;
  std::vector<float> weights;  // per channel; empty if all scales are 1
  float destination = 1;       // always 1 for a destination wider than 8 bits

  float Weights(int64_t channel) const {
    return weights.empty() ? 1.0F : weights[static_cast<size_t>(channel)];
  }
};
ProductScales ScalesOf(const ProductCase& product, const ProductSizes& sizes);

// Returns seeded inputs of a call, uniformly distributed and exact in their element types (f64
// inputs are f32 values). Floating-point inputs are between -1 and 1, compressed weights any
// integer of their type. Other integer inputs are
// - for an 8-bit destination without scales, which saturates: weights of -1, 0 and 1, and a source
//   so small that the sums have a standard deviation of about 60;
// - otherwise: u8 from 0 to 127, s8 from -63 to 63, weights with a raised lower bound so that most
//   sums are positive.
// Sums are exact even without VNNI: the sum of two adjacent products fits 16 bits, even if oneDNN
// adds 128 to an s8 source. For an s8 source weights are even (-2, 0, 2): oneDNN halves them.
ProductInputs SeededInputs(const ProductCase& product, const ProductSizes& sizes, uint64_t seed);

template <class Case>
ProductScales ScalesOf(const Case& product) {
  return ScalesOf(product, SizesOf(product));
}
template <class Case>
ProductInputs SeededInputs(const Case& product, uint64_t seed) {
  return SeededInputs(product, SizesOf(product), seed);
}

// Adds the bias and the addend and applies `eltwise` (fwd), or computes the gradient of the bias
// (bwd_weights), on row-major arrays. `channel_of` returns the channel of a destination element.
template <class Number, class ChannelOf>
void AddVariant(const ProductCase& product, int64_t channels, ChannelOf channel_of,
                ProductArrays<Number>& arrays) {
  const bool forward = product.direction == ProductDirection::kForward;
  if (product.bias && !forward) arrays.bias.assign(static_cast<size_t>(channels), Number{});
  for (size_t i = 0; product.bias && i < arrays.destination.size(); ++i) {
    Number& bias = arrays.bias[channel_of(i)];
    if (forward)
      arrays.destination[i] += bias;
    else
      bias += arrays.destination[i];
  }
  for (size_t i = 0; product.sum && i < arrays.destination.size(); ++i)
    arrays.destination[i] += arrays.addend[i];
  if (product.eltwise)
    for (auto& value : arrays.destination) value = Apply(*product.eltwise, value);
}

// One element of a result, computed on its own, in a different way than by the reference loops.
struct ProductElement {
  double value = 0;      // sum of the element's products, in double
  double magnitude = 0;  // sum of their absolute values, the scale of the rounding error

  void Add(double product) {
    value += product;
    magnitude += std::fabs(product);
  }
};

// The result of a call in row-major order, as f32 or wider.
template <class Number>
struct ProductOutput {
  std::vector<Number> values;
  std::vector<Number> bias_gradient = {};  // set for bwd_weights with bias
};

// Computes single elements of an operator's reference result. Each operator defines ProductResult
// ResultOf(const Case&, const ProductInputs&), whose result stores references to both arguments.
struct ProductResult {
  int64_t count = 0;  // [1] elements
  int64_t terms = 1;  // [1] most products that are summed for an element
  // Returns at most `count` distinct indices in ascending order: all corners, others by the seed.
  std::function<std::vector<int64_t>(int64_t count, uint64_t seed)> sample;
  std::function<ProductElement(int64_t index)> element;
  std::function<int64_t(int64_t index)> channel;  // channel of a destination element
  std::function<ProductElement(int64_t channel)> bias_gradient;
};

// Compares `output` with reference sums of `inputs` to which the case's bias, sum, function and
// scales are applied: all elements of a problem up to 50 MFLOP, otherwise a seeded sample of 512
// (of long sums down to 64) elements, and every element of a bias gradient. Every element
// must also be finite. Errors are in units of the allowed error, so the tolerance is 1. The allowed
// error depends on the type of the result:
//   f64        2^-53 x 64 x the sum of absolute products
//   f32        2^-24 x 64 x the sum of absolute products
//   bf16, f16  as f32, plus the rounding of the result: 2^-8, 2^-11 of the result
//   e4m3       2^-19 x 64 x the sum of absolute products, plus 2^-4 of the result and 2^-10
//   bf16 of a source in e4m3 or e2m1: 2^-19 x 64 x that sum, plus 2^-8 of the result
//   s32        1, plus 2^-23 of the result (which is read as f32)
//   u8, s8     1
// The sum of absolute products includes |bias| and |addend|. A function's own error is within these
// 64 units: oneDNN's GELU by erf has 1.5e-7 x |x| / 2, and no function has a slope above 1.13.
// With fpmath both factors of each product may be rounded. This adds 2 x 2^-8 (bf16, any), 2 x
// 2^-11 (f16, tf32) or 2 x 2^-10 (tf32-truncated) of the sum of absolute products.
template <class Number>  // float or double
Verification CheckProduct(const ProductCase& product, const ProductSizes& sizes,
                          const ProductResult& right, const ProductInputs& inputs,
                          const ProductOutput<Number>& output, uint64_t seed);
template <class Case, class Number = float>
Verification CheckOutput(const Case& product, const ProductInputs& inputs,
                         const ProductOutput<Number>& output, uint64_t seed) {
  return CheckProduct(product, SizesOf(product), ResultOf(product, inputs), inputs, output, seed);
}

// Throws Unsupported if the machine lacks the memory for the reference loops.
void RequireLoopsMemory(const ProductCase& product, const ProductSizes& sizes);

// Returns the arrays of one call of reference loops, with the inputs in them.
ProductArrays<double> ArraysOf(const ProductInputs& inputs, const ProductSizes& sizes);
// Returns what a call wrote.
ProductOutput<double> OutputOf(const ProductCase& product, const ProductArrays<double>& arrays);

template <class Case>
struct ProductLoops {
  Case (*read)(const BenchmarkName& name, const ProductCapabilities& capabilities);
  OptionRows options;
  void (*run)(const Case& product, ProductArrays<double>& arrays);
  // As ArraysOf and OutputOf, for loops whose arrays are not the tensors in row-major order.
  ProductArrays<double> (*arrays)(const Case& product, const ProductInputs& inputs) =
      [](const Case& product, const ProductInputs& inputs) {
        return ArraysOf(inputs, SizesOf(product));
      };
  ProductOutput<double> (*output)(const Case& product, const ProductArrays<double>& arrays) =
      [](const Case& product, const ProductArrays<double>& written) {
        return OutputOf(product, written);
      };
};

// Registers the backend OP/cpu/reference: the loops as a benchmark, in f64 on one thread.
template <class Case>
bool RegisterLoops(const std::string& op, const ProductLoops<Case>& loops) {
  const auto read = [loops](const BenchmarkName& name) {
    return loops.read(name, {{"f64"}, false, loops.options});
  };
  const auto prepare = [loops, read](const BenchmarkName& name, const RunSettings& settings) {
    const auto product = read(name);
    RequireLoopsMemory(product, SizesOf(product));
    const auto inputs = std::make_shared<const ProductInputs>(SeededInputs(product, settings.seed));
    const auto arrays = std::make_shared<ProductArrays<double>>(loops.arrays(product, *inputs));
    return PreparedLoops([=] { loops.run(product, *arrays); },
                         [=, seed = settings.seed] {
                           return CheckOutput(product, *inputs, loops.output(product, *arrays),
                                              seed);
                         },
                         ProductWork(product, "fp64.vector"),
                         {&arrays->source, &arrays->destination, &arrays->addend},
                         {&arrays->weights, &arrays->bias});
  };
  return RegisterBackend({op, "cpu", "reference", CheckedWorkload(read), std::nullopt, prepare});
}

}  // namespace dlroof::workload
