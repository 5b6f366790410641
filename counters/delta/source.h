// The modelled source of a GPU convolution's bytes and time: what to say when no counter answers.
#pragma once

#include <optional>
#include <string>

#include "counters/delta/time.h"
#include "counters/work.h"

namespace dlroof::delta {

struct ConvQuestion {
  ConvLayer layer;  // its element_bytes and result_bytes follow from `type`
  // Names the multiply-adds: "f32", "tf32", "f16", "bf16", "int8", "fp8", or integer source,
  // weights and any destination, "s8s8s8" or "u8s8f32".
  std::string type = "f32";
  std::string kernel;           // the kernel's name where it is known: its tile is taken
  std::optional<CtaTile> tile;  // m and n; beats the kernel's name
  bool exact = false;           // bytes by enumeration instead of the fast model
};

struct ConvPrediction {
  TilePlan plan;
  std::string tile_from;  // "rule", "kernel name", "request"
  TrafficBytes traffic;
  double relative_error95 = 0;  // [1] of sampled enumeration; 0: none
  ConvTime time;
};

// [byte] of an element that a type reads. Throws BadInput for an unknown type.
int64_t ElementBytesOf(const std::string& type);

// Throws BadInput: what GemmOf, PlanTile and MacsPerClock refuse, and a kernel whose name has
// "winograd" or "fft" in it, which is no implicit GEMM.
ConvPrediction PredictConv(const ConvQuestion& question, const GpuSpec& gpu);

// The sentence with which PredictConv refuses; empty: it predicts. Counts no bytes.
std::string WhyNotPredicted(const ConvQuestion& question, const GpuSpec& gpu);

// The prediction as the work of one call, to be filed under Provenance::kModelled: useful FLOPs on
// the pipe that the GPU has for the type, bytes at L1, L2 (tile form) and DRAM, one launch.
Work ModelledWork(const ConvQuestion& question, const ConvPrediction& prediction,
                  const GpuSpec& gpu);

// "DeLTA-style model of v100: tile 128x64x8 (rule), not measured"
std::string HowModelled(const ConvPrediction& prediction, const GpuSpec& gpu);

// "fp32.vector" for f32; f16 is "fp16.matrix" where the GPU does it four times as fast as f32 or
// more, else "fp16.vector". Throws BadInput for a type that ElementBytesOf refuses.
std::string PipeOf(const std::string& type, const GpuSpec& gpu);

}  // namespace dlroof::delta
