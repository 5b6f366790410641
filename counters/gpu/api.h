// The interface to CUPTI's range profiler, and its errors. Pure.
//
// Each function of CuptiApi makes one CUPTI call, or two that belong together. CuptiCalls in
// counters/cuda implements the interface, tests use a fake, session.h has the order of the calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/work.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu {

enum class CudaLibrary { kCupti, kRuntime, kDriver };

struct CudaFailure {
  CudaLibrary library = CudaLibrary::kCupti;
  int code = 0;
  std::string call;                             // "cuptiRangeProfilerEnable"
  std::string name;                             // name of `code`: "CUPTI_ERROR_HARDWARE_BUSY"
  std::string words;                            // the library's message
  int driver_version = 0, runtime_version = 0;  // [1000 major + 10 minor] or 0 if unknown
};

// Thrown if a call of a CUDA library fails. what() is FailureSentence(failure).
struct CuptiError : std::runtime_error {
  explicit CuptiError(CudaFailure cause);

  CudaFailure failure;
};

// Returns "<error> (<code's name> from <call>): <cure>" or, for an error without a known cure, the
// library's message.
std::string FailureSentence(const CudaFailure& failure);

using CuptiImage = std::vector<uint8_t>;

struct TracedKernel {
  std::string name;                     // mangled name of the function
  double seconds = 0;                   // [s] execution time on the GPU
  std::optional<double> start_seconds;  // [s] since the start of the first traced kernel
  std::optional<KernelFacts> facts;     // nullopt in tests
};

// All functions except the noexcept ones throw CuptiError if a call of a CUDA library fails.
class CuptiApi {
 public:
  virtual ~CuptiApi() = default;

  // --- Functions that need neither GPU nor driver. Only one host object can be open. ---
  // Opens the host object of a chip. An empty `availability` means that all counters of the chip
  // are available, whatever the device or the user's permissions.
  virtual void OpenHost(const std::string& chip, const CuptiImage& availability) = 0;
  // Adds metrics to the configuration. Returns false if the chip lacks one of them, or if they
  // cannot be collected together.
  virtual bool AddMetrics(const std::vector<std::string>& metrics) = 0;
  virtual CuptiImage Config() = 0;
  virtual int Passes(const CuptiImage& config) = 0;
  virtual std::vector<double> Values(const CuptiImage& counters,
                                     const std::vector<std::string>& metrics) = 0;
  virtual void CloseHost() noexcept = 0;

  // --- Functions that need a GPU. Call DeviceCount() first, and the others only if it returns at
  // least 1: without a driver CUPTI crashes. ---
  virtual int DeviceCount() = 0;
  virtual void OpenDevice(int device) = 0;  // creates its context and makes it current
  virtual void StartProfiler() = 0;
  // Returns false if CUPTI says that it cannot profile the device.
  virtual bool Supports(int device) = 0;
  virtual std::string ChipName(int device) = 0;
  virtual CuptiImage CounterAvailability() = 0;

  // Reserves CUPTI for this program, so that other tools see that it is in use.
  virtual void Subscribe() = 0;
  virtual void Unsubscribe() noexcept = 0;

  virtual void EnableRanges() = 0;
  virtual CuptiImage CounterImage(const std::vector<std::string>& metrics) = 0;
  // Both parameters must live until DisableRanges, because CUPTI stores their addresses.
  virtual void SetConfig(const CuptiImage& config, CuptiImage& counters) = 0;
  virtual void StartPass() = 0;
  virtual void PushRange() = 0;
  virtual void PopRange() = 0;
  virtual bool StopPass() = 0;                            // returns true after the last pass
  virtual size_t DecodeCounters() = 0;                    // returns the number of dropped ranges
  virtual size_t Ranges(const CuptiImage& counters) = 0;  // returns the number of ranges
  virtual void DisableRanges() noexcept = 0;

  virtual void StartTrace() = 0;
  // Returns the kernels since StartTrace, ordered by start time.
  virtual std::vector<TracedKernel> StopTrace() = 0;
  // Clears the error of an earlier CUDA call, which CUDA would report for the next call.
  virtual void ForgetErrors() noexcept = 0;
  virtual void Synchronize() = 0;  // waits until the GPU is idle
};

// Descriptions of GPUs: why none can be used, their identity, and their health (clocks, power,
// temperature) from NVML, which is loaded at run time. No function changes a GPU's settings.

// Properties of a GPU that do not depend on settings, driver or temperature.
struct GpuIdentity {
  std::string name;                // "NVIDIA H200"
  int major = 0, minor = 0;        // compute capability
  int sms = 0;                     // [1] streaming multiprocessors
  double memory_bytes = 0;         // [byte] available through the driver
  double l2_bytes = 0;             // [byte]
  double shared_bytes_per_sm = 0;  // [byte] maximum shared memory of an SM
  int memory_bus_bits = 0;         // [bit]
  bool ecc = false;                // whether DRAM error correction is on
  bool integrated = false;         // whether the GPU shares the CPU's memory

  int Capability() const { return 10 * major + minor; }
};

struct CudaState {
  int error = 0;                         // cudaError_t of cudaGetDeviceCount
  std::string error_name;                // "cudaErrorNoDevice"
  std::string error_text;                // CUDA's message
  int driver_version = 0;                // [1000 major + 10 minor]; 0 if there is no driver
  int runtime_version = 0;               // [1000 major + 10 minor] of the CUDA of this build
  std::vector<GpuIdentity> gpus;         // index: CUDA's device number
  int least_major = 7, least_minor = 5;  // lowest compute capability that this build supports
};

// Returns "13.0" for 13000.
std::string CudaVersionText(int version);

// Returns whether this build has kernels for the GPU.
bool IsUsable(const GpuIdentity& gpu, const CudaState& state);

// Returns why no GPU can be used and how to change that, or nullopt if one can be used. Pure.
std::optional<Reason> NoDeviceReason(const CudaState& state);

// Returns the GPU's entries in Machine::facts, which are part of the fingerprint; keys begin with
// "gpu.". The memory is rounded to GiB, as each driver version reserves a different small amount.
std::map<std::string, std::string> Facts(const GpuIdentity& identity);

class Nvml {
 public:
  // Opens the device with this PCI address. Never throws. If the NVML library or the device is
  // missing, the result reports no values: nullopt, and a GpuHealth with unset members.
  static Nvml Open(const std::string& library, const std::string& pci_bus_id);

  GpuHealth Health() const;
  std::optional<double> EnergyJoules() const;        // [J] of the board since the driver was loaded
  std::optional<std::string> DriverVersion() const;  // "580.65.06"

 private:
  struct Session;
  std::shared_ptr<const Session> session_;
};

// Returns the names of the reasons for reduced clocks in NVML's `bits`, the lowest bit first:
// "sw_power_cap", "hw_thermal_slowdown", ... A bit without a name is "bit 17".
std::vector<std::string> ThrottleReasons(std::uint64_t bits);

}  // namespace dlroof::gpu
