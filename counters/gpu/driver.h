// The GPUs as the driver reports them: why none can be used, the identity of one, and its health
// through NVML, which is loaded at run time. Reads only; changes no setting.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu {

struct SeenGpu {
  std::string name;
  int major = 0, minor = 0;  // compute capability
};

// What the CUDA runtime reports about devices.
struct CudaState {
  int error = 0;              // cudaError_t of cudaGetDeviceCount
  std::string error_name;     // "cudaErrorNoDevice"
  std::string error_text;     // CUDA's message
  int driver_version = 0;     // [1000 major + 10 minor] of the driver; CUDA reports 0 without one
  int runtime_version = 0;    // [1000 major + 10 minor] of this build
  std::vector<SeenGpu> gpus;  // by CUDA's device number
  int least_major = 7, least_minor = 5;  // the oldest GPU that this build has kernels for
};

// "13.0" of 13000.
std::string CudaVersionText(int version);

// Returns whether this build has kernels for the GPU.
bool IsUsable(const SeenGpu& gpu, const CudaState& state);

// Returns why no GPU can be used, with the cure. Pure.
std::optional<Reason> NoDeviceReason(const CudaState& state);

// Facts of a GPU that no setting, driver or temperature changes.
struct GpuIdentity {
  std::string name;                // "NVIDIA H200"
  int major = 0, minor = 0;        // compute capability
  int sms = 0;                     // [1] streaming multiprocessors
  double memory_bytes = 0;         // [byte] available through the driver
  double l2_bytes = 0;             // [byte]
  double shared_bytes_per_sm = 0;  // [byte] shared memory of an SM, at most
  int memory_bus_bits = 0;         // [bit]
  bool ecc = false;                // DRAM error correction is on
  bool integrated = false;         // shares the CPU's memory
};

// Returns the facts for Machine::facts, with keys "gpu.*", which are part of the fingerprint. The
// memory is rounded to GiB, because each driver version reserves a different small amount.
std::map<std::string, std::string> Facts(const GpuIdentity& identity);

class Nvml {
 public:
  // Never throws. If the library or the device is missing, all functions return nullopt.
  static Nvml Open(const std::string& library, const std::string& pci_bus_id);

  GpuHealth Health() const;
  std::optional<double> EnergyJoules() const;        // [J] of the board since the driver was loaded
  std::optional<std::string> DriverVersion() const;  // "580.65.06"

 private:
  struct Session;
  std::shared_ptr<const Session> session_;
};

// Returns the names of NVML's bits for reduced clocks, the lowest bit first:
// "sw_power_cap", "hw_thermal_slowdown", ... A bit without a name is "bit 17".
std::vector<std::string> ThrottleReasons(std::uint64_t bits);

}  // namespace dlroof::gpu
