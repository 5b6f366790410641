// Parts of calls on a GPU that all libraries' backends share. `Buffer` is cuda::DeviceBuffer, whose
// header only CUDA modules include.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/workload/memory.h"
#include "bench/workload/workload.h"

namespace dlroof::workload {

inline constexpr int kNotANumber = 0xff;  // floats that consist of this byte are NaN

template <class Buffer>
void Upload(const std::vector<float>& values, std::string_view type, Buffer& buffer) {
  buffer.CopyFrom(Encoded(values, type).data());
}
template <class Buffer>
std::vector<float> Download(std::string_view type, const Buffer& buffer) {
  std::vector<std::byte> bytes(buffer.bytes());
  buffer.CopyTo(bytes.data());
  return Decoded(bytes, type);
}

template <class Buffer>
struct DeviceTensor {
  DeviceTensor(std::string_view of_type, int64_t count)
      : type(of_type), buffer(static_cast<size_t>(StoredBytes(count, of_type))) {}
  void Write(const std::vector<float>& values) { Upload(values, type, buffer); }
  std::vector<float> Read() const { return Download(type, buffer); }
  void* get() const { return buffer.get(); }
  MemoryRegion Region(bool weights = false) const { return {get(), buffer.bytes(), weights}; }

  std::string type;
  Buffer buffer;
};

// Returns a prepared call that runs `call`; functions that `Call` lacks are empty. Removes the
// launches from `modelled`: a library may launch several kernels for one call.
template <class Call>
PreparedCall PreparedOnGpu(const std::shared_ptr<Call>& call, Work modelled) {
  PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.gpu.emplace().enqueue = [call](void* stream) { call->Enqueue(stream); };
  if constexpr (requires { call->Moved({}); })
    prepared.gpu->on_copies = [call](const std::map<const void*, void*>& copies) {
      return [call, moved = call->Moved(copies)](void* stream) { moved(stream); };
    };
  if constexpr (requires { call->Verify(); }) prepared.verify = [call] { return call->Verify(); };
  if constexpr (requires { call->NewInputs(0); })
    prepared.new_inputs = [call](unsigned seed) { call->NewInputs(seed); };
  prepared.algorithm = call->Algorithm();
  prepared.modelled = std::move(modelled);
  prepared.modelled.launches.reset();
  prepared.threads = 1;
  prepared.memory = call->Memory();
  return prepared;
}

}  // namespace dlroof::workload
