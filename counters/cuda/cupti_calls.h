// The CuptiApi of the real CUPTI, without logic of its own. Part of the CUDA module only.
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>

#include "counters/cupti/api.h"

namespace dlroof::cuda {

class CuptiCalls final : public cupti::CuptiApi {
 public:
  std::string Version() override;
  void OpenHost(const std::string& chip, const cupti::CuptiImage& availability) override;
  bool AddMetrics(const std::vector<std::string>& metrics) override;
  cupti::CuptiImage Config() override;
  int Passes(const cupti::CuptiImage& config) override;
  std::vector<double> Values(const cupti::CuptiImage& counters,
                             const std::vector<std::string>& metrics) override;
  void CloseHost() noexcept override;

  int DeviceCount() override;
  void OpenDevice(int device) override;
  void StartProfiler() override;
  cupti::CuptiDeviceSupport Support(int device) override;
  std::string ChipName(int device) override;
  cupti::CuptiImage CounterAvailability() override;
  void Subscribe() override;
  void Unsubscribe() noexcept override;
  void EnableRanges() override;
  cupti::CuptiImage CounterImage(const std::vector<std::string>& metrics) override;
  void SetConfig(const cupti::CuptiImage& config, cupti::CuptiImage& counters) override;
  void StartPass() override;
  void PushRange() override;
  void PopRange() override;
  bool StopPass() override;
  size_t DecodeCounters() override;
  size_t Ranges(const cupti::CuptiImage& counters) override;
  void DisableRanges() noexcept override;
  void StartTrace() override;
  std::vector<cupti::TracedKernel> StopTrace() override;
  void ForgetErrors() noexcept override;
  void Synchronize() override;

 private:
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* ranges_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  CUcontext context_ = nullptr;
};

// Throws CuptiError naming `call`.
void CheckCupti(CUptiResult result, const char* call);
#define DLROOF_CUPTI(function, params) ::dlroof::cuda::CheckCupti(function(&(params)), #function)
// Zero-initialized parameters with their size, by which CUPTI distinguishes versions.
#define DLROOF_CUPTI_PARAMS(name) \
  name##_Params { name##_Params_STRUCT_SIZE }
std::vector<const char*> Pointers(const std::vector<std::string>& texts);

}  // namespace dlroof::cuda
