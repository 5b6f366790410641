// Why no GPU can be used, as a sentence with its cure. Pure: the CUDA runtime's answers in, text
// out.
//
// Identity of a GPU, by facts that no setting, driver or temperature changes.
//
// A GPU's health by NVIDIA's management library, which is the driver's: opened at run time, its
// absence only leaves the answers absent. Reads; changes no setting.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "counters/gpu/clock.h"

namespace dlroof::gpu {

struct SeenGpu {
  std::string name;
  int major = 0, minor = 0;  // compute capability
};

// The CUDA runtime's answer to a question for devices.
struct CudaState {
  int error = 0;              // cudaError_t of cudaGetDeviceCount
  std::string error_name;     // "cudaErrorNoDevice"
  std::string error_text;     // CUDA's own words
  int driver_version = 0;     // [1000 major + 10 minor] CUDA of the driver; 0: none is loaded
  int runtime_version = 0;    // [the same] CUDA of this build
  std::vector<SeenGpu> gpus;  // by CUDA's number
  int least_major = 7, least_minor = 5;  // the oldest GPU that this build has kernels for
};

// "13.0" of 13000.
std::string CudaVersionText(int version);

// Returns whether this build has kernels for it.
bool IsUsable(const SeenGpu& gpu, const CudaState& state);

// Empty: at least one GPU can be used.
std::string WhyNoDevice(const CudaState& state);

struct GpuIdentity {
  std::string name;                // "NVIDIA H200"
  int major = 0, minor = 0;        // compute capability
  int sms = 0;                     // [1] streaming multiprocessors
  double memory_bytes = 0;         // [byte] as the driver gives it out
  double l2_bytes = 0;             // [byte]
  double shared_bytes_per_sm = 0;  // [byte] shared memory of an SM, at most
  int memory_bus_bits = 0;         // [bit]
  bool ecc = false;                // DRAM's error correction is on
  bool integrated = false;         // shares the CPU's memory
};

// Keys as Machine::facts has them: what begins with "gpu." is the fingerprint's. The memory is
// rounded to GiB: drivers keep a little of it for themselves, each another amount.
std::map<std::string, std::string> Facts(const GpuIdentity& identity);

class Nvml {
 public:
  // Never throws: without the library, or where it does not know the device, every answer is
  // absent.
  static Nvml Open(const std::string& library, const std::string& pci_bus_id);

  GpuHealth Health() const;
  // [J] of the board since the driver was loaded (Volta and newer); absent: not readable.
  std::optional<double> EnergyJoules() const;
  // The driver's version ("580.65.06"); empty: not known.
  std::string DriverVersion() const;

 private:
  struct Session;
  std::shared_ptr<const Session> session_;  // null: closed
};

// The names of NVML's bits for why clocks are lower than asked for, lowest bit first:
// "sw_power_cap", "hw_thermal_slowdown", ... A bit without a name is "bit 17".
std::vector<std::string> ThrottleReasons(std::uint64_t bits);

}  // namespace dlroof::gpu
