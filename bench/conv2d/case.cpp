#include "bench/conv2d/case.h"

namespace dlroof::conv2d {
namespace {

// Throws BadInput for an option that the direction excludes.
void CheckVariant(const workload::BenchmarkName& name, const Conv2dCase& conv) {
  if (conv.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "training", "is a kind of fwd: backward passes always train");
  if (conv.direction == ProductDirection::kBackwardData)
    workload::RefuseOption(name, "bias",
                 "belongs to fwd and bwd_weights: the data gradient does not read it");
}

}  // namespace

products::ProductSizes SizesOf(const Conv2dCase& conv) {
  const auto& p = conv.problem;
  return {ToText(p),
          SourceCount(p),
          WeightsCount(p),
          DestinationCount(p),
          p.k,
          TapsPerOutput(p, ProductDirection::kForward),
          DenseFlops(p)};
}

const workload::OptionRows& Conv2dOptions() {
  static const workload::OptionRows rows = {{"training"},   {"bias"},         {"relu"},
                                  {"scales"},     {"nchw", "nhwc"}, {"auto", "winograd"},
                                  workload::FpmathOptions()};
  return rows;
}

Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name, const products::ProductOffer& offer) {
  Conv2dCase conv;
  products::ReadProductCase(
      name, offer, [&](int column) { conv.problem = ParseConv2d(name.problem, column); }, conv);
  if (workload::HasOption(name, "nchw")) conv.layout = Conv2dLayout::kNchw;
  if (workload::HasOption(name, "nhwc")) conv.layout = Conv2dLayout::kNhwc;
  if (workload::HasOption(name, "auto")) conv.algorithm = Conv2dAlgorithm::kAuto;
  if (workload::HasOption(name, "winograd")) conv.algorithm = Conv2dAlgorithm::kWinograd;
  CheckVariant(name, conv);
  return conv;
}

Conv2dCase ReadOnednnConv2dCase(const workload::BenchmarkName& name) {
  return ReadConv2dCase(name, {{"f32", "bf16", "f16", "int8"}, true, Conv2dOptions()});
}

}  // namespace dlroof::conv2d
