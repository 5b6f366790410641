// The check of a product's result against sums in double of the same inputs, element by element
// (without any library, so that tests can plant errors), and the plain loops of a product as a
// benchmark (f64 on one thread).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bench/products/case.h"
#include "bench/workload/workload.h"

namespace dlroof::products {

// One element of a result, summed on its own and so computed differently from the plain loops.
struct ProductElement {
  double value = 0;      // sum of the element's products, in double
  double magnitude = 0;  // sum of their absolute values, the scale of the rounding error

  void Add(double product) {
    value += product;
    magnitude += std::fabs(product);
  }
};

// The result of a call, in plain order, as f32 or wider.
template <class Number>
struct ProductOutput {
  std::vector<Number> values;
  std::vector<Number> bias_gradient = {};  // only of bwd_weights with bias
};

// An operator's result as sums of products. Each operator has a function
// ProductResult ResultOf(const Case&, const ProductInputs&); what it returns refers to both
// arguments.
struct ProductResult {
  int64_t count = 0;  // [1] elements
  int64_t terms = 1;  // [1] most products that an element sums
  // Returns distinct positions to compare, in order: the corners, then others chosen by the seed.
  std::function<std::vector<int64_t>(int64_t count, uint64_t seed)> sample;
  std::function<ProductElement(int64_t index)> element;
  std::function<int64_t(int64_t index)> channel;  // of an element of the destination
  std::function<ProductElement(int64_t channel)> bias_gradient;
};

// Compares `output` with reference sums of `inputs`, including the case's bias, relu and scales:
// all elements of a problem up to 50 MFLOP, otherwise a seeded sample of 64 to 512 elements (fewer
// if the sums are long), and every element of a bias gradient. In addition, every element must be
// finite. Errors are in units of the allowed error (so the tolerance is 1), which depends on the
// type of the result:
//   f64        2^-53 x 64 x the sum of absolute products
//   f32        2^-24 x 64 x the sum of absolute products
//   bf16, f16  as f32, plus the rounding of the result: 2^-8, 2^-11 of it
//   e4m3       2^-19 x 64 x the sum of absolute products, plus 2^-4 of the result and 2^-10
//   s32        1, plus 2^-23 of the result (which is read as f32)
//   u8, s8     1
// With fpmath the two factors of each product may be rounded, which adds 2 x 2^-8 (bf16, any), 2 x
// 2^-11 (f16, tf32) or, for truncation, 2 x 2^-10 (tf32-truncated) of the sum of absolute products.
template <class Number>  // float or double
workload::Verification CheckProduct(const ProductCase& one, const ProductSizes& sizes,
                                    const ProductResult& right, const ProductInputs& inputs,
                                    const ProductOutput<Number>& output, uint64_t seed);
template <class Case, class Number = float>
workload::Verification CheckOutput(const Case& one, const ProductInputs& inputs,
                                   const ProductOutput<Number>& output, uint64_t seed) {
  return CheckProduct(one, SizesOf(one), ResultOf(one, inputs), inputs, output, seed);
}

// The plain loops of an operator.
struct ProductLoops {
  // Returns the arrays of a call, filled with the inputs.
  std::function<ProductArrays<double>(const ProductInputs&)> arrays;
  std::function<void(ProductArrays<double>&)> run;
  // Returns what a call wrote, in plain order.
  std::function<ProductOutput<double>(const ProductArrays<double>&)> output;
};

// The types and options of every product's plain loops.
ProductCapabilities LoopsCapabilities();

// Throws Unsupported if the machine lacks the memory.
void RequireLoopsMemory(const ProductSizes& sizes);
// Fills what the calls of all operators have in common: everything but `verify` and `levels`.
workload::PreparedCall PreparedLoops(const std::shared_ptr<ProductArrays<double>>& arrays,
                                     const ProductLoops& loops, Work modelled);

template <class Case>
workload::PreparedCall PrepareLoops(const Case& one, const workload::RunSettings& settings,
                                    const ProductLoops& loops) {
  RequireLoopsMemory(SizesOf(one));
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
