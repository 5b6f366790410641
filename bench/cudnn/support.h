// Common parts of all cuDNN backends: errors with cuDNN's messages, the handle, types, and RAII
// descriptors of cuDNN's backend API. Part of the CUDA module.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/library_rules.h"

namespace dlroof::cudnn {

// Returns the version of the loaded cuDNN, e.g. "9.19.0".
std::string CudnnVersion();

// Throw Unsupported if the status means that cuDNN does not support the request (IsRefusal), and
// std::runtime_error for other failures. The message is "WHAT: STATUS: cuDNN's message". Check is
// for calls that describe or plan, CheckExecuted for calls that execute.
void Check(cudnnStatus_t status, std::string_view what);
void CheckExecuted(cudnnStatus_t status, std::string_view what);

// Returns the failure of the last call, which described or planned and returned `status`.
workload::Failure FailureOf(cudnnStatus_t status);

// Returns the process's cuDNN handle. The first call creates it for the current GPU. Throws as
// CheckExecuted does.
cudnnHandle_t Handle();

void UseStream(void* stream);
// Sets Handle()'s stream to CUDA's default stream when destroyed, which must happen before the
// stream in use is destroyed.
struct StreamUse {
  StreamUse() = default;
  ~StreamUse();
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
};

int CurrentDevice();  // CUDA's number of the current GPU

// Returns cuDNN's type for "f32 f16 bf16 e4m3 s32 s8 u8". Throws std::logic_error for other text.
cudnnDataType_t DataType(std::string_view type);

// A descriptor of the backend API. Create it, set its attributes, then finalize it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void SetType(cudnnBackendAttributeName_t name, std::string_view type);
  void SetDescriptor(cudnnBackendAttributeName_t name, const Descriptor& value);
  void Finalize(std::string_view what);
  cudnnStatus_t TryFinalize() { return cudnnBackendFinalize(get()); }

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

  // GetInt returns an attribute's integer value, Count the number of its values, Get all values.
  int64_t GetInt(cudnnBackendAttributeName_t name) const;
  int64_t Count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  template <class Value>
  std::vector<Value> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    std::vector<Value> values(static_cast<size_t>(Count(name, type)));
    int64_t count = 0;
    if (!values.empty())
      Check(cudnnBackendGetAttribute(get(), name, type, static_cast<int64_t>(values.size()), &count,
                                     values.data()),
            "reading an attribute");
    values.resize(static_cast<size_t>(count));
    return values;
  }
  // Returns copies of an attribute's descriptors of type `type`. `most`: an upper bound of their
  // number if cuDNN does not report it, e.g. for the knobs of a proposal.
  std::vector<Descriptor> GetDescriptors(cudnnBackendAttributeName_t name,
                                         cudnnBackendDescriptorType_t type,
                                         std::optional<int64_t> most = std::nullopt) const;

 private:
  struct Destroy {
    void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<void, Destroy> descriptor_;
};

}  // namespace dlroof::cudnn
