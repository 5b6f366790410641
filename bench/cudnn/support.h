// Shared by every cuDNN cell: errors in cuDNN's own words, the handle, types, descriptors of its
// backend API that free themselves. Part of the CUDA module only.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/library_rules/library_rules.h"

namespace dlroof::cudnn {

// Throws Unsupported for a refusal (IsRefusal), std::runtime_error for anything else: "what:
// status: cuDNN's own words". The first for what describes or plans something, the other for what
// executes.
void Check(cudnnStatus_t status, std::string_view what);
void CheckExecuted(cudnnStatus_t status, std::string_view what);

// Returns why a description or a plan could not be made.
library_rules::WhyNot WhyNotMade(cudnnStatus_t status);

// One handle for the process, on the device that was current at the first call. Throws as Check.
cudnnHandle_t Handle();

// Lets the handle work on this stream from now on.
void UseStream(void* stream);
// At its end the handle works on CUDA's default stream again: before a stream that it used ends.
struct StreamUse {
  StreamUse() = default;
  ~StreamUse();
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
};

int CurrentDevice();      // CUDA's number
int ComputeCapability();  // of that GPU: 90 for 9.0

// [byte] Memory of the GPU that is not in use. Throws std::runtime_error with CUDA's words.
int64_t FreeDeviceBytes();
// Throws Unsupported, naming both sizes, when `bytes` exceed it. `what` names the workload.
void RequireDeviceMemory(double bytes, std::string_view what);

// "f32 f16 bf16 e4m3 s32 s8 u8" -> cuDNN's type. Throws std::logic_error for another.
cudnnDataType_t DataType(std::string_view type);

// A descriptor of the backend API, made and then set attribute by attribute.
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

  // Values of an attribute; as many as there are.
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
  // The descriptors that an attribute holds, copied into new ones of `type`. `most`: where cuDNN
  // does not tell how many there are (it says 0 for the knobs of a proposal); 0: it does.
  std::vector<Descriptor> GetDescriptors(cudnnBackendAttributeName_t name,
                                         cudnnBackendDescriptorType_t type, int64_t most = 0) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace dlroof::cudnn
