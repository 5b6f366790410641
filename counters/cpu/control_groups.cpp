#include "counters/cpu/control_groups.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

namespace dlroof::cpu {
namespace {

// Returns the first number of a text. "max" and -1 mean that there is no quota.
std::optional<double> PositiveNumber(std::istream& text) {
  double number = 0;
  if (!(text >> number) || number <= 0) return std::nullopt;
  return number;
}

// [s] Returns quota and period in a folder, or nullopt if there is no quota.
std::optional<CpuQuota> QuotaIn(const GroupFolder& folder, const ReadText& read) {
  constexpr double kMicrosecond = 1e-6;
  CpuQuota quota{.file = folder.path / (folder.v2 ? "cpu.max" : "cpu.cfs_quota_us"),
                 .stat = folder.path / "cpu.stat"};
  std::istringstream numbers(read(quota.file));
  const auto allowed = PositiveNumber(numbers);
  if (!allowed) return std::nullopt;
  std::istringstream file_of_period(folder.v2 ? "" : read(folder.path / "cpu.cfs_period_us"));
  const auto period = PositiveNumber(folder.v2 ? numbers : file_of_period);
  if (!period) return std::nullopt;
  quota.cpus = *allowed / *period;
  quota.period_seconds = kMicrosecond * *period;
  return quota;
}

}  // namespace

std::vector<ControlGroup> ParseControlGroups(std::string_view cgroup, std::string_view controller) {
  std::vector<ControlGroup> groups;
  const auto wanted = fmt::format(",{},", controller);
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string number, controllers, path;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    if (!std::getline(fields, path) || !path.starts_with('/')) continue;
    if (number == "0" && controllers.empty()) groups.push_back({true, path});
    if (fmt::format(",{},", controllers).find(wanted) != std::string::npos)
      groups.push_back({false, path});
  }
  return groups;
}

std::vector<GroupFolder> FoldersOf(const ControlGroup& group, std::string_view controller,
                                   const std::filesystem::path& sysfs) {
  const auto root = sysfs / "fs" / "cgroup";
  // Beside version 1, version 2 is mounted in a folder of its own.
  const auto mounts = group.v2 ? std::vector<std::filesystem::path>{root, root / "unified"}
                               : std::vector<std::filesystem::path>{root / std::string(controller)};
  std::vector<GroupFolder> folders;
  for (const auto& mount : mounts) {
    auto below = mount;
    folders.push_back({group.v2, below});
    for (const auto& name : std::filesystem::path(group.path).relative_path()) {
      if (name == "..") break;
      below /= name;
      folders.push_back({group.v2, below});
    }
  }
  return folders;
}

std::optional<CpuQuota> SmallestQuota(std::string_view cgroup, const std::filesystem::path& sysfs,
                                      const ReadText& read) {
  std::optional<CpuQuota> smallest;
  for (const auto& group : ParseControlGroups(cgroup, "cpu"))
    for (const auto& folder : FoldersOf(group, "cpu", sysfs))
      if (auto quota = QuotaIn(folder, read); quota && (!smallest || quota->cpus < smallest->cpus))
        smallest = std::move(quota);
  return smallest;
}

Throttling operator-(const Throttling& end, const Throttling& begin) {
  return {end.periods - begin.periods, end.throttled - begin.throttled,
          end.seconds - begin.seconds};
}

Throttling operator+(const Throttling& first, const Throttling& other) {
  return {first.periods + other.periods, first.throttled + other.throttled,
          first.seconds + other.seconds};
}

std::optional<Throttling> ParseThrottling(std::string_view cpu_stat) {
  std::istringstream words{std::string(cpu_stat)};
  std::map<std::string, double> counts;
  std::string key;
  for (double count = 0; words >> key >> count;) counts[key] = count;
  if (!counts.contains("nr_periods") || !counts.contains("nr_throttled")) return std::nullopt;
  Throttling throttling{counts["nr_periods"], counts["nr_throttled"]};
  throttling.seconds = counts.contains("throttled_usec") ? 1e-6 * counts["throttled_usec"]
                                                         : 1e-9 * counts["throttled_time"];
  return throttling;
}

}  // namespace dlroof::cpu
