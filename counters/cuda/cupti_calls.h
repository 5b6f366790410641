// Implements CuptiApi with calls of CUPTI, without further logic. Part of the CUDA module only.
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>

#include "counters/gpu/api.h"

namespace dlroof::cuda {

class CuptiCalls final : public gpu::CuptiApi {
 public:
  void OpenHost(const std::string& chip, const gpu::CuptiImage& availability) override;
  bool AddMetrics(const std::vector<std::string>& metrics) override;
  gpu::CuptiImage Config() override;
  int Passes(const gpu::CuptiImage& config) override;
  std::vector<double> Values(const gpu::CuptiImage& counters,
                             const std::vector<std::string>& metrics) override;
  void CloseHost() noexcept override;

  int DeviceCount() override;
  void OpenDevice(int device) override;
  void StartProfiler() override;
  bool Supports(int device) override;
  std::string ChipName(int device) override;
  gpu::CuptiImage CounterAvailability() override;
  void Subscribe() override;
  void Unsubscribe() noexcept override;
  void EnableRanges() override;
  gpu::CuptiImage CounterImage(const std::vector<std::string>& metrics) override;
  void SetConfig(const gpu::CuptiImage& config, gpu::CuptiImage& counters) override;
  void StartPass() override;
  void PushRange() override;
  void PopRange() override;
  bool StopPass() override;
  size_t DecodeCounters() override;
  size_t Ranges(const gpu::CuptiImage& counters) override;
  void DisableRanges() noexcept override;
  void StartTrace() override;
  std::vector<gpu::TracedKernel> StopTrace() override;
  void ForgetErrors() noexcept override;
  void Synchronize() override;

 private:
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* ranges_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  CUcontext context_ = nullptr;
};

// Throws CuptiError with the name `call` unless `result` is success.
void CheckCupti(CUptiResult result, const char* call);
#define DLROOF_CUPTI(function, params) ::dlroof::cuda::CheckCupti(function(&(params)), #function)
// Type and initial value of a CUPTI parameter struct: all zeros but its size, which tells CUPTI the
// struct's version.
#define DLROOF_CUPTI_PARAMS(name) \
  name##_Params { name##_Params_STRUCT_SIZE }
std::vector<const char*> Pointers(const std::vector<std::string>& texts);

}  // namespace dlroof::cuda
