#include "bench/products/reference.h"

#include <utility>

#include "bench/workload/host_memory.h"

namespace dlroof::products {
namespace {

std::vector<workload::MemoryRegion> Regions(const ProductArrays<double>& arrays) {
  std::vector<workload::MemoryRegion> regions;
  for (const auto* tensor : {&arrays.source, &arrays.weights, &arrays.destination, &arrays.bias})
    if (!tensor->empty())
      regions.push_back({tensor->data(), tensor->size() * sizeof(double),
                         tensor == &arrays.weights || tensor == &arrays.bias});
  return regions;
}

}  // namespace

ProductOffer LoopsOffer() { return {{"f64"}, false, {{"bias"}, {"relu"}}}; }

void RequireLoopsMemory(const ProductSizes& sizes) {
  // Inputs as f32, arrays in f64, and a copy of the output to check.
  constexpr double kBytes = 20;
  workload::RequireHostMemory(kBytes * static_cast<double>(sizes.source + sizes.weights + sizes.destination),
                    sizes.problem);
}

workload::PreparedCall PreparedLoops(const std::shared_ptr<ProductArrays<double>>& arrays,
                           const ProductLoops& loops, Work modelled) {
  workload::PreparedCall call;
  call.run = [arrays, run = loops.run] { run(*arrays); };
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = std::move(modelled);
  call.memory = Regions(*arrays);
  return call;
}

}  // namespace dlroof::products
