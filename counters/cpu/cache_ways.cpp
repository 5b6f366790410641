#include "counters/cpu/cache_ways.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "counters/base/files.h"

namespace dlroof {
namespace {

// Returns the file's first line.
std::string LineOf(const std::filesystem::path& file) {
  const auto text = ReadFileIfAny(file);
  return text.substr(0, text.find('\n'));
}

}  // namespace

int CacheWays(Level level, int cpu, const std::filesystem::path& cpus) {
  const auto caches = cpus / fmt::format("cpu{}", cpu) / "cache";
  const auto number = std::to_string(static_cast<int>(level) + 1);
  std::error_code none;
  for (const auto& cache : std::filesystem::directory_iterator(caches, none)) {
    const auto type = LineOf(cache.path() / "type");
    if (type == "Instruction" || LineOf(cache.path() / "level") != number) continue;
    const int ways = std::atoi(LineOf(cache.path() / "ways_of_associativity").c_str());
    if (ways > 0) return ways;
  }
  return 0;
}

}  // namespace dlroof
