#include "reporters/roofline/warm_cache.h"

#include <fmt/format.h>

#include "reporters/roofline/chart.h"

namespace dlroof::roofline {

std::optional<Level> HoldingCache(const record::Record& record, const machine::Machine& machine,
                                  double bytes) {
  if (record.cache != "warm") return std::nullopt;
  const bool gpu = record.device == "gpu";
  for (const auto& [level, capacity] : machine.cache_bytes) {
    if (gpu && level != Level::kL2) continue;
    const bool per_core = !gpu && (level == Level::kL1 || level == Level::kL2);
    if (bytes <= capacity * (per_core ? record.threads.value_or(1) : 1)) return level;
  }
  return std::nullopt;
}

std::string HeldText(Level cache) {
  return fmt::format(
      "its tensors fit {0}, which is warm: how much of them goes through DRAM is known only if it "
      "is counted; they pass {0} at least once",
      LevelName(Key(cache)));
}

}  // namespace dlroof::roofline
