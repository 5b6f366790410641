#include "bench/conv2d/case.h"

namespace dlroof {
namespace {

// Throws BadInput for an option that the direction excludes.
void CheckVariant(const BenchmarkName& name, const Conv2dCase& conv) {
  if (conv.direction != ProductDirection::kForward)
    RefuseOption(name, "training", "is a kind of fwd: backward passes always train");
  if (conv.direction == ProductDirection::kBackwardData)
    RefuseOption(name, "bias",
                 "belongs to fwd and bwd_weights: the data gradient does not read it");
}

}  // namespace

ProductSizes SizesOf(const Conv2dCase& conv) {
  const auto& p = conv.problem;
  return {ToText(p),
          SourceCount(p),
          WeightsCount(p),
          DestinationCount(p),
          p.k,
          TapsPerOutput(p, ProductDirection::kForward),
          DenseFlops(p)};
}

const OptionRows& Conv2dOptions() {
  static const OptionRows rows = {{"training"},   {"bias"},         {"relu"},
                                  {"scales"},     {"nchw", "nhwc"}, {"auto", "winograd"},
                                  FpmathOptions()};
  return rows;
}

Conv2dCase ReadConv2dCase(const BenchmarkName& name, const ProductOffer& offer) {
  Conv2dCase conv;
  ReadProductCase(
      name, offer, [&](int column) { conv.problem = ParseConv2d(name.problem, column); }, conv);
  if (HasOption(name, "nchw")) conv.layout = Conv2dLayout::kNchw;
  if (HasOption(name, "nhwc")) conv.layout = Conv2dLayout::kNhwc;
  if (HasOption(name, "auto")) conv.algorithm = Conv2dAlgorithm::kAuto;
  if (HasOption(name, "winograd")) conv.algorithm = Conv2dAlgorithm::kWinograd;
  CheckVariant(name, conv);
  return conv;
}

Conv2dCase ReadOnednnConv2dCase(const BenchmarkName& name) {
  return ReadConv2dCase(name, {{"f32", "bf16", "f16", "int8"}, true, Conv2dOptions()});
}

}  // namespace dlroof
