// Compares the result of an operator of case.h element by element with sums in double of the same
// inputs, without any library, so that tests can insert errors. Also prepares an operator's
// reference loops as a benchmark (f64 on one thread).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bench/products/case.h"
#include "bench/workload/workload.h"

namespace dlroof::products {

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
// scales are applied: all elements of a problem up to 50 MFLOP, otherwise a seeded sample of 64 to
// 512 elements (fewer if the sums are long), and every element of a bias gradient. Every element
// must also be finite. Errors are in units of the allowed error, so the tolerance is 1. The allowed
// error depends on the type of the result:
//   f64        2^-53 x 64 x the sum of absolute products
//   f32        2^-24 x 64 x the sum of absolute products
//   bf16, f16  as f32, plus the rounding of the result: 2^-8, 2^-11 of the result
//   e4m3       2^-19 x 64 x the sum of absolute products, plus 2^-4 of the result and 2^-10
//   s32        1, plus 2^-23 of the result (which is read as f32)
//   u8, s8     1
// The sum of absolute products includes |bias| and |addend|. A function's own error is within these
// 64 units: oneDNN's GELU by erf has 1.5e-7 x |x| / 2, and no function has a slope above 1.13.
// With fpmath both factors of each product may be rounded. This adds 2 x 2^-8 (bf16, any), 2 x
// 2^-11 (f16, tf32) or 2 x 2^-10 (tf32-truncated) of the sum of absolute products.
template <class Number>  // float or double
workload::Verification CheckProduct(const ProductCase& one, const ProductSizes& sizes,
                                    const ProductResult& right, const ProductInputs& inputs,
                                    const ProductOutput<Number>& output, uint64_t seed);
template <class Case, class Number = float>
workload::Verification CheckOutput(const Case& one, const ProductInputs& inputs,
                                   const ProductOutput<Number>& output, uint64_t seed) {
  return CheckProduct(one, SizesOf(one), ResultOf(one, inputs), inputs, output, seed);
}

// The reference loops of an operator.
struct ProductLoops {
  // Returns the arrays of one call, with the inputs in them.
  std::function<ProductArrays<double>(const ProductInputs&)> arrays;
  std::function<void(ProductArrays<double>&)> run;
  // Returns the tensor that a call wrote, in row-major order.
  std::function<ProductOutput<double>(const ProductArrays<double>&)> output;
};

// Returns the types that the reference loops of all operators accept, with these options.
ProductCapabilities LoopsCapabilities(workload::OptionRows options);

// Throws Unsupported if the machine lacks the memory for the reference loops.
void RequireLoopsMemory(const ProductCase& one, const ProductSizes& sizes);
// Returns a prepared call of the reference loops with all members but `verify` and `levels`.
workload::PreparedCall PreparedLoops(const std::shared_ptr<ProductArrays<double>>& arrays,
                                     const ProductLoops& loops, Work modelled);

template <class Case>
workload::PreparedCall PrepareLoops(const Case& one, const workload::RunSettings& settings,
                                    const ProductLoops& loops) {
  RequireLoopsMemory(one, SizesOf(one));
  const auto inputs = std::make_shared<const ProductInputs>(SeededInputs(one, settings.seed));
  const auto arrays = std::make_shared<ProductArrays<double>>(loops.arrays(*inputs));
  auto call = PreparedLoops(arrays, loops, ProductWork(one, "fp64.vector"));
  call.verify = [one, arrays, inputs, loops, seed = settings.seed] {
    loops.run(*arrays);
    return CheckOutput(one, *inputs, loops.output(*arrays), seed);
  };
  return call;
}

}  // namespace dlroof::products
