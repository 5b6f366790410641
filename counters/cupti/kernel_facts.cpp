#include "counters/cupti/kernel_facts.h"

#include <algorithm>
#include <cmath>

namespace dlroof {
namespace {

// Limits of an SM: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
// Capability".
struct SmLimits {
  int capability, threads, blocks;
};
constexpr SmLimits kLimits[] = {{75, 1024, 16},  {80, 2048, 32},  {86, 1536, 16},
                                {87, 1536, 16},  {89, 1536, 24},  {90, 2048, 32},
                                {100, 2048, 32}, {103, 2048, 32}, {120, 1536, 24}};
constexpr int kRegisters = 65536, kWarp = 32;
constexpr int kRegisterUnit = 256;                   // given to a warp
constexpr int kSchedulers = 4;                       // among which warps are divided evenly
constexpr double kSharedUnit = 128, kSystem = 1024;  // [byte] given to a block; the system's of it

double RoundedUp(double value, double unit) { return std::ceil(value / unit) * unit; }

}  // namespace

std::optional<double> Waves(const KernelFacts& kernel, const GpuRoom& gpu) {
  const auto* limits =
      std::find_if(std::begin(kLimits), std::end(kLimits),
                   [&](const SmLimits& row) { return row.capability == gpu.capability; });
  if (limits == std::end(kLimits) || kernel.threads <= 0 || gpu.sms <= 0) return std::nullopt;
  const double warps = std::ceil(static_cast<double>(kernel.threads) / kWarp);
  const double registers = RoundedUp(std::max(kernel.registers, 1) * kWarp, kRegisterUnit);
  const double room = std::floor(kRegisters / registers / kSchedulers) * kSchedulers;
  const double shared =
      RoundedUp(kernel.shared_bytes + (gpu.capability >= 80 ? kSystem : 0), kSharedUnit);
  double resident = std::min<double>(limits->blocks, std::floor(limits->threads / (warps * kWarp)));
  resident = std::min(resident, std::floor(room / warps));
  if (shared > 0) resident = std::min(resident, std::floor(gpu.shared_bytes_per_sm / shared));
  if (resident < 1) return std::nullopt;
  return static_cast<double>(kernel.blocks) / (resident * gpu.sms);
}

}  // namespace dlroof
