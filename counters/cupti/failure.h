// Failures of CUPTI, the CUDA runtime or the driver while counting, each as one sentence with its
// cure. Pure.
#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace dlroof::cupti
