#include "bench/lstm/cudnn/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "bench/cudnn/support.h"
#include "bench/lstm/loops.h"
#include "bench/workload/gpu_call.h"
#include "bench/workload/library_rules.h"
#include "counters/cuda/device.h"

namespace dlroof::lstm {
namespace {

template <class T, cudnnStatus_t (*make)(T*), cudnnStatus_t (*destroy)(T)>
class Owned {
 public:
  Owned() { cudnn::Check(make(&descriptor_), "a cuDNN descriptor"); }
  ~Owned() { destroy(descriptor_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T get() const { return descriptor_; }

 private:
  T descriptor_ = nullptr;
};
using Dropout =
    Owned<cudnnDropoutDescriptor_t, cudnnCreateDropoutDescriptor, cudnnDestroyDropoutDescriptor>;
using Rnn = Owned<cudnnRNNDescriptor_t, cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor>;
using Sequences =
    Owned<cudnnRNNDataDescriptor_t, cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor>;
using Tensor =
    Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;

using DeviceTensor = workload::DeviceTensor<cuda::DeviceBuffer>;

struct TensorSet {
  TensorSet(std::string_view type, const LstmElements& count)
      : source(type, count.source),
        output(type, count.output),
        hidden_in(type, count.hidden),
        hidden_out(type, count.hidden),
        cell_in(type, count.cell),
        cell_out(type, count.cell) {}

  DeviceTensor source, output, hidden_in, hidden_out, cell_in, cell_out;
};

void SetSequences(const Sequences& data, std::string_view type, const LstmProblem& p,
                  int64_t width) {
  const std::vector<int> lengths(static_cast<size_t>(p.n), static_cast<int>(p.t));
  cudnn::Check(cudnnSetRNNDataDescriptor(data.get(), cudnn::DataType(type),
                                         CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                         static_cast<int>(p.t), static_cast<int>(p.n),
                                         static_cast<int>(width), lengths.data(), nullptr),
               "the sequences of an LSTM");
}

void SetStates(const Tensor& tensor, std::string_view type, const LstmProblem& p, int64_t width) {
  const std::array<int, 3> sizes = {static_cast<int>(p.l * Passes(p)), static_cast<int>(p.n),
                                    static_cast<int>(width)};
  const std::array<int, 3> strides = {sizes[1] * sizes[2], sizes[2], 1};
  cudnn::Check(cudnnSetTensorNdDescriptor(tensor.get(), cudnn::DataType(type), 3, sizes.data(),
                                          strides.data()),
               "the states of an LSTM");
}

// Throws unless cuDNN reports the dimensions 1 x rows x columns for the tensor.
void RequireShape(const Tensor& tensor, const RnnPart& part) {
  cudnnDataType_t type{};
  int dimensions = 0;
  std::array<int, 3> sizes{}, strides{};
  cudnn::Check(
      cudnnGetTensorNdDescriptor(tensor.get(), 3, &type, &dimensions, sizes.data(), strides.data()),
      "a matrix of an LSTM");
  if (sizes[0] != 1 || sizes[1] != part.rows || sizes[2] != part.columns)
    throw std::runtime_error(
        fmt::format("matrix {} of cuDNN's LSTM is {} x {} x {}, expected 1 x {} x {}", part.linear,
                    sizes[0], sizes[1], sizes[2], part.rows, part.columns));
}

void* Pointer(const std::optional<cuda::DeviceBuffer>& buffer) {
  return buffer ? buffer->get() : nullptr;
}

void Allocate(size_t bytes, std::optional<cuda::DeviceBuffer>& buffer) {
  if (bytes > 0) buffer.emplace(bytes);
}

// Byte offsets of a matrix and its bias in cuDNN's weight space.
struct Place {
  size_t matrix = 0, bias = 0;
};

}  // namespace

void SetRnn(const CudnnLstmCase& lstm, cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t rnn) {
  const auto& p = lstm.problem;
  constexpr std::array<cudnnMathType_t, 3> kMath = {CUDNN_FMA_MATH, CUDNN_DEFAULT_MATH,
                                                    CUDNN_TENSOR_OP_MATH};
  cudnn::Check(
      cudnnSetRNNDescriptor_v8(
          rnn, static_cast<cudnnRNNAlgo_t>(lstm.algorithm), CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
          Passes(p) == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
          cudnn::DataType(StorageType(lstm.type)), CUDNN_DATA_FLOAT,
          kMath.at(static_cast<size_t>(MathOf(lstm.type))), static_cast<int>(p.i),
          static_cast<int>(p.h), static_cast<int>(StateWidth(p)), static_cast<int>(p.l), dropout,
          CUDNN_RNN_PADDED_IO_DISABLED),
      fmt::format("an LSTM, {}", Key(lstm.algorithm)));
}

struct LstmGpuCall::State {
  explicit State(const CudnnLstmCase& request) : lstm(request), type(StorageType(request.type)) {}

  bool Trains() const { return lstm.direction != LstmDirection::kForwardInference; }
  bool IsBackward() const { return lstm.direction == LstmDirection::kBackward; }
  cudnnForwardMode_t Mode() const {
    return Trains() ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  }
  const int32_t* Lengths() const { return static_cast<const int32_t*>(lengths->get()); }

  void Describe() {
    const auto& p = lstm.problem;
    cudnn::Check(cudnnSetDropoutDescriptor(dropout.get(), cudnn::Handle(), 0, nullptr, 0, 0),
                 "no dropout");
    SetRnn(lstm, dropout.get(), rnn.get());
    if (lstm.algorithm == RnnAlgorithm::kPersistDynamic)
      cudnn::Check(cudnnBuildRNNDynamic(cudnn::Handle(), rnn.get(), static_cast<int>(p.n)),
                   "compiling an LSTM, persist-dynamic");
    SetSequences(source, type, p, p.i);
    SetSequences(output, type, p, OutputWidth(p));
    SetStates(hidden, type, p, StateWidth(p));
    SetStates(cell, type, p, p.h);
    cudnn::Check(cudnnGetRNNWeightSpaceSize(cudnn::Handle(), rnn.get(), &weight_bytes),
                 "the weights of an LSTM");
    cudnn::Check(cudnnGetRNNTempSpaceSizes(cudnn::Handle(), rnn.get(), Mode(), source.get(),
                                           &work_bytes, &reserve_bytes),
                 fmt::format("the workspace of an LSTM, {}", Key(lstm.algorithm)));
  }
  void RequireMemory() const {
    const double bytes = CompulsoryBytes(lstm.problem, lstm.direction, UniformLstmType(type));
    const size_t reserves = IsBackward() ? 2 * reserve_bytes : reserve_bytes;
    cuda::RequireDeviceMemory(bytes + static_cast<double>(work_bytes + reserves),
                              ToText(lstm.problem));
  }
  void Fill(const LstmInput<float>& input, const LstmOutput<float>& d_output) {
    const auto& p = lstm.problem;
    const auto counts = Elements(p);
    const std::vector<int32_t> steps(static_cast<size_t>(p.n), static_cast<int32_t>(p.t));
    lengths.emplace(steps.size() * sizeof(int32_t));
    lengths->CopyFrom(steps.data());
    Allocate(weight_bytes, weights);
    Allocate(work_bytes, work);
    Allocate(reserve_bytes, reserve);
    FillWeights(input);
    tensors.emplace(type, counts);
    tensors->source.Write(input.source);
    tensors->hidden_in.Write(input.initial_hidden);
    tensors->cell_in.Write(input.initial_cell);
    if (!IsBackward()) return;
    Allocate(weight_bytes, d_weights);
    Allocate(reserve_bytes, saved_reserve);
    gradients.emplace(type, counts);
    gradients->output.Write(d_output.output);
    gradients->hidden_out.Write(d_output.final_hidden);
    gradients->cell_out.Write(d_output.final_cell);
  }
  void FillWeights(const LstmInput<float>& input) {
    std::vector<std::byte> space(weight_bytes);
    const auto put = [&](const std::vector<float>& values, size_t at) {
      const auto bytes = workload::Encoded(values, type);
      if (at + bytes.size() > space.size())
        throw std::runtime_error("cuDNN places an LSTM's weights outside of their space");
      std::ranges::copy(bytes, space.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (const auto& part : RnnParts(lstm.problem)) {
      const auto place = PlaceOf(part);
      put(MatrixOf(part, input), place.matrix);
      if (part.HasBias()) put(HalfBiasOf(part, input), place.bias);
    }
    weights->CopyFrom(space.data());
  }
  Place PlaceOf(const RnnPart& part) const {
    Tensor matrix, bias;
    void *matrix_at = nullptr, *bias_at = nullptr;
    cudnn::Check(
        cudnnGetRNNWeightParams(cudnn::Handle(), rnn.get(), static_cast<int32_t>(part.pseudo_layer),
                                weight_bytes, weights->get(), part.linear, matrix.get(), &matrix_at,
                                bias.get(), &bias_at),
        "the place of an LSTM's weights");
    if (matrix_at == nullptr || (part.HasBias() && bias_at == nullptr))
      throw std::runtime_error(fmt::format("cuDNN's LSTM has no matrix {}", part.linear));
    RequireShape(matrix, part);
    const auto* const begin = static_cast<const std::byte*>(weights->get());
    const auto offset = [&](const void* at) {
      return static_cast<size_t>(static_cast<const std::byte*>(at) - begin);
    };
    return {offset(matrix_at), part.HasBias() ? offset(bias_at) : 0};
  }
  // Starts a forward call. It uses copies (values) instead of the tensors at the keys' addresses.
  void Forward(const std::map<const void*, void*>& copies = {}) const {
    const auto at = [&](void* tensor) {
      const auto copy = copies.find(tensor);
      return copy == copies.end() ? tensor : copy->second;
    };
    cudnn::CheckExecuted(
        cudnnRNNForward(cudnn::Handle(), rnn.get(), Mode(), Lengths(), source.get(),
                        at(tensors->source.get()), output.get(), at(tensors->output.get()),
                        hidden.get(), at(tensors->hidden_in.get()), at(tensors->hidden_out.get()),
                        cell.get(), at(tensors->cell_in.get()), at(tensors->cell_out.get()),
                        weight_bytes, at(weights->get()), work_bytes, Pointer(work), reserve_bytes,
                        at(Pointer(reserve))),
        "an LSTM's forward call");
  }
  void Backward() const {
    cudnn::CheckExecuted(
        cudnnRNNBackwardData_v8(cudnn::Handle(), rnn.get(), Lengths(), output.get(),
                                tensors->output.get(), gradients->output.get(), source.get(),
                                gradients->source.get(), hidden.get(), tensors->hidden_in.get(),
                                gradients->hidden_out.get(), gradients->hidden_in.get(), cell.get(),
                                tensors->cell_in.get(), gradients->cell_out.get(),
                                gradients->cell_in.get(), weight_bytes, weights->get(), work_bytes,
                                Pointer(work), reserve_bytes, Pointer(reserve)),
        "an LSTM's data gradient");
    cudnn::CheckExecuted(
        cudnnRNNBackwardWeights_v8(cudnn::Handle(), rnn.get(), CUDNN_WGRAD_MODE_ADD, Lengths(),
                                   source.get(), tensors->source.get(), hidden.get(),
                                   tensors->hidden_in.get(), output.get(), tensors->output.get(),
                                   weight_bytes, d_weights->get(), work_bytes, Pointer(work),
                                   reserve_bytes, Pointer(reserve)),
        "an LSTM's weight gradient");
  }

  CudnnLstmCase lstm;
  std::string_view type;  // storage type of all tensors
  Dropout dropout;
  Rnn rnn;
  Sequences source, output;
  Tensor hidden, cell;
  size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  std::optional<cuda::DeviceBuffer> lengths, weights, d_weights, work, reserve;
  std::optional<cuda::DeviceBuffer> saved_reserve;  // reserve space after a forward call
  std::optional<TensorSet> tensors, gradients;
  cuda::CudaStream stream;
  cudnn::StreamUse use;  // must be destroyed before `stream`
};

LstmGpuCall::LstmGpuCall(const CudnnLstmCase& lstm, const LstmInput<float>& input,
                         const LstmOutput<float>& d_output)
    : state_(std::make_unique<State>(lstm)) {
  workload::RequireTf32(lstm.type, std::getenv(workload::kTf32Override));
  RequireRnnType(lstm.type, cudnnGetVersion());
  RequireRnnUnit(lstm.type, cuda::ComputeCapability());
  state_->Describe();
  state_->RequireMemory();
  state_->Fill(input, d_output);
  Renew();
  Run();
}

LstmGpuCall::~LstmGpuCall() = default;

void LstmGpuCall::Enqueue(void* stream, const std::map<const void*, void*>& copies) const {
  cudnn::UseStream(stream);
  if (state_->IsBackward())
    state_->Backward();
  else
    state_->Forward(copies);
}

void LstmGpuCall::Run() const {
  Enqueue(state_->stream.get());
  state_->stream.Wait();
}

void LstmGpuCall::Renew() const {
  auto& state = *state_;
  for (auto* tensor :
       {&state.tensors->output, &state.tensors->hidden_out, &state.tensors->cell_out})
    tensor->buffer.Fill(workload::kNotANumber);
  if (!state.IsBackward()) return;
  for (auto* tensor :
       {&state.gradients->source, &state.gradients->hidden_in, &state.gradients->cell_in})
    tensor->buffer.Fill(workload::kNotANumber);
  state.d_weights->Fill(0);
  cudnn::UseStream(state.stream.get());
  state.Forward();
  state.stream.Wait();
  if (state.reserve) state.saved_reserve->CopyFrom(*state.reserve);
}

void LstmGpuCall::Restore() const {
  if (!state_->IsBackward()) return;
  state_->d_weights->Fill(0);
  if (state_->reserve) state_->reserve->CopyFrom(*state_->saved_reserve);
}

LstmOutput<float> LstmGpuCall::Outputs() const {
  const auto& made = *state_->tensors;
  return {made.output.Read(), made.hidden_out.Read(), made.cell_out.Read()};
}

LstmInput<float> LstmGpuCall::Gradients() const {
  const auto& state = *state_;
  LstmInput<float> made = ZeroWeights(state.lstm.problem);
  made.source = state.gradients->source.Read();
  made.initial_hidden = state.gradients->hidden_in.Read();
  made.initial_cell = state.gradients->cell_in.Read();
  std::vector<std::byte> space(state.weight_bytes);
  state.d_weights->CopyTo(space.data());
  const size_t element = state.type == "f32" ? 4 : 2;
  const auto take = [&](size_t at, int64_t count) {
    const auto begin = space.begin() + static_cast<std::ptrdiff_t>(at);
    return workload::Decoded({begin, begin + static_cast<std::ptrdiff_t>(count * element)},
                             state.type);
  };
  for (const auto& part : RnnParts(state.lstm.problem)) {
    const auto place = state.PlaceOf(part);
    PutMatrix(part, take(place.matrix, part.rows * part.columns), made);
    if (part.HasBias()) AddHalfBias(part, take(place.bias, part.rows), made);
  }
  return made;
}

std::string LstmGpuCall::Algorithm() const {
  return DescribeRnn(state_->lstm, static_cast<int64_t>(state_->work_bytes),
                     static_cast<int64_t>(state_->reserve_bytes));
}

std::vector<workload::MemoryRegion> LstmGpuCall::Memory() const {
  std::vector<workload::MemoryRegion> regions;
  for (const auto* set : {&state_->tensors, &state_->gradients}) {
    if (!*set) continue;
    for (const auto* tensor : {&(*set)->source, &(*set)->output, &(*set)->hidden_in,
                               &(*set)->hidden_out, &(*set)->cell_in, &(*set)->cell_out})
      regions.push_back(tensor->Region());
  }
  for (const auto* space : {&state_->weights, &state_->d_weights})
    if (*space) regions.push_back({(*space)->get(), (*space)->bytes(), true});
  if (state_->reserve) regions.push_back({state_->reserve->get(), state_->reserve->bytes(), false});
  return regions;
}

const CudnnLstmCase& LstmGpuCall::lstm() const { return state_->lstm; }

namespace {

LstmInput<float> SeededInput(const CudnnLstmCase& lstm, unsigned seed) {
  return SeededLstmInput(lstm.problem, seed, StorageType(lstm.type));
}

LstmOutput<float> SeededGradient(const CudnnLstmCase& lstm, unsigned seed) {
  return SeededLstmGradient(lstm.problem, seed, StorageType(lstm.type));
}

workload::Verification Compared(const LstmGpuCall& call, unsigned seed) {
  const auto& lstm = call.lstm();
  call.Renew();
  return CompareWithLoops(call, lstm.problem, lstm.direction, SeededInput(lstm, seed),
                          SeededGradient(lstm, seed), GpuLstmTolerance(lstm));
}

workload::Verification Verify(const LstmGpuCall& call, unsigned seed) {
  const auto& lstm = call.lstm();
  CudnnLstmCase small = lstm;
  small.problem = Twin(lstm.problem, kMaxFlopsToVerify);
  // Halving rounds up, so a projection may become as wide as the cell, which cuDNN rejects.
  if (small.problem.p >= small.problem.h) small.problem.p = small.problem.h - 1;
  workload::Verification found;
  if (small == lstm) {
    found = Compared(call, seed);
  } else {
    const LstmGpuCall twin(small, SeededInput(small, seed), SeededGradient(small, seed));
    found = Compared(twin, seed);
    found.how +=
        fmt::format(" of the twin {} ({} too)", ToText(small.problem), Key(lstm.algorithm));
  }
  return found;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto lstm = ReadCudnnLstmCase(name);
  RequireRnnProblem(lstm.problem);
  const auto type = UniformLstmType(StorageType(lstm.type));
  workload::RequireHostMemory(LeastHostBytes(lstm.problem, lstm.direction, type),
                              ToText(lstm.problem));
  const auto call = std::make_shared<const LstmGpuCall>(lstm, SeededInput(lstm, settings.seed),
                                                        SeededGradient(lstm, settings.seed));
  auto prepared = workload::PreparedOnGpu(
      call, ModelledWork(lstm.problem, lstm.direction, type, RnnPipe(lstm.type), "fp32.vector", 1));
  auto& gpu = *prepared.gpu;
  if (lstm.direction == LstmDirection::kBackward)
    gpu.renew = [call] { call->Restore(); };
  else
    gpu.on_copies = [call](const std::map<const void*, void*>& copies) {
      return [call, copies](void* stream) { call->Enqueue(stream, copies); };
    };
  gpu.blocks_wait = lstm.algorithm != RnnAlgorithm::kStandard;
  prepared.verify = [call, seed = settings.seed] { return Verify(*call, seed); };
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "LSTM", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::lstm
