// Figures of a GPU for the DeLTA-style model, from data files (counters/delta/gpus), each with its
// source.
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
  double l2_bytes = 0;                         // [byte] that an SM's data can stay in
  double shared_bytes_per_sm = 0;              // [byte]
  double registers_per_sm = 0;                 // [1] of 4 byte
  double threads_per_sm = 0, ctas_per_sm = 0;  // [1] at most
  int64_t sector_bytes = 0;                    // [byte] that L1 and L2 move
  int64_t dram_sector_bytes = 0;               // [byte] that DRAM moves into L2
  double launch_seconds = 0;                   // [s] to start a kernel
  std::map<std::string, std::string> sources;  // figure's key -> where it is from
};

// A parameter file: "name", and for every figure {"value", "source"}; multiply-adds per clock are
// keys "macs_per_clock_<type>", at least one. `where` starts every message. Throws BadInput for a
// missing figure, one that is not a number from 1e-12 to 1e18, SMs that are no whole number from 1
// to 65536, a clock outside 1 MHz to 1 THz, a sector that is no power of two from 8 to 1024, a
// figure without a source, a key that is none.
GpuSpec GpuFromJson(const nlohmann::json& json, const std::string& where);

// The inverse: a parameter file.
nlohmann::json ToJson(const GpuSpec& gpu);

// Returns the parameter files of counters/delta/gpus in the order of their names ("v100").
const std::vector<EmbeddedFile>& BuiltInGpus();

// `name` is a built-in GPU's or a parameter file's path (with a '/' or '.'). Throws BadInput, for
// an unknown name listing those there are.
GpuSpec FindGpu(const std::string& name);

// Its type's multiply-adds; throws BadInput listing the types that the GPU has.
double MacsPerClock(const GpuSpec& gpu, const std::string& type);

// Resources that a design may have more of, each a factor: "sm", "mac", "shared" and "l1" (bytes
// per clock), "l2" and "dram" (bytes per second), "l2size", "reg", "smem" (capacity per SM),
// "clock". Bandwidths in bytes per second stay what they are when the clock or the SMs grow.
const std::vector<std::string_view>& ScalableResources();
// Throws BadInput for an unknown resource, or a factor that is not from 1/64 to 64, or one that
// leaves less than one SM.
GpuSpec Scaled(GpuSpec gpu, const std::string& resource, double factor);

}  // namespace dlroof::delta
