#include "counters/cpu/cache_ways.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace dlroof {
namespace {

std::string TextOf(const std::filesystem::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  return text;
}

}  // namespace

int CacheWays(Level level, int cpu, const std::filesystem::path& cpus) {
  const auto caches = cpus / fmt::format("cpu{}", cpu) / "cache";
  const auto number = std::to_string(static_cast<int>(level) + 1);
  std::error_code none;
  for (const auto& cache : std::filesystem::directory_iterator(caches, none)) {
    const auto type = TextOf(cache.path() / "type");
    if (type == "Instruction" || TextOf(cache.path() / "level") != number) continue;
    int ways = 0;
    if (std::ifstream(cache.path() / "ways_of_associativity") >> ways && ways > 0) return ways;
  }
  return 0;
}

}  // namespace dlroof
