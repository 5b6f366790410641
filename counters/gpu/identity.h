// Identity of a GPU, by facts that no setting, driver or temperature changes.
#pragma once

#include <map>
#include <string>

namespace dlroof::gpu {

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

}  // namespace dlroof::gpu
