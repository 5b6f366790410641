#include "bench/cudnn/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bench/workload/gpu_call.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/cuda/device.h"

namespace dlroof::cudnn {
namespace {

namespace frontend = cudnn_frontend;

frontend::DataType_t FrontendType(std::string_view type) {
  static const std::map<std::string_view, frontend::DataType_t> types = {
      {"f32", frontend::DataType_t::FLOAT},
      {"f16", frontend::DataType_t::HALF},
      {"bf16", frontend::DataType_t::BFLOAT16},
      {"e4m3", frontend::DataType_t::FP8_E4M3},
      {"s32", frontend::DataType_t::INT32}};
  return types.at(type);
}

// Returns the frontend's message on one line, shortened to kMaxLength.
std::string Message(frontend::error_t status) {
  constexpr size_t kMaxLength = 500;
  std::string text = status.get_message().substr(0, kMaxLength);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void RequireGood(frontend::error_t status) {
  if (!status.is_bad()) return;
  const auto code = status.get_code();
  workload::Throw({fmt::format("cuDNN {}: {}", CudnnVersion(), Message(status)),
                   code == frontend::error_code_t::CUDA_API_FAILED ||
                       code == frontend::error_code_t::INVALID_CUDA_DEVICE ||
                       code == frontend::error_code_t::HANDLE_ERROR});
}

std::vector<int64_t> RowMajor(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

}  // namespace

size_t GraphCall::Tensor::Bytes() const {
  return static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(),
                                             workload::ElementBytes(type), std::multiplies<>()));
}

GraphCall::GraphCall() {
  graph.set_intermediate_data_type(frontend::DataType_t::FLOAT)
      .set_compute_data_type(frontend::DataType_t::FLOAT);
}

void GraphCall::Describe(const std::string& name, const GraphTensor& tensor, Tensor made,
                         std::vector<int64_t> strides) {
  made.id = static_cast<int64_t>(tensors_.size()) + 1;
  tensor->set_name(name)
      .set_uid(made.id)
      .set_dim(made.sizes)
      .set_data_type(FrontendType(made.type));
  tensor->set_stride(strides.empty() ? RowMajor(made.sizes) : strides);
  tensors_.emplace(name, std::move(made));
}

GraphTensor GraphCall::Input(const std::string& name, const std::vector<int64_t>& sizes,
                             std::string_view type, std::vector<int64_t> strides) {
  auto tensor = graph.tensor(frontend::graph::Tensor_attributes());
  Describe(name, tensor, {std::string(type), sizes}, std::move(strides));
  return tensor;
}

void GraphCall::Output(const std::string& name, const GraphTensor& result,
                       const std::vector<int64_t>& sizes, std::string_view type,
                       std::vector<int64_t> strides) {
  result->set_output(true);
  Describe(name, result, {std::string(type), sizes, true}, std::move(strides));
}

int64_t GraphCall::Propose(const std::optional<DescribedTarget>& target) {
  if (target) {
    const auto properties = std::make_shared<frontend::DeviceProperties>();
    RequireGood(properties->deserialize({target->json.begin(), target->json.end()}));
    graph.set_device_properties(properties).set_sm_version(target->compute_capability);
  }
  RequireGood(graph.validate());
  RequireGood(target ? graph.build_operation_graph() : graph.build_operation_graph(Handle()));
  RequireGood(
      graph.create_execution_plans({frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK}));
  plans_ = graph.get_execution_plan_count();
  if (plans_ == 0) throw Unsupported("cuDNN {} proposes no plan", CudnnVersion());
  return plans_;
}

std::optional<Reason> GraphCall::Compile(int64_t plan) {
  const auto status = graph.build_plan_at_index(plan);
  if (status.is_bad()) return Reason{Message(status)};
  return std::nullopt;
}

void GraphCall::Allocate(std::string_view what) {
  double bytes = 0;
  for (const auto& [name, tensor] : tensors_) bytes += static_cast<double>(tensor.Bytes());
  cuda::RequireDeviceMemory(bytes, what);
  for (auto& [name, tensor] : tensors_) tensor.buffer.emplace(tensor.Bytes());
  stream_.emplace();
}

void GraphCall::Upload(const std::string& name, const std::vector<double>& values) {
  auto& tensor = tensors_.at(name);
  const auto bytes = workload::EncodedDoubles(values, tensor.type);
  if (bytes.size() != tensor.Bytes()) throw std::logic_error("wrong number of elements: " + name);
  tensor.buffer->CopyFrom(bytes.data());
}

std::vector<double> GraphCall::Download(const std::string& name) const {
  const auto& tensor = tensors_.at(name);
  const auto values = workload::Download(tensor.type, *tensor.buffer);
  return {values.begin(), values.end()};
}

bool GraphCall::TakeNext() {
  workspace_.reset();
  while (next_ < plans_) {
    plan_ = next_++;
    workload::Failure failure;
    if (const auto reason = Compile(*plan_)) {
      failure.text = reason->text;
    } else {
      try {
        workspace_bytes_ = graph.get_workspace_size_plan_at_index(*plan_);
        cuda::RequireDeviceMemory(static_cast<double>(workspace_bytes_), "the workspace");
        workspace_.emplace(static_cast<size_t>(workspace_bytes_));
        pointers_.clear();
        for (const auto& [name, tensor] : tensors_) pointers_[tensor.id] = tensor.buffer->get();
        Run();
        return true;
      } catch (const Unsupported& error) {
        failure.text = error.what();
      } catch (const std::exception& error) {
        failure = {error.what(), true};
        cuda::RequireWorkingGpu();
      }
    }
    failures_.push_back(std::move(failure));
  }
  return false;
}

void GraphCall::Execute(void* stream, Pointers& pointers) const {
  UseStream(stream);
  const auto status =
      graph.execute_plan_at_index(Handle(), pointers, workspace_->get(), plan_.value());
  if (status.is_bad()) throw std::runtime_error("cuDNN: " + Message(status));
}

void GraphCall::Run() const {
  Enqueue(stream_->get());
  stream_->Wait();
}

std::string GraphCall::Algorithm() const {
  std::string name;
  if (graph.get_plan_name_at_index(plan_.value(), name).is_bad()) name = "of unknown name";
  return fmt::format("plan {}, workspace {} B: number {} of {}", name, workspace_bytes_, next_,
                     plans_);
}

std::function<void(void*)> GraphCall::Moved(const std::map<const void*, void*>& copies) const {
  auto pointers = pointers_;
  for (auto& [id, pointer] : pointers)
    if (const auto copy = copies.find(pointer); copy != copies.end()) pointer = copy->second;
  return [this, pointers](void* stream) mutable { Execute(stream, pointers); };
}

std::vector<workload::MemoryRegion> GraphCall::Memory() const {
  return VectorOf<workload::MemoryRegion>(tensors_, [](const auto& tensor) {
    return workload::MemoryRegion{tensor.second.buffer->get(), tensor.second.Bytes()};
  });
}

workload::PreparedCall GraphCall::Prepared(const std::shared_ptr<GraphCall>& call, Work modelled,
                                           unsigned seed,
                                           const std::function<void(unsigned)>& upload,
                                           std::function<workload::Verification()> compare) {
  upload(seed);
  if (!call->TakeNext()) workload::ThrowFirst(call->failures_);
  auto prepared = workload::PreparedOnGpu(call, std::move(modelled));
  prepared.verify = [call, compare = std::move(compare)] {
    for (auto& [name, tensor] : call->tensors_)
      if (tensor.is_result) tensor.buffer->Fill(workload::kNotANumber);
    call->Run();
    return compare();
  };
  prepared.new_inputs = [call, upload](unsigned other) { upload(other); };
  prepared.next_algorithm = [call](workload::PreparedCall& changed) {
    if (!call->TakeNext()) return false;
    changed.algorithm = call->Algorithm();
    return true;
  };
  return prepared;
}

}  // namespace dlroof::cudnn
