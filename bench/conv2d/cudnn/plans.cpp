#include "bench/conv2d/cudnn/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace dlroof::conv2d {
namespace {

cudnn::Descriptor TensorDescriptor(const TensorSpec& spec) {
  // cuDNN's vector loads need an alignment of 16 bytes; cudaMalloc aligns to 256.
  constexpr int64_t kAlignment = 16;
  cudnn::Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.SetType(CUDNN_ATTR_TENSOR_DATA_TYPE, spec.type);
  tensor.SetInts(CUDNN_ATTR_TENSOR_DIMENSIONS, {spec.dimensions.begin(), spec.dimensions.end()});
  tensor.SetInts(CUDNN_ATTR_TENSOR_STRIDES, {spec.strides.begin(), spec.strides.end()});
  tensor.SetInts(CUDNN_ATTR_TENSOR_UNIQUE_ID, {spec.id});
  tensor.SetInts(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kAlignment});
  tensor.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &spec.is_virtual);
  tensor.Finalize(fmt::format("tensor {} of a convolution", spec.id));
  return tensor;
}

cudnn::Descriptor ConvolutionDescriptor(const GraphSpec& spec) {
  const auto& p = spec.problem;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnn::Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.SetType(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, spec.compute_type);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  convolution.SetInts(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  convolution.SetInts(CUDNN_ATTR_CONVOLUTION_DILATIONS, {p.dilation_h, p.dilation_w});
  convolution.SetInts(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {p.stride_h, p.stride_w});
  convolution.SetInts(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {p.pad_top, p.pad_left});
  convolution.SetInts(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {p.pad_bottom, p.pad_right});
  convolution.Finalize("the convolution's parameters");
  return convolution;
}

// cuDNN's operation type and attributes for the convolution of one direction.
struct OperationRow {
  ProductDirection direction;
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t parameters, source, weights, destination, alpha, beta;
};
constexpr std::array<OperationRow, 3> kOperations = {
    {{ProductDirection::kForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
     {ProductDirection::kBackwardData, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
     {ProductDirection::kBackwardWeights,
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}}};

using Tensors = std::map<int64_t, cudnn::Descriptor>;  // by id

// Returns the operation. Appends descriptors that it refers to, except tensors, to `parts`.
cudnn::Descriptor Convolution(const GraphSpec& spec, const Tensors& tensors,
                              std::vector<cudnn::Descriptor>& parts) {
  const auto& row = kOperations.at(static_cast<size_t>(spec.direction));
  const float alpha = 1, beta = 0;
  cudnn::Descriptor operation(row.type);
  operation.SetDescriptor(row.parameters, parts.emplace_back(ConvolutionDescriptor(spec)));
  operation.SetDescriptor(row.source, tensors.at(kSourceId));
  operation.SetDescriptor(row.weights, tensors.at(kWeightsId));
  operation.SetDescriptor(row.destination, tensors.at(spec.destination));
  operation.Set(row.alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
  operation.Set(row.beta, CUDNN_TYPE_FLOAT, 1, &beta);
  operation.Finalize(fmt::format("the convolution {}", Key(spec.direction)));
  return operation;
}

cudnn::Descriptor PointwiseDescriptor(const PointwiseSpec& spec) {
  const cudnnPointwiseMode_t mode =
      spec.addend != 0 ? CUDNN_POINTWISE_ADD : CUDNN_POINTWISE_RELU_FWD;
  cudnn::Descriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  pointwise.SetType(CUDNN_ATTR_POINTWISE_MATH_PREC, "f32");
  pointwise.Finalize("a pointwise operation's parameters");
  return pointwise;
}

cudnn::Descriptor Fused(const PointwiseSpec& spec, const Tensors& tensors,
                        std::vector<cudnn::Descriptor>& parts) {
  cudnn::Descriptor fused(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  fused.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                      parts.emplace_back(PointwiseDescriptor(spec)));
  fused.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors.at(spec.input));
  if (spec.addend != 0)
    fused.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors.at(spec.addend));
  fused.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors.at(spec.output));
  fused.Finalize("an operation fused into the convolution");
  return fused;
}

EngineConfig Read(const cudnn::Descriptor& descriptor, std::string_view heuristic) {
  EngineConfig config;
  config.heuristic.assign(heuristic);
  const auto engines =
      descriptor.GetDescriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  if (engines.empty()) throw std::runtime_error("cuDNN proposes a configuration without an engine");
  config.engine = engines.front().GetInt(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  for (const auto note : engines.front().Get<cudnnBackendNumericalNote_t>(
           CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE))
    config.notes.push_back(static_cast<int>(note));
  for (const auto& knob :
       descriptor.GetDescriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t type{};
    int64_t count = 0;
    cudnn::Check(cudnnBackendGetAttribute(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                          CUDNN_TYPE_KNOB_TYPE, 1, &count, &type),
                 "a knob of an engine");
    config.knobs.emplace_back(static_cast<int>(type),
                              knob.GetInt(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  std::ranges::sort(config.knobs);
  return config;
}

struct Mode {
  cudnnBackendHeurMode_t mode;
  std::string_view name;
};

// Appends the proposals of one heuristic mode. Returns cuDNN's failure, or nullopt on success.
std::optional<workload::Failure> Append(const Graph& graph, const Target& target, const Mode& mode,
                                        std::vector<Proposal>& proposals) {
  cudnn::Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor());
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode.mode);
  target.SetPropertiesOn(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  if (const auto status = heuristic.TryFinalize(); status != CUDNN_STATUS_SUCCESS)
    return cudnn::FailureOf(status);
  for (auto& descriptor : heuristic.GetDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                   CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) {
    auto config = Read(descriptor, mode.name);
    const bool known = std::ranges::any_of(
        proposals, [&](const Proposal& conv) { return SameKernel(conv.config, config); });
    if (!known) proposals.push_back({std::move(config), std::move(descriptor)});
  }
  return std::nullopt;
}

}  // namespace

Target Target::Here() {
  Target target;
  target.handle_ = cudnn::Handle();
  return target;
}

Target Target::Described(const std::string& json) {
  Target target;
  cudnn::Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<int64_t>(json.size()), json.data());
  properties.Finalize("the properties of a GPU");
  target.properties_.emplace(std::move(properties));
  return target;
}

void Target::SetOn(cudnn::Descriptor& descriptor, cudnnBackendAttributeName_t handle) const {
  if (handle_ != nullptr) descriptor.Set(handle, CUDNN_TYPE_HANDLE, 1, &handle_);
}

void Target::SetPropertiesOn(cudnn::Descriptor& descriptor,
                             cudnnBackendAttributeName_t properties) const {
  if (properties_) descriptor.SetDescriptor(properties, *properties_);
}

Graph::Graph(const GraphSpec& spec, const Target& target)
    : graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  Tensors tensors;
  for (const auto& tensor : spec.tensors) tensors.emplace(tensor.id, TensorDescriptor(tensor));
  std::vector<cudnnBackendDescriptor_t> operations;
  operations.push_back(parts_.emplace_back(Convolution(spec, tensors, parts_)).get());
  for (const auto& pointwise : spec.pointwise)
    operations.push_back(parts_.emplace_back(Fused(pointwise, tensors, parts_)).get());
  for (auto& [id, tensor] : tensors) parts_.push_back(std::move(tensor));
  graph_.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(operations.size()), operations.data());
  target.SetOn(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  graph_.Finalize("the graph of the convolution");
}

std::vector<Proposal> Propose(const Graph& graph, const Target& target, bool all,
                              std::vector<workload::Failure>* broken) {
  std::vector<Mode> modes = {{CUDNN_HEUR_MODE_A, "A"}, {CUDNN_HEUR_MODE_FALLBACK, "fallback"}};
  if (all) modes.insert(modes.begin() + 1, {CUDNN_HEUR_MODE_B, "B"});
  std::vector<Proposal> proposals;
  std::vector<workload::Failure> failures;
  for (const auto& mode : modes) {
    auto failure = Append(graph, target, mode, proposals);
    if (!failure) continue;
    failure->text = fmt::format("heuristic {}: {}", mode.name, failure->text);
    if (failure->broken && broken != nullptr) broken->push_back(*failure);
    failures.push_back(*failure);
  }
  if (proposals.empty() && !failures.empty()) workload::ThrowFirst(failures);
  return proposals;
}

std::optional<Plan> MakePlan(const Proposal& proposal, const Target& target,
                             workload::Failure& failure) {
  Plan plan{cudnn::Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 0};
  target.SetOn(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  plan.descriptor.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal.descriptor);
  target.SetPropertiesOn(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  if (const auto status = plan.descriptor.TryFinalize(); status != CUDNN_STATUS_SUCCESS) {
    failure = cudnn::FailureOf(status);
    return std::nullopt;
  }
  plan.workspace_bytes = plan.descriptor.GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  return plan;
}

}  // namespace dlroof::conv2d
