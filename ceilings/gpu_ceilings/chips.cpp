#include <algorithm>

#include "ceilings/gpu_ceilings/validation.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr const char* kGuide =
    "CUDA C++ Programming Guide, throughput of native arithmetic instructions (results per clock "
    "and SM, times the operations of each)";
constexpr const char* kTuring = "NVIDIA Turing GPU Architecture, WP-09183-001";
constexpr const char* kA100 = "NVIDIA A100 Tensor Core GPU Architecture, V1.0, tables 1 and 4";
constexpr const char* kGa102 = "NVIDIA Ampere GA102 GPU Architecture, V2.1, tables 2 and 3";
constexpr const char* kAda = "NVIDIA Ada GPU Architecture, V2.02, tables 2 and 3";
constexpr const char* kH100 = "NVIDIA H100 Tensor Core GPU Architecture, V1.04, tables 1 to 3";
constexpr const char* kB200 =
    "assumed: NVIDIA's figures for B200 (2.25 PFLOP/s dense bf16) over 148 SMs at 1.85 GHz";
constexpr const char* kGb202 = "NVIDIA RTX Blackwell GPU Architecture, V1.1, tables of RTX 5090";
constexpr const char* kBanks = "32 banks of 4 byte: CUDA C++ Programming Guide";
constexpr const char* kTuringL1 =
    "Jia et al., Dissecting the NVIDIA Turing T4 GPU (2019): 58.8 byte/cycle measured";

const std::vector<GpuPeak>& GpuPeaks() {
  static const std::vector<GpuPeak> table = {
      {75, 75, "fp64.vector", {4}, kGuide},
      {75, 75, "fp32.vector", {128}, kGuide},
      {75, 75, "fp16.vector", {256}, kGuide},
      {75, 75, "int8.vector", {512}, kGuide},
      {75, 75, "fp16.matrix", {512, 1024}, kTuring},
      {75, 75, "int8.matrix", {2048}, kTuring},
      {75, 75, "l1", {64, 128}, kTuringL1},

      {80, 80, "fp64.vector", {64}, kGuide},
      {80, 80, "fp32.vector", {128}, kGuide},
      {80, 80, "fp16.vector", {512}, kGuide},
      {80, 80, "bf16.vector", {256}, kGuide},
      {80, 80, "int8.vector", {512}, kGuide},
      {80, 80, "fp64.matrix", {128}, kA100},
      {80, 80, "tf32.matrix", {1024}, kA100},
      {80, 80, "fp16.matrix", {2048}, kA100},
      {80, 80, "bf16.matrix", {2048}, kA100},
      {80, 80, "int8.matrix", {4096}, kA100},

      {86, 89, "fp64.vector", {4}, kGuide},
      {86, 89, "fp32.vector", {256}, kGuide},
      {86, 89, "fp16.vector", {256}, kGuide},
      {86, 89, "bf16.vector", {256}, kGuide},
      {86, 89, "int8.vector", {512}, kGuide},
      {86, 86, "tf32.matrix", {256, 512}, kGa102},
      {86, 86, "fp16.matrix", {512, 1024}, kGa102},
      {86, 86, "bf16.matrix", {512, 1024}, kGa102},
      {86, 86, "int8.matrix", {2048}, kGa102},
      {89, 89, "tf32.matrix", {256, 512}, kAda},
      {89, 89, "fp16.matrix", {512, 1024}, kAda},
      {89, 89, "bf16.matrix", {512, 1024}, kAda},
      {89, 89, "int8.matrix", {2048}, kAda},
      {89, 89, "fp8.matrix", {1024, 2048}, kAda},

      {90, 90, "fp64.vector", {128}, kGuide},
      {90, 90, "fp32.vector", {256}, kGuide},
      {90, 90, "fp16.vector", {512}, kGuide},
      {90, 90, "bf16.vector", {512}, kGuide},
      {90, 90, "int8.vector", {512}, kGuide},
      {90, 90, "fp64.matrix", {256}, kH100},
      {90, 90, "tf32.matrix", {2048}, kH100},
      {90, 90, "fp16.matrix", {4096}, kH100},
      {90, 90, "bf16.matrix", {4096}, kH100},
      {90, 90, "int8.matrix", {8192}, kH100},
      {90, 90, "fp8.matrix", {8192}, kH100},

      {100, 100, "fp32.vector", {256}, kB200},
      {100, 100, "tf32.matrix", {4096}, kB200},
      {100, 100, "fp16.matrix", {8192}, kB200},
      {100, 100, "bf16.matrix", {8192}, kB200},
      {100, 100, "int8.matrix", {16384}, kB200},
      {100, 100, "fp8.matrix", {16384}, kB200},

      {120, 120, "fp64.vector", {4}, kGb202},
      {120, 120, "fp32.vector", {256}, kGb202},
      {120, 120, "fp16.vector", {256}, kGuide},
      {120, 120, "bf16.vector", {256}, kGuide},
      {120, 120, "int8.vector", {512}, kGuide},
      {120, 120, "tf32.matrix", {256, 512}, kGb202},
      {120, 120, "fp16.matrix", {512, 1024}, kGb202},
      {120, 120, "bf16.matrix", {512, 1024}, kGb202},
      {120, 120, "int8.matrix", {2048}, kGb202},
      {120, 120, "fp8.matrix", {1024, 2048}, kGb202},

      {80, 121, "l1", {128}, kBanks},
  };
  return table;
}

}  // namespace

const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key) {
  const auto& table = GpuPeaks();
  const auto found = std::ranges::find_if(table, [&](const GpuPeak& peak) {
    return compute_capability >= peak.first && compute_capability <= peak.last && key == peak.key;
  });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace dlroof::gpu_ceilings
