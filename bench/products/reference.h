// The plain loops of a product as a benchmark: one thread, f64.
#pragma once

#include <functional>
#include <memory>

#include "bench/products/check.h"
#include "bench/products/inputs.h"
#include "bench/workload/workload.h"

namespace dlroof::products {

// The plain loops of an operator.
struct ProductLoops {
  // Returns the arrays of a call, filled with the inputs.
  std::function<ProductArrays<double>(const ProductInputs&)> arrays;
  std::function<void(ProductArrays<double>&)> run;
  // Returns what a call wrote, in plain order.
  std::function<ProductOutput<double>(const ProductArrays<double>&)> output;
};

// The types and options that the loops of every product have.
ProductOffer LoopsOffer();

// Throws Unsupported where the machine lacks the memory.
void RequireLoopsMemory(const ProductSizes& sizes);
// Fills what all operators' calls have in common.
workload::PreparedCall PreparedLoops(const std::shared_ptr<ProductArrays<double>>& arrays,
                           const ProductLoops& loops, Work modelled);

template <class Case>
workload::PreparedCall PrepareLoops(const Case& one, const workload::RunSettings& settings, const ProductLoops& loops) {
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
