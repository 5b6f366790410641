// The interface to CUPTI's range profiler and its failures, and recordings of raw counter values
// that tests on machines without a GPU decode. Pure.
//
// A step of CuptiApi is one call of CUPTI or an inseparable pair. counters/cuda/cupti_calls.h
// implements it; tests use a fake. session.h knows the order of the steps.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/work.h"

namespace dlroof::cupti {

enum class CudaLibrary { kCupti, kRuntime, kDriver };

// One call that failed.
struct CudaFailure {
  CudaLibrary library = CudaLibrary::kCupti;
  int code = 0;
  std::string call;                             // "cuptiRangeProfilerEnable"
  std::string name;                             // of the code: "CUPTI_ERROR_HARDWARE_BUSY"
  std::string words;                            // the library's message
  std::string tool;                             // another tool that uses CUPTI, if CUPTI names it
  int driver_version = 0, runtime_version = 0;  // [1000 major + 10 minor] or 0 if unknown
};

// Thrown by everything that talks to CUPTI; what() is FailureSentence(failure).
class CuptiError : public std::runtime_error {
 public:
  explicit CuptiError(CudaFailure failure);
  const CudaFailure& failure() const { return failure_; }

 private:
  CudaFailure failure_;
};

// Returns "<fault> (<code's name> from <call>): <cure>", or for unknown codes the library's
// message.
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

// Returns why the device cannot be profiled, with the cure. Returns nullopt if it can be, or if
// CUPTI does not know (then the first attempt shows it).
std::optional<Reason> UnsupportedReason(const CuptiDeviceSupport& support);

using CuptiImage = std::vector<uint8_t>;

struct TracedKernel {
  std::string name;                     // the mangled symbol
  double seconds = 0;                   // [s] on the GPU
  std::optional<double> start_seconds;  // [s] since the start of the trace's first kernel
  std::optional<KernelFacts> facts;     // missing in recordings
};

// The half of CUPTI that needs neither a GPU nor a driver. There is one host object at a time. All
// functions throw CuptiError.
class CuptiHostApi {
 public:
  virtual ~CuptiHostApi() = default;
  virtual std::string Version() = 0;
  // An empty `availability` stands for all counters of the chip, without restrictions of the device
  // or the user.
  virtual void OpenHost(const std::string& chip, const CuptiImage& availability) = 0;
  // Returns false if the chip lacks a metric, or if they cannot be collected together.
  virtual bool AddMetrics(const std::vector<std::string>& metrics) = 0;
  virtual CuptiImage Config() = 0;
  virtual int Passes(const CuptiImage& config) = 0;
  virtual std::vector<double> Values(const CuptiImage& counters,
                                     const std::vector<std::string>& metrics) = 0;
  virtual void CloseHost() noexcept = 0;
};

// Call the other functions only after DeviceCount() has returned at least 1: without a driver CUPTI
// crashes.
class CuptiApi : public CuptiHostApi {
 public:
  virtual int DeviceCount() = 0;
  virtual void OpenDevice(int device) = 0;  // creates its context and makes it current
  virtual void StartProfiler() = 0;
  virtual CuptiDeviceSupport Support(int device) = 0;
  virtual std::string ChipName(int device) = 0;
  virtual CuptiImage CounterAvailability() = 0;

  // Reserves CUPTI, so that other tools see that it is in use.
  virtual void Subscribe() = 0;
  virtual void Unsubscribe() noexcept = 0;

  virtual void EnableRanges() = 0;
  virtual CuptiImage CounterImage(const std::vector<std::string>& metrics) = 0;
  // CUPTI keeps the addresses of both until DisableRanges.
  virtual void SetConfig(const CuptiImage& config, CuptiImage& counters) = 0;
  virtual void StartPass() = 0;
  virtual void PushRange() = 0;
  virtual void PopRange() = 0;
  virtual bool StopPass() = 0;                            // returns true after the last pass
  virtual size_t DecodeCounters() = 0;                    // returns the number of dropped ranges
  virtual size_t Ranges(const CuptiImage& counters) = 0;  // returns the number of ranges in it
  virtual void DisableRanges() noexcept = 0;

  virtual void StartTrace() = 0;
  // Returns the kernels since StartTrace in the order of their start.
  virtual std::vector<TracedKernel> StopTrace() = 0;
  // Clears earlier errors, which CUDA would report for the next call.
  virtual void ForgetErrors() noexcept = 0;
  virtual void Synchronize() = 0;  // until the GPU has nothing left to do
};

struct RecordedCall {
  std::string name;
  std::vector<std::string> pipes;        // that the call is known to use
  std::map<std::string, double> values;  // by metric
  std::vector<TracedKernel> kernels;
  std::optional<Work> expected;  // set if the call's work is known
  std::optional<int> passes;     // [1]
  std::string origin;            // source of the values if it differs from the recording's
};

struct CuptiRecording {
  std::string chip;    // "GH100"
  std::string origin;  // GPU, driver, CUPTI and date, or a publication
  // Quantities ("fp32.vector", "dram", "launches") whose counters failed the self-test on this
  // hardware. The recording has their values, which are wrong.
  std::vector<std::string> failed;
  std::vector<RecordedCall> calls;
};

nlohmann::json ToJson(const CuptiRecording& recording);
// `where` starts every message. Throws BadInput for a missing or wrong-typed key.
CuptiRecording CuptiRecordingFromJson(const nlohmann::json& json, const std::string& where);

}  // namespace dlroof::cupti
