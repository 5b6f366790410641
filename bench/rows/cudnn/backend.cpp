// Softmax, LayerNorm, RmsNorm, Eltwise and SwiGlu /gpu/cudnn, row by row and out of place, by
// cuDNN's graph API; Softmax by cudnnSoftmaxForward.
#include "bench/rows/cudnn/backend.h"

#include <cmath>
#include <map>
#include <memory>

#include "bench/workload/memory.h"

namespace dlroof::rows {
namespace {

namespace frontend = cudnn_frontend;
using cudnn::GraphCall;

frontend::PointwiseMode_t ModeOf(workload::Eltwise function) {
  using frontend::PointwiseMode_t;
  static const std::map<workload::Eltwise, PointwiseMode_t> modes = {
      {workload::Eltwise::kRelu, PointwiseMode_t::RELU_FWD},
      {workload::Eltwise::kGeluErf, PointwiseMode_t::GELU_FWD},
      {workload::Eltwise::kGeluTanh, PointwiseMode_t::GELU_APPROX_TANH_FWD},
      {workload::Eltwise::kLogistic, PointwiseMode_t::SIGMOID_FWD},
      {workload::Eltwise::kTanh, PointwiseMode_t::TANH_FWD}};
  return modes.at(function);
}

// A cudnnSoftmaxForward call over the columns, and its tensors.
struct SoftmaxCall {
  SoftmaxCall(const RowsCase& request, size_t bytes) : x(bytes), y(bytes) {
    cudnn::Check(cudnnCreateTensorDescriptor(&shape), "a tensor of a softmax");
    cudnn::Check(cudnnSetTensor4dDescriptor(shape, CUDNN_TENSOR_NCHW, cudnn::DataType(request.type),
                                            static_cast<int>(request.rows.m),
                                            static_cast<int>(request.rows.n), 1, 1),
                 "a tensor of a softmax");
  }
  ~SoftmaxCall() { cudnnDestroyTensorDescriptor(shape); }

  void Enqueue(void* on) const {
    const float alpha = 1, beta = 0;
    cudnn::UseStream(on);
    cudnn::CheckExecuted(
        cudnnSoftmaxForward(cudnn::Handle(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                            &alpha, shape, x.get(), &beta, shape, y.get()),
        "a softmax");
  }
  void Run() const {
    Enqueue(stream.get());
    stream.Wait();
  }

  cuda::DeviceBuffer x, y;
  cudnnTensorDescriptor_t shape = nullptr;
  cuda::CudaStream stream{};
  cudnn::StreamUse use{};  // must be destroyed before the stream
};

workload::PreparedCall PrepareSoftmax(const RowsCase& request, uint64_t seed) {
  const auto in = request.op->inputs(request, seed);
  const auto bytes = in.source.size() * static_cast<size_t>(workload::ElementBytes(request.type));
  cudnn::RequireDeviceMemory(2 * static_cast<double>(bytes), ToText(request.rows));
  const auto call = std::make_shared<SoftmaxCall>(request, bytes);
  call->x.CopyFrom(workload::Encoded(in.source, request.type).data());
  workload::PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.gpu.emplace().enqueue = [call](void* stream) { call->Enqueue(stream); };
  prepared.verify = [call, request, in, seed] {
    constexpr int kNotANumber = 0xff;
    call->y.Fill(kNotANumber);
    call->Run();
    std::vector<std::byte> result(call->y.bytes());
    call->y.CopyTo(result.data());
    return Check(request, in, workload::Decoded(result, request.type), seed);
  };
  prepared.algorithm = "cudnnSoftmaxForward, accurate";
  prepared.modelled = WorkOf(request);
  prepared.threads = 1;
  prepared.memory = {{call->x.get(), bytes, false}, {call->y.get(), bytes, false}};
  return prepared;
}

workload::PreparedCall PrepareGraph(const RowsCase& request, uint64_t seed) {
  const auto call = std::make_shared<GraphCall>();
  Describe(request, *call);
  call->Propose();
  call->Allocate(ToText(request.rows));
  const auto in = request.op->inputs(request, seed);
  const auto upload = [&](const std::string& name, const std::vector<float>& values) {
    call->Upload(name, {values.begin(), values.end()});
  };
  upload("x", in.source);
  if (request.op == &kSwiGlu) upload("up", in.parameters[kUp]);
  if (request.scale) upload("scale", in.parameters[kScale]);
  if (request.backward) {
    upload("dy", in.parameters[kGradient]);
    if (request.op == &kLayerNorm) upload("mean", in.parameters[kMean]);
    auto factors = in.parameters[kVariance];
    for (float& value : factors) value = 1 / std::sqrt(value + kLayerNormEpsilon);
    upload("factor", factors);
  } else if (request.shift) {
    upload("shift", in.parameters[kShift]);
  } else if (request.residual) {
    upload("residual", in.parameters[kResidual]);
  }
  return GraphCall::Prepared(call, WorkOf(request), [request, in, seed, call = call.get()] {
    auto result = call->Download("y");
    if (request.residual) {
      const auto sums = call->Download("sum");
      result.insert(result.end(), sums.begin(), sums.end());
    }
    if (request.backward)
      for (const bool is_shift : {false, true}) {
        const auto values = !is_shift || request.op == &kLayerNorm
                                ? call->Download(is_shift ? "dshift" : "dscale")
                                : std::vector<double>(static_cast<size_t>(request.rows.n));
        result.insert(result.end(), values.begin(), values.end());
      }
    return Check(request, in, result, seed);
  });
}

template <const RowsOperator& kOperator>
bool RegisterCudnn(const std::string& name_of_op) {
  const auto prepare = [](const workload::BenchmarkName& name,
                          const workload::RunSettings& settings) {
    const auto request = ReadCudnnCase(kOperator, name);
    RequireMemory(request);
    return request.op == &kSoftmax ? PrepareSoftmax(request, settings.seed)
                                   : PrepareGraph(request, settings.seed);
  };
  return workload::RegisterBackend(
      {.op = name_of_op, .device = "gpu", .library = "cudnn", .prepare = prepare});
}

[[maybe_unused]] const bool backends_registered =
    RegisterCudnn<kSoftmax>("Softmax") && RegisterCudnn<kLayerNorm>("LayerNorm") &&
    RegisterCudnn<kRmsNorm>("RmsNorm") && RegisterCudnn<kEltwise>("Eltwise") &&
    RegisterCudnn<kSwiGlu>("SwiGlu");

}  // namespace

void Describe(const RowsCase& request, GraphCall& call) {
  const auto& [m, n] = request.rows;
  // Columns are the channels, for which cuDNN requires the layout NHWC.
  const std::vector<int64_t> matrix = {m, n, 1, 1}, column = {m, 1, 1, 1}, nhwc = {n, 1, n, n};
  auto x = call.Input("x", matrix, request.type, nhwc);
  if (request.op == &kEltwise) {
    const auto function =
        frontend::graph::Pointwise_attributes().set_mode(ModeOf(request.function));
    return call.Output("y", call.graph.pointwise(x, function), matrix, request.type, nhwc);
  }
  if (request.op == &kSwiGlu) {
    const auto set = [](frontend::PointwiseMode_t mode) {
      return frontend::graph::Pointwise_attributes().set_mode(mode);
    };
    const auto gate = call.graph.pointwise(x, set(frontend::PointwiseMode_t::SWISH_FWD));
    return call.Output("y",
                       call.graph.pointwise(gate, call.Input("up", matrix, request.type, nhwc),
                                            set(frontend::PointwiseMode_t::MUL)),
                       matrix, request.type, nhwc);
  }
  const bool centred = request.op == &kLayerNorm;
  if (!request.scale || (centred && !request.shift))
    throw Unsupported("cuDNN's normalizations have a scale, and LayerNorm a shift");
  const std::vector<int64_t> row = {1, n, 1, 1};
  // cuDNN fuses the addition if the scale has the type of the rows.
  const auto scale = call.Input("scale", row, request.residual ? request.type : "f32", nhwc);
  if (request.residual) {
    x = call.graph.pointwise(
        x, call.Input("residual", matrix, request.type, nhwc),
        frontend::graph::Pointwise_attributes().set_mode(frontend::PointwiseMode_t::ADD));
    call.Output("sum", x, matrix, request.type, nhwc);
  }
  if (request.backward) {
    const auto dy = call.Input("dy", matrix, request.type, nhwc);
    const auto factor = call.Input("factor", column, "f32");
    const auto [dx, dscale, dshift] =
        centred
            ? call.graph.layernorm_backward(
                  dy, x, scale,
                  frontend::graph::Layernorm_backward_attributes().set_saved_mean_and_inv_variance(
                      call.Input("mean", column, "f32"), factor))
            : call.graph.rmsnorm_backward(
                  dy, x, scale, factor,
                  frontend::graph::Rmsnorm_backward_attributes().has_dbias(false));
    call.Output("y", dx, matrix, request.type, nhwc);
    call.Output("dscale", dscale, row, "f32", nhwc);
    if (centred) call.Output("dshift", dshift, row, "f32", nhwc);
    return;
  }
  const auto set = [&](auto attributes) {
    attributes.set_forward_phase(request.training ? frontend::NormFwdPhase_t::TRAINING
                                                  : frontend::NormFwdPhase_t::INFERENCE);
    auto epsilon = call.graph.tensor(kLayerNormEpsilon);
    return attributes.set_epsilon(epsilon);
  };
  if (centred) {
    const auto [y, mean, factor] =
        call.graph.layernorm(x, scale, call.Input("shift", row, "f32", nhwc),
                             set(frontend::graph::Layernorm_attributes()));
    call.Output("y", y, matrix, request.type, nhwc);
    if (request.training) call.Output("mean", mean, column, "f32");
    if (request.training) call.Output("factor", factor, column, "f32");
  } else {
    const auto [y, factor] =
        call.graph.rmsnorm(x, scale, set(frontend::graph::Rmsnorm_attributes()));
    call.Output("y", y, matrix, request.type, nhwc);
    if (request.training) call.Output("factor", factor, column, "f32");
  }
}

}  // namespace dlroof::rows
