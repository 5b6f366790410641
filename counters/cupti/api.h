// The steps of counting with CUPTI's range profiler, one call of the library each (or a pair that
// only makes sense together). The real one (cupti_calls.h) translates; a fake drives every success
// and failure in tests. session.h knows the order of the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/failure.h"
#include "counters/work.h"

namespace dlroof::cupti {

using CuptiImage = std::vector<uint8_t>;

struct TracedKernel {
  std::string name;    // as the compiler made it
  double seconds = 0;  // [s] on the GPU
  // [s] its start since that of the first kernel of the trace; absent where nobody kept it
  std::optional<double> start_seconds;
  std::optional<KernelFacts> facts;  // absent where nobody kept them
};

// CUPTI's host half: needs no GPU and no driver. One host object at a time. All throw CuptiError.
class CuptiHostApi {
 public:
  virtual ~CuptiHostApi() = default;
  virtual std::string Version() = 0;
  // An empty availability: as the chip is, without what this device or its user may not have.
  virtual void OpenHost(const std::string& chip, const CuptiImage& availability) = 0;
  // False: a name is none of the chip's, or they cannot be collected together.
  virtual bool AddMetrics(const std::vector<std::string>& metrics) = 0;
  virtual CuptiImage Config() = 0;
  virtual int Passes(const CuptiImage& config) = 0;
  virtual std::vector<double> Values(const CuptiImage& counters,
                                     const std::vector<std::string>& metrics) = 0;
  virtual void CloseHost() noexcept = 0;
};

// The rest is to be called only after DeviceCount() gave one or more: without a driver CUPTI
// crashes.
class CuptiApi : public CuptiHostApi {
 public:
  virtual int DeviceCount() = 0;
  virtual void OpenDevice(int device) = 0;  // makes its context, which becomes current
  virtual void StartProfiler() = 0;
  virtual CuptiDeviceSupport Support(int device) = 0;
  virtual std::string ChipName(int device) = 0;
  virtual CuptiImage CounterAvailability() = 0;

  // Tells other tools that CUPTI is in use.
  virtual void Subscribe() = 0;
  virtual void Unsubscribe() noexcept = 0;

  virtual void EnableRanges() = 0;
  virtual CuptiImage CounterImage(const std::vector<std::string>& metrics) = 0;
  // CUPTI keeps the addresses of both until DisableRanges.
  virtual void SetConfig(const CuptiImage& config, CuptiImage& counters) = 0;
  virtual void StartPass() = 0;
  virtual void PushRange() = 0;
  virtual void PopRange() = 0;
  virtual bool StopPass() = 0;                            // true: that was the last
  virtual size_t DecodeCounters() = 0;                    // ranges that were dropped
  virtual size_t Ranges(const CuptiImage& counters) = 0;  // that the image holds values of
  virtual void DisableRanges() noexcept = 0;

  virtual void StartTrace() = 0;
  virtual std::vector<TracedKernel>
  StopTrace() = 0;  // since StartTrace, in the order of their start
  // Clears unread errors, which would be reported as failures of the next call.
  virtual void ForgetErrors() noexcept = 0;
  virtual void Synchronize() = 0;  // until the GPU has nothing left to do
};

}  // namespace dlroof::cupti
