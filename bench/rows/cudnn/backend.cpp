// Softmax, LayerNorm, RmsNorm, Eltwise and SwiGlu on gpu/cudnn, row by row and out of place:
// Softmax by cudnnSoftmaxForward, the others by cuDNN's graph API.
#include "bench/rows/cudnn/backend.h"

#include <cmath>
#include <map>
#include <memory>

#include "bench/workload/gpu_call.h"

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
  explicit SoftmaxCall(const RowsCase& request)
      : x(request.type, request.rows.m * request.rows.n),
        y(x.type, request.rows.m * request.rows.n) {
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

  std::string Algorithm() const { return "cudnnSoftmaxForward, accurate"; }
  std::vector<workload::MemoryRegion> Memory() const { return {x.Region(), y.Region()}; }

  workload::DeviceTensor<cuda::DeviceBuffer> x, y;
  cudnnTensorDescriptor_t shape = nullptr;
  cuda::CudaStream stream{};
  cudnn::StreamUse use{};  // must be destroyed before the stream
};

workload::PreparedCall PrepareSoftmax(const RowsCase& request, unsigned seed) {
  const auto in = std::make_shared<Tensors<float>>(request.op->inputs(request, seed));
  const auto bytes = workload::StoredBytes(2 * request.rows.m * request.rows.n, request.type);
  cuda::RequireDeviceMemory(static_cast<double>(bytes), ToText(request.rows));
  const auto call = std::make_shared<SoftmaxCall>(request);
  call->x.Write(in->source);
  auto prepared = workload::PreparedOnGpu(call, {});
  prepared.modelled = WorkOf(request);
  prepared.verify = [call, request, in, seed] {
    call->y.buffer.Fill(workload::kNotANumber);
    call->Run();
    return Check(request, *in, call->y.Read(), seed);
  };
  prepared.new_inputs = [call, request, in](unsigned other) {
    *in = request.op->inputs(request, other);
    call->x.Write(in->source);
  };
  return prepared;
}

void UploadInputs(const RowsCase& request, const Tensors<float>& in, GraphCall& call) {
  const auto upload = [&](const std::string& name, const std::vector<float>& values) {
    call.Upload(name, {values.begin(), values.end()});
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
}

workload::PreparedCall PrepareGraph(const RowsCase& request, unsigned seed) {
  const auto call = std::make_shared<GraphCall>();
  Describe(request, *call);
  call->Propose();
  call->Allocate(ToText(request.rows));
  const auto in = std::make_shared<Tensors<float>>();
  const auto inputs = [request, in, call = call.get()](unsigned of_seed) {
    *in = request.op->inputs(request, of_seed);
    UploadInputs(request, *in, *call);
  };
  const auto compare = [request, in, seed, call = call.get()] {
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
    return Check(request, *in, result, seed);
  };
  return GraphCall::Prepared(call, WorkOf(request), seed, inputs, compare);
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

// Sizes of the tensors, and `nhwc`, the strides of tensors with columns. Columns are cuDNN's
// channels, for which it requires the layout NHWC.
struct Layout {
  explicit Layout(const Rows& rows)
      : matrix{rows.m, rows.n, 1, 1},
        row{1, rows.n, 1, 1},
        column{rows.m, 1, 1, 1},
        nhwc{rows.n, 1, rows.n, rows.n} {}

  std::vector<int64_t> matrix, row, column, nhwc;
};

frontend::graph::Pointwise_attributes Pointwise(frontend::PointwiseMode_t mode) {
  return frontend::graph::Pointwise_attributes().set_mode(mode);
}

void DescribeFunction(const RowsCase& request, const Layout& at, const cudnn::GraphTensor& x,
                      GraphCall& call) {
  auto y = call.graph.pointwise(
      x, Pointwise(request.op == &kSwiGlu ? frontend::PointwiseMode_t::SWISH_FWD
                                          : ModeOf(request.function)));
  if (request.op == &kSwiGlu)
    y = call.graph.pointwise(y, call.Input("up", at.matrix, request.type, at.nhwc),
                             Pointwise(frontend::PointwiseMode_t::MUL));
  call.Output("y", y, at.matrix, request.type, at.nhwc);
}

void DescribeGradients(const RowsCase& request, const Layout& at, const cudnn::GraphTensor& x,
                       const cudnn::GraphTensor& scale, GraphCall& call) {
  namespace graph = frontend::graph;
  const bool centred = request.op == &kLayerNorm;
  const auto dy = call.Input("dy", at.matrix, request.type, at.nhwc);
  const auto factor = call.Input("factor", at.column, "f32");
  const auto [dx, dscale, dshift] =
      centred ? call.graph.layernorm_backward(
                    dy, x, scale,
                    graph::Layernorm_backward_attributes().set_saved_mean_and_inv_variance(
                        call.Input("mean", at.column, "f32"), factor))
              : call.graph.rmsnorm_backward(dy, x, scale, factor,
                                            graph::Rmsnorm_backward_attributes().has_dbias(false));
  call.Output("y", dx, at.matrix, request.type, at.nhwc);
  call.Output("dscale", dscale, at.row, "f32", at.nhwc);
  if (centred) call.Output("dshift", dshift, at.row, "f32", at.nhwc);
}

void DescribeNorm(const RowsCase& request, const Layout& at, const cudnn::GraphTensor& x,
                  const cudnn::GraphTensor& scale, GraphCall& call) {
  const auto set = [&](auto attributes) {
    attributes.set_forward_phase(request.training ? frontend::NormFwdPhase_t::TRAINING
                                                  : frontend::NormFwdPhase_t::INFERENCE);
    auto epsilon = call.graph.tensor(kLayerNormEpsilon);
    return attributes.set_epsilon(epsilon);
  };
  cudnn::GraphTensor y, mean, factor;
  if (request.op == &kLayerNorm) {
    const auto made = call.graph.layernorm(x, scale, call.Input("shift", at.row, "f32", at.nhwc),
                                           set(frontend::graph::Layernorm_attributes()));
    y = made[0], mean = made[1], factor = made[2];
  } else {
    const auto made = call.graph.rmsnorm(x, scale, set(frontend::graph::Rmsnorm_attributes()));
    y = made[0], factor = made[1];
  }
  call.Output("y", y, at.matrix, request.type, at.nhwc);
  if (request.training && mean) call.Output("mean", mean, at.column, "f32");
  if (request.training) call.Output("factor", factor, at.column, "f32");
}

}  // namespace

void Describe(const RowsCase& request, GraphCall& call) {
  const Layout at(request.rows);
  auto x = call.Input("x", at.matrix, request.type, at.nhwc);
  if (request.op == &kEltwise || request.op == &kSwiGlu)
    return DescribeFunction(request, at, x, call);
  if (!request.scale || (request.op == &kLayerNorm && !request.shift))
    throw Unsupported("cuDNN's normalizations have a scale, and LayerNorm a shift");
  // cuDNN fuses the addition if the scale has the type of the rows.
  const auto scale = call.Input("scale", at.row, request.residual ? request.type : "f32", at.nhwc);
  if (request.residual) {
    x = call.graph.pointwise(x, call.Input("residual", at.matrix, request.type, at.nhwc),
                             Pointwise(frontend::PointwiseMode_t::ADD));
    call.Output("sum", x, at.matrix, request.type, at.nhwc);
  }
  if (request.backward)
    DescribeGradients(request, at, x, scale, call);
  else
    DescribeNorm(request, at, x, scale, call);
}

}  // namespace dlroof::rows
