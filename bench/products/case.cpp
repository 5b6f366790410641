#include "bench/products/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/workload/device_elements.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

ProductTypes ReadTypes(const BenchmarkName& name, const ProductOffer& offer) {
  const bool listed = std::ranges::count(offer.types, name.type) > 0;
  try {
    auto types = ProductTypesFromKey(name.type);
    if (listed || (offer.mixes && !IsNamedType(name.type))) return types;
  } catch (const BadInput&) {
    // The refusal below lists what there is.
  }
  throw BadInput({.column = ColumnOfPart(name, 4)}, "expected a type ({}{}), got '{}'",
                 fmt::join(offer.types, ", "), offer.mixes ? ", or a mix such as u8s8f32" : "",
                 name.type);
}

}  // namespace

void ReadProductCase(const BenchmarkName& name, const ProductOffer& offer,
                     const std::function<void(int column_offset)>& read_problem,
                     ProductCase& read) {
  const auto direction = ProductDirectionFromKey(name.direction);
  if (!direction)
    throw BadInput({.column = ColumnOfPart(name, 3)},
                   "expected a direction (fwd, bwd_data, bwd_weights), got '{}'", name.direction);
  read.direction = *direction;
  read.type = name.type;
  read.types = ReadTypes(name, offer);
  read_problem(ColumnOfPart(name, 5) - 1);
  CheckOptions(name, offer.options);
  read.training = HasOption(name, "training");
  read.bias = HasOption(name, "bias");
  read.relu = HasOption(name, "relu");
  read.scales = HasOption(name, "scales");
  read.fpmath = FpmathOf(name);
  if (read.direction != ProductDirection::kForward)
    RefuseOption(name, "relu", "is fused into fwd alone");
  if (!IsInt8(read.types)) RefuseOption(name, "scales", "belongs to integer types");
}

std::string_view ResultType(const ProductCase& one) {
  if (one.direction == ProductDirection::kForward) return one.types.destination;
  return one.direction == ProductDirection::kBackwardData ? one.types.source : one.types.weights;
}

int64_t ElementwiseFlops(const ProductCase& one, const ProductSizes& sizes) {
  return sizes.destination * (static_cast<int64_t>(one.bias) + one.relu);
}

Work ProductWork(const ProductCase& one, const ProductSizes& sizes, const std::string& pipe) {
  const auto dense = static_cast<double>(sizes.flops);
  const auto elementwise = static_cast<double>(ElementwiseFlops(one, sizes));
  Work work;
  work.flops[pipe] = dense;
  work.parts["matrix"] = dense;
  if (elementwise > 0) {
    work.flops[one.type == "f64" ? pipe : "fp32.vector"] += elementwise;
    work.parts["elementwise"] = elementwise;
  }
  work.bytes[Level::kDram] =
      static_cast<double>(sizes.source * ElementBytes(one.types.source) +
                          sizes.weights * ElementBytes(one.types.weights) +
                          sizes.destination * ElementBytes(one.types.destination) +
                          (one.bias ? sizes.channels * ElementBytes(BiasType(one.types)) : 0));
  work.launches = 1;
  return work;
}

}  // namespace dlroof
