// Conv3D/gpu/cudnn: 3-D convolutions by cuDNN's graph API, channels innermost, sums in f32.
#include <array>
#include <memory>
#include <vector>

#include "bench/conv2d/cudnn/plans.h"
#include "bench/workload/memory.h"

namespace dlroof::conv2d {
namespace {

namespace graph = cudnn_frontend::graph;
using cudnn::GraphCall;
using cudnn::GraphTensor;
using Sizes = std::vector<int64_t>;

template <class Of>
Sizes OfAxes(const Conv3dProblem& p, Of of) {
  return {of(p.axes[0]), of(p.axes[1]), of(p.axes[2])};
}

template <class Of>
Sizes TensorSizes(int64_t first, int64_t second, const Conv3dProblem& p, Of of) {
  Sizes sizes = OfAxes(p, of);
  sizes.insert(sizes.begin(), {first, second});
  return sizes;
}

Sizes SourceSizes(const Conv3dProblem& p) {
  return TensorSizes(p.n, p.c, p, [](const VolumeAxis& axis) { return axis.size; });
}
Sizes WeightsSizes(const Conv3dProblem& p) {
  return TensorSizes(p.k, p.c / p.groups, p, [](const VolumeAxis& axis) { return axis.filter; });
}
Sizes DestinationSizes(const Conv3dProblem& p) { return TensorSizes(p.n, p.k, p, Outputs); }

Sizes BiasSizes(const Conv3dProblem& p) { return {1, p.k, 1, 1, 1}; }

Sizes ChannelsInnermost(const Sizes& sizes) {
  const int64_t row = sizes[1] * sizes[4], plane = row * sizes[3];
  return {plane * sizes[2], 1, plane, row, sizes[1]};
}

// Returns sizes with depth and height as one dimension: in both layouts they are adjacent.
std::array<int64_t, 4> AsImages(const Sizes& sizes) {
  return {sizes[0], sizes[1], sizes[2] * sizes[3], sizes[4]};
}

template <class Attributes>
Attributes AttributesOf(const Conv3dProblem& p) {
  Attributes attributes;
  attributes.set_pre_padding(OfAxes(p, [](const VolumeAxis& axis) { return axis.pad_before; }))
      .set_post_padding(OfAxes(p, [](const VolumeAxis& axis) { return axis.pad_after; }))
      .set_stride(OfAxes(p, [](const VolumeAxis& axis) { return axis.stride; }))
      .set_dilation(OfAxes(p, [](const VolumeAxis& axis) { return axis.dilation; }));
  return attributes;
}

struct Result {
  const char* name;
  Sizes sizes;
};
Result ResultOfDirection(const Conv3dCase& conv) {
  if (conv.direction == ProductDirection::kForward)
    return {"destination", DestinationSizes(conv.problem)};
  if (conv.direction == ProductDirection::kBackwardData)
    return {"source", SourceSizes(conv.problem)};
  return {"weights", WeightsSizes(conv.problem)};
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto conv = ReadCudnnConv3dCase(name);
  const auto call = std::make_shared<GraphCall>();
  Describe(conv, *call);
  call->Propose();
  call->Allocate(ToText(conv.problem));
  const auto in = std::make_shared<workload::ProductInputs>();
  const auto inputs = [conv, in, call = call.get()](unsigned seed) {
    const auto upload = [call](const char* tensor, const std::vector<float>& values,
                               const Sizes& sizes) {
      if (values.empty()) return;
      const auto packed = workload::ToStrides(values, AsImages(sizes),
                                              DenseStrides(AsImages(sizes), Conv2dLayout::kNhwc));
      call->Upload(tensor, {packed.begin(), packed.end()});
    };
    *in = workload::SeededInputs(conv, seed);
    upload("source", in->source, SourceSizes(conv.problem));
    upload("weights", in->weights, WeightsSizes(conv.problem));
    upload("destination", in->destination, DestinationSizes(conv.problem));
    upload("bias", in->bias, BiasSizes(conv.problem));
  };
  const auto work = workload::ProductWork(conv, conv.type == "f16" ? "fp16.matrix" : "bf16.matrix");
  return GraphCall::Prepared(
      call, work, settings.seed, inputs, [conv, in, seed = settings.seed, call = call.get()] {
        const auto result = ResultOfDirection(conv);
        const auto packed = call->Download(result.name);
        const auto sizes = AsImages(result.sizes);
        const workload::ProductOutput<float> output{workload::FromStrides(
            {packed.begin(), packed.end()}, sizes, DenseStrides(sizes, Conv2dLayout::kNhwc))};
        return workload::CheckOutput(conv, *in, output, seed);
      });
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Conv3D", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace

void Describe(const Conv3dCase& conv, GraphCall& call) {
  const auto& p = conv.problem;
  const auto input = [&](const char* name, const Sizes& sizes) {
    return call.Input(name, sizes, conv.type, ChannelsInnermost(sizes));
  };
  GraphTensor result;
  if (conv.direction == ProductDirection::kForward)
    result =
        call.graph.conv_fprop(input("source", SourceSizes(p)), input("weights", WeightsSizes(p)),
                              AttributesOf<graph::Conv_fprop_attributes>(p));
  else if (conv.direction == ProductDirection::kBackwardData)
    result = call.graph.conv_dgrad(input("destination", DestinationSizes(p)),
                                   input("weights", WeightsSizes(p)),
                                   AttributesOf<graph::Conv_dgrad_attributes>(p));
  else
    result = call.graph.conv_wgrad(input("destination", DestinationSizes(p)),
                                   input("source", SourceSizes(p)),
                                   AttributesOf<graph::Conv_wgrad_attributes>(p));
  if (conv.bias)
    result = call.graph.pointwise(
        result, input("bias", BiasSizes(p)),
        graph::Pointwise_attributes().set_mode(cudnn_frontend::PointwiseMode_t::ADD));
  const auto [name, sizes] = ResultOfDirection(conv);
  call.Output(name, result, sizes, conv.type, ChannelsInnermost(sizes));
}

}  // namespace dlroof::conv2d
