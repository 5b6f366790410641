// The GPUs as the driver reports them: why no GPU can be used, a GPU's identity, and its health
// through NVML, which is loaded at run time. Changes no settings.
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
  int error = 0;                         // cudaError_t of cudaGetDeviceCount
  std::string error_name;                // "cudaErrorNoDevice"
  std::string error_text;                // CUDA's message
  int driver_version = 0;                // [1000 major + 10 minor]; 0 if there is no driver
  int runtime_version = 0;               // [1000 major + 10 minor] of the CUDA of this build
  std::vector<SeenGpu> gpus;             // index: CUDA's device number
  int least_major = 7, least_minor = 5;  // lowest compute capability that this build supports
};

// Returns "13.0" for 13000.
std::string CudaVersionText(int version);

// Returns whether this build has kernels for the GPU.
bool IsUsable(const SeenGpu& gpu, const CudaState& state);

// Returns why no GPU can be used and how to change that. Pure.
std::optional<Reason> NoDeviceReason(const CudaState& state);

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
};

// Returns the GPU's entries in Machine::facts, which are part of the fingerprint; keys begin with
// "gpu.". The memory is rounded to GiB, as each driver version reserves a different small amount.
std::map<std::string, std::string> Facts(const GpuIdentity& identity);

class Nvml {
 public:
  // Opens the device with this PCI address. Never throws. If the NVML library or the device is
  // missing, all functions of the result return nullopt.
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
