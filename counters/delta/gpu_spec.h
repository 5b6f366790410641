// Parameters of a GPU for the DeLTA-style model, from data files (counters/delta/gpus) that name
// the source of each figure.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::delta {

struct GpuSpec {
  std::string name;     // for people
  double sms = 0;       // [1] streaming multiprocessors
  double clock_hz = 0;  // [1/s]
  std::map<std::string, double>
      macs_per_clock;                 // [1] multiply-adds per clock and SM, by type "f32"
  double l1_bytes_per_clock = 0;      // [byte] per SM
  double shared_bytes_per_clock = 0;  // [byte] per SM
  double l2_bytes_per_second = 0;     // [byte/s] of the chip
  double dram_bytes_per_second = 0;   // [byte/s] of the chip
  double l1_latency_clocks = 0, shared_latency_clocks = 0;
  double l2_latency_clocks = 0, dram_latency_clocks = 0;
  double l2_bytes = 0;                         // [byte] usable by one SM
  double shared_bytes_per_sm = 0;              // [byte]
  double registers_per_sm = 0;                 // [1] of 4 byte
  double threads_per_sm = 0, ctas_per_sm = 0;  // [1] at most
  int64_t sector_bytes = 0;                    // [byte] transfer unit of L1 and L2
  int64_t dram_sector_bytes = 0;               // [byte] transfer unit of DRAM
  double launch_seconds = 0;                   // [s] of a kernel launch
  std::map<std::string, std::string> sources;  // by the figure's key
};

// Reads a parameter file: "name", and {"value", "source"} for every figure, with at least one key
// "macs_per_clock_<type>". Every message begins with `where`. Throws BadInput for a missing or
// unknown figure, a figure without a source or that is not a number from 1e-12 to 1e18, SMs that
// are not a whole number from 1 to 65536, a clock outside 1 MHz to 1 THz, or a sector that is not a
// power of two from 8 to 1024.
GpuSpec GpuFromJson(const nlohmann::json& json, const std::string& where);

// Returns the content of a parameter file.
nlohmann::json ToJson(const GpuSpec& gpu);

// Returns the parameter files of counters/delta/gpus, sorted by name ("v100").
const std::vector<EmbeddedFile>& BuiltInGpus();

// `name` is the name of a built-in GPU or the path of a parameter file (with a '/' or '.'). Throws
// BadInput; for an unknown name the message lists the built-in GPUs.
GpuSpec FindGpu(const std::string& name);

// [1] Multiply-adds per clock and SM of a type. Throws BadInput with the list of the GPU's types.
double MacsPerClock(const GpuSpec& gpu, const std::string& type);

// Returns the resources that Scaled can multiply: "sm", "mac", "shared" and "l1" (bytes per clock),
// "l2" and "dram" (bytes per second), "l2size", "reg", "smem" (capacity per SM), "clock". Scaling
// the clock or the SMs does not change bandwidths in bytes per second.
const std::vector<std::string_view>& ScalableResources();
// Throws BadInput for an unknown resource, a factor outside 1/64 to 64, or less than one SM.
GpuSpec Scaled(GpuSpec gpu, const std::string& resource, double factor);

}  // namespace dlroof::delta
