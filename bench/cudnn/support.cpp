#include "bench/cudnn/support.h"

#include <cudnn_graph.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "bench/cudnn/library.h"
#include "counters/base/error.h"
#include "counters/cuda/device.h"

namespace dlroof::cudnn {
namespace {

constexpr std::array<std::pair<std::string_view, cudnnDataType_t>, 7> kTypes = {
    {{"f32", CUDNN_DATA_FLOAT},
     {"f16", CUDNN_DATA_HALF},
     {"bf16", CUDNN_DATA_BFLOAT16},
     {"s32", CUDNN_DATA_INT32},
     {"s8", CUDNN_DATA_INT8},
     {"u8", CUDNN_DATA_UINT8},
     {"e4m3", CUDNN_DATA_FP8_E4M3}}};

std::string LastMessage(cudnnStatus_t status) {
  std::array<char, 1024> message{};
  cudnnGetLastErrorString(message.data(), message.size());
  std::string text = cudnnGetErrorString(status);
  if (message[0] != 0) text += fmt::format(": {}", message.data());
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  return text;
}

void Require(cudnnStatus_t status, std::string_view what, workload::Stage stage) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const auto text = fmt::format("{}: {}", what, LastMessage(status));
  if (workload::IsRefusal(static_cast<int>(status), stage)) throw Unsupported(text);
  throw std::runtime_error(text);
}

}  // namespace

std::string CudnnVersion() { return workload::VersionText(cudnnGetVersion()); }

[[maybe_unused]] const bool facts_registered = [] {
  FactsReader() = [] {
    return LibraryFacts{CudnnVersion(), workload::CudnnMismatch(cudnnGetVersion(), CUDNN_MAJOR)};
  };
  return true;
}();

void Check(cudnnStatus_t status, std::string_view what) {
  Require(status, what, workload::Stage::kDescribe);
}

void CheckExecuted(cudnnStatus_t status, std::string_view what) {
  Require(status, what, workload::Stage::kExecute);
}

workload::Failure FailureOf(cudnnStatus_t status) {
  return {LastMessage(status),
          !workload::IsRefusal(static_cast<int>(status), workload::Stage::kDescribe)};
}

cudnnHandle_t Handle() {
  // Never destroyed: at exit CUDA may already be unloaded.
  static const cudnnHandle_t handle = [] {
    cudnnHandle_t made = nullptr;
    CheckExecuted(cudnnCreate(&made), "cuDNN");
    return made;
  }();
  return handle;
}

void UseStream(void* stream) {
  CheckExecuted(cudnnSetStream(Handle(), static_cast<cudaStream_t>(stream)), "cuDNN's stream");
}

StreamUse::~StreamUse() {
  try {
    cudnnSetStream(Handle(), nullptr);
  } catch (const std::exception&) {
    return;  // the handle could not be created
  }
}

int CurrentDevice() {
  int device = 0;
  cuda::CheckCuda(cudaGetDevice(&device), "the current GPU");
  return device;
}

cudnnDataType_t DataType(std::string_view type) {
  for (const auto& [name, value] : kTypes)
    if (name == type) return value;
  throw std::logic_error(fmt::format("cuDNN has no type {}", type));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  Check(cudnnBackendCreateDescriptor(type, &made), "a cuDNN descriptor");
  descriptor_.reset(made);
}

void Descriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t count, const void* values) {
  Check(cudnnBackendSetAttribute(get(), name, type, count, values),
        fmt::format("attribute {} of a cuDNN descriptor", static_cast<int>(name)));
}

void Descriptor::SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
  Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

void Descriptor::SetType(cudnnBackendAttributeName_t name, std::string_view type) {
  const cudnnDataType_t value = DataType(type);
  Set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

void Descriptor::SetDescriptor(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void Descriptor::Finalize(std::string_view what) { Check(TryFinalize(), what); }

int64_t Descriptor::GetInt(cudnnBackendAttributeName_t name) const {
  int64_t value = 0, count = 0;
  Check(cudnnBackendGetAttribute(get(), name, CUDNN_TYPE_INT64, 1, &count, &value),
        fmt::format("reading attribute {} of a cuDNN descriptor", static_cast<int>(name)));
  return value;
}

int64_t Descriptor::Count(cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type) const {
  int64_t count = 0;
  Check(cudnnBackendGetAttribute(get(), name, type, 0, &count, nullptr),
        fmt::format("counting attribute {} of a cuDNN descriptor", static_cast<int>(name)));
  return count;
}

std::vector<Descriptor> Descriptor::GetDescriptors(cudnnBackendAttributeName_t name,
                                                   cudnnBackendDescriptorType_t type,
                                                   std::optional<int64_t> most) const {
  int64_t count = most ? *most : Count(name, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  std::vector<Descriptor> made;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    made.emplace_back(type);
    raw.push_back(made.back().get());
  }
  if (count > 0)
    Check(cudnnBackendGetAttribute(get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                   raw.data()),
          fmt::format("reading attribute {} of a cuDNN descriptor", static_cast<int>(name)));
  while (made.size() > static_cast<size_t>(count)) made.pop_back();
  return made;
}

}  // namespace dlroof::cudnn
