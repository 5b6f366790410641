// Shared by all cuDNN backends: errors with cuDNN's own messages, the handle, types, and RAII
// descriptors of cuDNN's backend API. Part of the CUDA module only.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/library_rules/library_rules.h"

namespace dlroof::cudnn {

// Throw Unsupported for a refusal (IsRefusal) and std::runtime_error for another failure, with the
// message "WHAT: STATUS: cuDNN's own message". Check is for calls that describe or plan something,
// CheckExecuted for calls that execute.
void Check(cudnnStatus_t status, std::string_view what);
void CheckExecuted(cudnnStatus_t status, std::string_view what);

// Returns the failure of a call that describes or plans something.
library_rules::Failure FailureOf(cudnnStatus_t status);

// Returns the process's handle, on the device that was current at the first call. Throws as
// CheckExecuted does.
cudnnHandle_t Handle();

// Makes the handle use this stream from now on.
void UseStream(void* stream);
// Its destructor makes the handle use CUDA's default stream again. It must run before the stream
// that the handle used is destroyed.
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

// A descriptor of the backend API. It is created, its attributes are set, and it is finalized.
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

  // Read an attribute: one integer, the number of its values, all its values.
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
  // Returns the descriptors that an attribute holds, copied into new ones of `type`. `most` is an
  // upper bound for attributes whose count cuDNN does not report (the knobs of a proposal).
  std::vector<Descriptor> GetDescriptors(cudnnBackendAttributeName_t name,
                                         cudnnBackendDescriptorType_t type,
                                         std::optional<int64_t> most = std::nullopt) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace dlroof::cudnn
