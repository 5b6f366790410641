#include "counters/cuda/cupti_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "counters/cuda/cupti_calls.h"
#include "counters/cuda/cupti_known_kernels.h"
#include "counters/cuda/device.h"

namespace dlroof::cuda {
namespace {

constexpr int kBlocks = 4096;
constexpr double kThreads = static_cast<double>(kBlocks) * kKnownThreads;
constexpr double kWarps = kThreads / 32;
constexpr int kFmaRounds = 1024;
constexpr int kTileRounds = 512;
constexpr int kLoads = 256;
constexpr double kVectorBytes = 16;  // [byte] per load

using Buffer = std::shared_ptr<DeviceBuffer>;

Buffer Zeros(size_t bytes) {
  auto buffer = std::make_shared<DeviceBuffer>(bytes);
  buffer->Fill(0);
  return buffer;
}

gpu::KnownCall Known(const std::string& name, const std::string& pipe, const Work& work,
                     const std::function<cudaError_t()>& launch) {
  return {name, {pipe}, work, [name, launch] {
            CheckCuda(launch(), name);
            CheckCuda(cudaDeviceSynchronize(), name);
          }};
}

gpu::KnownCall KnownFma(const std::string& pipe, KnownVector type, double flops_per_instruction) {
  constexpr size_t kElementBytes = 8;
  const auto elements = Zeros(static_cast<size_t>(kThreads) * kElementBytes);
  const double flops = flops_per_instruction * kThreads * kFmaRounds;
  return Known("multiply-adds, " + pipe, pipe, {.flops = {{pipe, flops}}, .launches = 1},
               [=] { return LaunchKnownFma(type, elements->get(), kBlocks, kFmaRounds); });
}

gpu::KnownCall KnownTiles(const std::string& pipe, KnownTile type) {
  constexpr size_t kOperandBytes = 4096;
  const auto operands = Zeros(kOperandBytes);
  const double flops = KnownTileOperations(type) * kWarps * kTileRounds;
  return Known("tiles, " + pipe, pipe, {.flops = {{pipe, flops}}},
               [=] { return LaunchKnownTiles(type, operands->get(), kBlocks, kTileRounds); });
}

size_t L2Bytes() {
  int device = 0, bytes = 0;
  CheckCuda(cudaGetDevice(&device), "the current GPU");
  CheckCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "size of L2");
  return static_cast<size_t>(bytes);
}

// Returns the size of the copy [byte]: at least 1 GiB and 16 times the L2, so that data left in L2
// by the previous run matters little, but at most a quarter of the free memory.
size_t CopyBytes() {
  constexpr size_t kMin = size_t{1} << 30, kTimesL2 = 16, kShare = 4;
  const auto available = static_cast<size_t>(FreeDeviceBytes());
  const size_t wanted = std::max(kMin, kTimesL2 * L2Bytes());
  return std::min(wanted, available / kShare) / kKnownThreads * kKnownThreads;
}

gpu::KnownCall KnownCopy() {
  const size_t bytes = CopyBytes();
  const Buffer from = Zeros(bytes), to = Zeros(bytes);
  const double moved = 2.0 * static_cast<double>(bytes);
  return Known(fmt::format("copy of {} MiB", bytes >> 20), "fp32.vector",
               {.bytes = {{Level::kL1, moved}, {Level::kL2, moved}, {Level::kDram, moved}}},
               [=] { return LaunchKnownCopy(from->get(), to->get(), bytes, kBlocks); });
}

gpu::KnownCall KnownL2Loads() {
  const auto walk = gpu::WalkL2(L2Bytes(), kKnownThreads * static_cast<size_t>(kVectorBytes));
  const Buffer from = Zeros(walk.bytes), sink = Zeros(kKnownThreads);
  const double loaded = kVectorBytes * kKnownThreads * walk.blocks * kLoads;
  return Known("loads from L2", "fp32.vector", {.bytes = {{Level::kL2, loaded}}}, [=] {
    return LaunchKnownL2Loads(from->get(), sink->get(), walk.bytes, walk.blocks, kLoads);
  });
}

gpu::KnownCall KnownSharedLoads() {
  constexpr double kWavefrontBytes = 128, kStores = 4;
  const auto sink = Zeros(kKnownThreads);
  const double moved = kWavefrontBytes * kWarps * (kLoads + kStores);
  return Known("loads from shared memory", "fp32.vector", {.bytes = {{Level::kL1, moved}}},
               [=] { return LaunchKnownSharedLoads(sink->get(), kBlocks, kLoads); });
}

}  // namespace

std::vector<gpu::KnownCall> CuptiKnownCalls(const gpu::CuptiChip& chip) {
  constexpr int kAmpere = 80;
  std::vector<gpu::KnownCall> calls = {KnownFma("fp32.vector", KnownVector::kFp32, 2),
                                       KnownFma("fp64.vector", KnownVector::kFp64, 2),
                                       KnownFma("fp16.vector", KnownVector::kFp16x2, 4),
                                       KnownCopy(),
                                       KnownL2Loads(),
                                       KnownSharedLoads()};
  if (chip.compute_capability < kAmpere) return calls;
  calls.push_back(KnownFma("bf16.vector", KnownVector::kBf16x2, 4));
  calls.push_back(KnownTiles("fp16.matrix", KnownTile::kFp16));
  calls.push_back(KnownTiles("bf16.matrix", KnownTile::kBf16));
  calls.push_back(KnownTiles("tf32.matrix", KnownTile::kTf32));
  calls.push_back(KnownTiles("int8.matrix", KnownTile::kInt8));
  calls.push_back(KnownTiles("fp64.matrix", KnownTile::kFp64));
  return calls;
}

std::shared_ptr<gpu::CuptiCounter> OpenCuptiCounter(int device) {
  return std::make_shared<gpu::CuptiCounter>(
      gpu::CuptiParts{std::make_unique<CuptiCalls>(), CuptiKnownCalls, ReadGpuIdentity}, device);
}

std::vector<CounterSource> CuptiSources(int device) {
  return {gpu::CuptiSourceOf(OpenCuptiCounter(device))};
}

}  // namespace dlroof::cuda
