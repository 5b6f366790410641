#include "bench/conv2d/cudnn_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/workload/device_elements.h"
#include "bench/workload/problem_text.h"
#include "bench/workload/workload.h"

namespace dlroof::conv2d {
namespace {

constexpr std::string_view kEngine = "engine";

// "engine62" as the last option, taken off the name.
void TakeEngine(workload::BenchmarkName& name, CudnnConv2dCase& request) {
  if (name.options.empty() || !name.options.back().starts_with(kEngine)) return;
  const int column = workload::ColumnOfPart(name, 5 + static_cast<int>(name.options.size()));
  workload::TextCursor cursor(name.options.back(), column - 1);
  cursor.Expect(kEngine);
  request.choice = EngineChoice::kNumbered;
  request.engine = cursor.Integer(0, "cuDNN's number of an engine");
  if (!cursor.AtEnd()) cursor.Refuse("the end");
  name.options.pop_back();
}

TensorSpec Dense(int64_t id, std::string_view type, const std::array<int64_t, 4>& dimensions,
                 Conv2dLayout layout) {
  return {id, std::string(type), dimensions, DenseStrides(dimensions, layout), false};
}

// Behind the convolution: bias, then relu, the last of which writes the destination.
void AppendFused(const Conv2dCase& conv, GraphSpec& graph) {
  if (!conv.bias && !conv.relu) return;
  const TensorSpec result = TensorOf(graph, kDestinationId);
  const auto between = [&](int64_t id, std::string_view type) {
    TensorSpec tensor = result;
    tensor.id = id;
    tensor.type.assign(type);
    tensor.is_virtual = true;
    graph.tensors.push_back(tensor);
    return id;
  };
  int64_t made = between(kSumId, graph.convolution.compute_type);
  graph.convolution.destination = made;
  if (conv.bias) {
    graph.tensors.push_back(
        Dense(kBiasId, products::BiasType(conv.types), {1, conv.problem.k, 1, 1}, conv.layout));
    const int64_t sum = conv.relu ? between(kBiasedId, "f32") : kDestinationId;
    graph.pointwise.push_back({PointwiseMode::kAdd, made, kBiasId, sum});
    made = sum;
  }
  if (conv.relu) graph.pointwise.push_back({PointwiseMode::kRelu, made, 0, kDestinationId});
}

}  // namespace

CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& full) {
  CudnnConv2dCase request;
  workload::BenchmarkName name = full;
  TakeEngine(name, request);
  request.conv = ReadConv2dCase(name, {{"f32", "tf32", "f16", "bf16", "int8", "fp8"},
                                       true,
                                       {{"bias"}, {"relu"}, {"nchw"}, {"best", "engineN"}}});
  auto& conv = request.conv;
  if (conv.type == "tf32") conv.fpmath = "tf32-truncated";
  if (conv.layout == Conv2dLayout::kAny) conv.layout = Conv2dLayout::kNhwc;
  if (workload::HasOption(name, "best")) {
    if (request.choice == EngineChoice::kNumbered)
      workload::RefuseOption(name, "best", "times every engine, engineN is one: a name has one of them");
    request.choice = EngineChoice::kBest;
  }
  workload::RefuseOption(name, "engineN", "needs cuDNN's number of an engine: engine45");
  if (conv.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "bias", "is fused into fwd alone");
  return request;
}

std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& d, Conv2dLayout layout) {
  if (layout == Conv2dLayout::kNchw) return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
  return {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
}

const TensorSpec& TensorOf(const GraphSpec& graph, int64_t id) {
  const auto found = std::ranges::find(graph.tensors, id, &TensorSpec::id);
  if (found == graph.tensors.end())
    throw std::logic_error(fmt::format("the graph has no tensor {}", id));
  return *found;
}

double TensorBytes(const GraphSpec& graph) {
  double bytes = 0;
  for (const auto& tensor : graph.tensors) {
    if (tensor.is_virtual) continue;
    auto count = static_cast<double>(workload::ElementBytes(tensor.type));
    for (const int64_t size : tensor.dimensions) count *= static_cast<double>(size);
    bytes += count;
  }
  return bytes;
}

GraphSpec GraphOf(const CudnnConv2dCase& request) {
  const auto& conv = request.conv;
  const auto& p = conv.problem;
  GraphSpec graph;
  graph.tensors = {
      Dense(kSourceId, conv.types.source, {p.n, p.c, p.h, p.w}, conv.layout),
      Dense(kWeightsId, conv.types.weights, {p.k, p.c / p.groups, p.r, p.s}, conv.layout),
      Dense(kDestinationId, conv.types.destination, {p.n, p.k, delta::OutputRows(p), delta::OutputColumns(p)},
            conv.layout)};
  graph.convolution = {conv.direction,
                       products::IsInt8(conv.types) ? "s32" : "f32",
                       {p.stride_h, p.stride_w},
                       {p.dilation_h, p.dilation_w},
                       {p.pad_top, p.pad_left},
                       {p.pad_bottom, p.pad_right},
                       kSourceId,
                       kWeightsId,
                       kDestinationId};
  AppendFused(conv, graph);
  return graph;
}

namespace {
[[maybe_unused]] const bool cudnn_case_registered =
    workload::RegisterCell({"Conv2D", "gpu", "cudnn", workload::ReadNameAlone<ReadCudnnConv2dCase>, "the CUDA module"});
}  // namespace

}  // namespace dlroof::conv2d
