#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "counters/base/files.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu {
namespace {

// A leading decimal number; absent for "max" and everything else.
std::optional<double> Number(std::string_view text) {
  unsigned long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return static_cast<double>(value);
}

// Limit minus use of one group directory; absent when it has no limit.
std::optional<double> RoomIn(const std::filesystem::path& directory, bool v2) {
  const auto limit =
      Number(ReadFileIfAny(directory / (v2 ? "memory.max" : "memory.limit_in_bytes")));
  const auto used =
      Number(ReadFileIfAny(directory / (v2 ? "memory.current" : "memory.usage_in_bytes")));
  if (!limit || !used) return std::nullopt;
  return std::max(0.0, *limit - *used);
}

std::optional<double> Least(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// In a container the path may not exist below the mount; then its mount's root is our group.
std::optional<double> RoomOf(const MemoryGroup& group) {
  const std::filesystem::path mount = group.v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  std::optional<double> room = RoomIn(mount, group.v2);
  std::filesystem::path below = mount;
  for (const auto& name : std::filesystem::path(group.path).relative_path()) {
    if (name == "..") break;
    below /= name;
    room = Least(room, RoomIn(below, group.v2));
  }
  return room;
}

// Limit minus use of the address space; absent when it has no limit.
std::optional<double> AddressSpaceRoom() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages =
      Number(ReadFileIfAny("/proc/self/statm"));  // the first number is the whole size
  if (!pages) return std::nullopt;
  const double used = *pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - used);
}

}  // namespace

std::optional<double> ParseMeminfo(std::string_view meminfo, std::string_view key) {
  std::istringstream lines{std::string(meminfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name, number;
    if (!(fields >> name >> number) || name != fmt::format("{}:", key)) continue;
    if (const auto kibibytes = Number(number)) return *kibibytes * 1024;
  }
  return std::nullopt;
}

std::vector<MemoryGroup> ParseMemoryGroups(std::string_view cgroup) {
  std::vector<MemoryGroup> groups;
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string number, controllers, path;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    if (!std::getline(fields, path) || !path.starts_with('/')) continue;
    if (number == "0" && controllers.empty()) groups.push_back({true, path});
    if (fmt::format(",{},", controllers).find(",memory,") != std::string::npos)
      groups.push_back({false, path});
  }
  return groups;
}

std::optional<double> TotalMemoryBytes() {
  return ParseMeminfo(ReadFileIfAny("/proc/meminfo"), "MemTotal");
}

std::optional<double> AvailableMemoryBytes() {
  std::optional<double> room = ParseMeminfo(ReadFileIfAny("/proc/meminfo"), "MemAvailable");
  for (const auto& group : ParseMemoryGroups(ReadFileIfAny("/proc/self/cgroup")))
    room = Least(room, RoomOf(group));
  return Least(room, AddressSpaceRoom());
}

}  // namespace dlroof::cpu
