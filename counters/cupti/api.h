// Failures of CUPTI, the CUDA runtime or the driver while counting, each as one sentence with its
// cure. Pure.
//
// The steps of counting with CUPTI's range profiler, one call of the library each (or a pair that
// only makes sense together). The real one (cupti_calls.h) translates; a fake drives every success
// and failure in tests. session.h knows the order of the steps.
//
// Raw values of counters kept in a file, so that a machine without a GPU can decode them again.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof::cupti {

enum class CudaLibrary { kCupti, kRuntime, kDriver };

// One call that failed.
struct CudaFailure {
  CudaLibrary library = CudaLibrary::kCupti;
  int code = 0;
  std::string call;   // "cuptiRangeProfilerEnable"
  std::string name;   // of the code: "CUPTI_ERROR_HARDWARE_BUSY"
  std::string words;  // the library's own
  std::string tool;   // that holds CUPTI, where CUPTI names it
  // [1] versions as 13000 is 13.0, 0 where not known: a driver that is older is a reason of its
  // own.
  int driver_version = 0, runtime_version = 0;
};

// Thrown by everything that talks to CUPTI; what() is FailureSentence(failure).
class CuptiError : public std::runtime_error {
 public:
  explicit CuptiError(CudaFailure failure);
  const CudaFailure& failure() const { return failure_; }

 private:
  CudaFailure failure_;
};

// "<what is the matter> (<code's name> from <call>): <cure>". A code that is not known comes with
// the library's own words.
std::string FailureSentence(const CudaFailure& failure);

// CUPTI's answer to whether this device can be profiled.
enum class CuptiSupport { kUnknown, kUnsupported, kDisabled, kSupported };
struct CuptiDeviceSupport {
  CuptiSupport overall = CuptiSupport::kUnknown;
  CuptiSupport architecture = CuptiSupport::kUnknown;
  CuptiSupport sli = CuptiSupport::kUnknown;
  CuptiSupport vgpu = CuptiSupport::kUnknown;
  CuptiSupport confidential = CuptiSupport::kUnknown;
  CuptiSupport cmp = CuptiSupport::kUnknown;
  CuptiSupport wsl = CuptiSupport::kUnknown;
};

// Why not, with the cure, in one sentence; empty: it can be (or CUPTI does not know: then the first
// attempt tells).
std::string SupportSentence(const CuptiDeviceSupport& support);

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

struct RecordedCall {
  std::string name;
  std::vector<std::string> pipes;        // that the call is known to use
  std::map<std::string, double> values;  // by metric
  std::vector<TracedKernel> kernels;
  std::optional<Work> expected;  // where the call's work is known
  int passes = 0;                // [1] 0: not known
  std::string origin;            // where the values are from, when not the recording's
};

struct CuptiRecording {
  std::string chip;    // "GH100"
  std::string origin;  // GPU, driver, CUPTI, date; or the publication
  // Quantities ("fp32.vector", "dram", "launches") whose counter failed on this hardware, by the
  // self-test: their values are kept, and are known to be wrong.
  std::vector<std::string> failed;
  std::vector<RecordedCall> calls;
};

nlohmann::json ToJson(const CuptiRecording& recording);
// `where` starts every message. Throws BadInput for a missing or wrong-typed key.
CuptiRecording CuptiRecordingFromJson(const nlohmann::json& json, const std::string& where);

}  // namespace dlroof::cupti
