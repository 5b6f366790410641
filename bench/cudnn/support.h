// Common parts of all cuDNN backends: errors with cuDNN's own messages, the handle, types, and RAII
// descriptors of cuDNN's backend API. Part of the CUDA module only.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/workload/library_rules.h"

namespace dlroof::cudnn {

// Throw Unsupported if the status means that cuDNN does not support the request (IsRefusal), and
// std::runtime_error for any other failure, with the message "WHAT: STATUS: cuDNN's own message".
// Check is for calls that describe or plan something, CheckExecuted for calls that execute.
void Check(cudnnStatus_t status, std::string_view what);
void CheckExecuted(cudnnStatus_t status, std::string_view what);

// Returns the failure that `status` of a describing or planning call means.
workload::Failure FailureOf(cudnnStatus_t status);

// Returns the process's cuDNN handle, which belongs to the device that was current at the first
// call. Throws as CheckExecuted.
cudnnHandle_t Handle();

// Makes the handle use `stream` from now on.
void UseStream(void* stream);
// Its destructor makes the handle use CUDA's default stream again. Destroy it before the stream
// that the handle uses.
struct StreamUse {
  StreamUse() = default;
  ~StreamUse();
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
};

int CurrentDevice();      // CUDA's number of the current GPU
int ComputeCapability();  // of the current GPU: 90 for 9.0

// Returns the free memory of the GPU [byte]. Throws std::runtime_error with CUDA's message.
int64_t FreeDeviceBytes();
// Throws Unsupported with both sizes if `bytes` exceed the free memory. `what` names the workload.
void RequireDeviceMemory(double bytes, std::string_view what);

// Returns cuDNN's type for one of "f32 f16 bf16 e4m3 s32 s8 u8". Throws std::logic_error for
// another type.
cudnnDataType_t DataType(std::string_view type);

// A descriptor of the backend API: create it, set its attributes, then finalize it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void SetType(cudnnBackendAttributeName_t name, std::string_view type);
  void SetDescriptor(cudnnBackendAttributeName_t name, const Descriptor& value);
  void Finalize(std::string_view what);
  cudnnStatus_t TryFinalize() { return cudnnBackendFinalize(descriptor_); }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  // Return an attribute's integer, the number of an attribute's values, or all its values.
  int64_t GetInt(cudnnBackendAttributeName_t name) const;
  int64_t Count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  template <class Value>
  std::vector<Value> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    std::vector<Value> values(static_cast<size_t>(Count(name, type)));
    int64_t count = 0;
    if (!values.empty())
      Check(cudnnBackendGetAttribute(descriptor_, name, type, static_cast<int64_t>(values.size()),
                                     &count, values.data()),
            "reading an attribute");
    values.resize(static_cast<size_t>(count));
    return values;
  }
  // Returns copies of the descriptors, of type `type`, that an attribute contains. `most` is an
  // upper bound for attributes whose count cuDNN does not report (the knobs of a proposal).
  std::vector<Descriptor> GetDescriptors(cudnnBackendAttributeName_t name,
                                         cudnnBackendDescriptorType_t type,
                                         std::optional<int64_t> most = std::nullopt) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace dlroof::cudnn
