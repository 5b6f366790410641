#include "counters/gpu/identity.h"

#include <fmt/format.h>

namespace dlroof::gpu {

std::map<std::string, std::string> Facts(const GpuIdentity& identity) {
  constexpr double kGibibyte = 1073741824;
  return {{"gpu.name", identity.name},
          {"gpu.compute_capability", fmt::format("{}.{}", identity.major, identity.minor)},
          {"gpu.sms", fmt::format("{}", identity.sms)},
          {"gpu.memory", fmt::format("{:.0f} GiB", identity.memory_bytes / kGibibyte)},
          {"gpu.l2_bytes", fmt::format("{:.0f}", identity.l2_bytes)},
          {"gpu.shared_bytes_per_sm", fmt::format("{:.0f}", identity.shared_bytes_per_sm)},
          {"gpu.memory_bus_bits", fmt::format("{}", identity.memory_bus_bits)},
          {"gpu.ecc", identity.ecc ? "on" : "off"},
          {"gpu.integrated", identity.integrated ? "yes" : "no"}};
}

}  // namespace dlroof::gpu
