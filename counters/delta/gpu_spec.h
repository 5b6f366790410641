// Parameters of a GPU for the DeLTA-style model, from data files with sources
// (counters/delta/gpus).
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
  std::string name;     // for the user
  double sms = 0;       // [1] streaming multiprocessors
  double clock_hz = 0;  // [1/s]
  std::map<std::string, double>
      macs_per_clock;                 // [1] multiply-adds per clock and SM, by type ("f32")
  double l1_bytes_per_clock = 0;      // [byte] per SM
  double shared_bytes_per_clock = 0;  // [byte] per SM
  double l2_bytes_per_second = 0;     // [byte/s] of the whole chip
  double dram_bytes_per_second = 0;   // [byte/s] of the whole chip
  double l1_latency_clocks = 0, shared_latency_clocks = 0;
  double l2_latency_clocks = 0, dram_latency_clocks = 0;
  double l2_bytes = 0;                         // [byte] L2 capacity, all partitions together
  double l2_partitions = 1;                    // [1] each caches the loads of its own SMs
  double coalesced_sms = 1;                    // [1] SMs whose equal loads reach L2 as one load
  double shared_bytes_per_sm = 0;              // [byte]
  double registers_per_sm = 0;                 // [1] registers of 4 byte
  double threads_per_sm = 0, ctas_per_sm = 0;  // [1] maximum
  int64_t sector_bytes = 0;                    // [byte] transfer unit of L1 and L2
  int64_t dram_sector_bytes = 0;               // [byte] transfer unit of DRAM
  double launch_seconds = 0;                   // [s] time of a kernel launch
  std::map<std::string, std::string> sources;  // of the figures, by key
};

// Parses a parameter file: "name", and {"value", "source"} for every figure, with at least one key
// "macs_per_clock_<type>". `where` starts every message. Throws BadInput for
// - a missing or unknown figure, or a figure without a source ("l2_partitions" and "coalesced_sms"
//   may be missing: then they are 1),
// - a figure that is not a number from 1e-12 to 1e18, a clock outside 1 MHz to 1 THz,
// - SMs that are not a whole number from 1 to 65536,
// - a sector that is not a power of two from 8 to 1024.
GpuSpec GpuFromJson(const nlohmann::json& json, const std::string& where);

// Returns the JSON of a parameter file that GpuFromJson can read.
nlohmann::json ToJson(const GpuSpec& gpu);

// Returns the embedded files of counters/delta/gpus, sorted by name ("v100").
const std::vector<EmbeddedFile>& BuiltInGpus();

// Returns the GPU with a built-in name, or reads the parameter file with the path `name` (which has
// a '/' or '.'). Throws BadInput; for an unknown name the message lists the built-in GPUs.
GpuSpec FindGpu(const std::string& name);

// Returns a type's multiply-adds per clock and SM [1]. Throws BadInput, which lists the GPU's
// types, for an unknown type.
double MacsPerClock(const GpuSpec& gpu, const std::string& type);

// Returns the resources that Scaled can multiply: "sm", "mac", "shared" and "l1" (bytes per clock),
// "l2" and "dram" (bytes per second), "l2size", "reg", "smem" (capacity per SM), "clock". Scaling
// the clock or the SMs does not change bandwidths in bytes per second.
const std::vector<std::string_view>& ScalableResources();
// Returns the GPU with one resource multiplied by `factor`. Throws BadInput for an unknown
// resource, a factor outside 1/64 to 64, or less than one SM.
GpuSpec Scaled(GpuSpec gpu, const std::string& resource, double factor);

}  // namespace dlroof::delta
