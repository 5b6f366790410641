#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "counters/base/files.h"
#include "counters/cpu/cpu.h"

namespace dlroof {
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

template <class Visit>
void EachLine(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
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
  std::optional<double> bytes;
  EachLine(meminfo, [&](std::string_view line) {
    if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") return;
    const auto digit = line.find_first_not_of(' ', key.size() + 1);
    if (digit == std::string_view::npos) return;
    if (const auto kibibytes = Number(line.substr(digit))) bytes = *kibibytes * 1024;
  });
  return bytes;
}

std::vector<MemoryGroup> ParseMemoryGroups(std::string_view cgroup) {
  std::vector<MemoryGroup> groups;
  EachLine(cgroup, [&](std::string_view line) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const auto controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path(line.substr(second + 1));
    if (!path.starts_with('/')) return;
    if (line.substr(0, first) == "0" && controllers == ",,") groups.push_back({true, path});
    if (controllers.find(",memory,") != std::string::npos) groups.push_back({false, path});
  });
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

}  // namespace dlroof
