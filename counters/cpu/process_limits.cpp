#include "counters/cpu/process_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "counters/base/files.h"
#include "counters/base/keys.h"

namespace dlroof::cpu {
namespace {

constexpr KeyRow<LimitKind> kKinds[] = {
    {LimitKind::kCpuQuota, "cpu_quota"},     {LimitKind::kCpus, "cpus"},
    {LimitKind::kPriority, "priority"},      {LimitKind::kPinning, "pinning"},
    {LimitKind::kThreads, "openmp_threads"}, {LimitKind::kHugePages, "huge_pages"}};

std::string Counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string ThreadsThatFit(double cpus) {
  return cpus >= 1 ? fmt::format(", or use --dlroof_threads={:.0f}", std::floor(cpus)) : "";
}

void AddQuota(const LimitFacts& facts, std::vector<Limit>& limits) {
  const auto quota = QuotaFrom(facts);
  if (!quota) return;
  auto found = fmt::format("{:.3g} CPUs ({})", quota->cpus, quota->file.string());
  if (const auto so_far = ParseThrottling(facts.read(quota->stat)))
    found += fmt::format("; it stopped its programs in {:.0f} of {:.0f} periods so far",
                         so_far->throttled, so_far->periods);
  const bool is_enough = quota->cpus >= static_cast<double>(facts.cpu.allowed.size());
  limits.push_back(
      {LimitKind::kCpuQuota, found,
       is_enough ? fmt::format("enough for {}", Counted(facts.cpu.allowed.size(), "thread"))
                 : fmt::format("{} use it up and then stand still, for the rest of {:.0f} ms; such "
                               "repetitions are noisy, and no waiting ends that: raise the quota "
                               "(docker --cpus, limits.cpu){}",
                               Counted(facts.cpu.allowed.size(), "thread"),
                               1e3 * quota->period_seconds, ThreadsThatFit(quota->cpus))});
}

void AddCpus(const LimitFacts& facts, std::vector<Limit>& limits) {
  const auto allowed = facts.cpu.allowed.size();
  const auto all = static_cast<std::size_t>(std::max(0, facts.cpu.topology.cpus));
  if (allowed == 0 || allowed >= all) return;
  limits.push_back(
      {LimitKind::kCpus,
       fmt::format("{} of {} (taskset, a control group, a batch system)", allowed, all),
       "the rest is not measured; ceilings are those of these CPUs"});
}

void AddPriority(const LimitFacts& facts, std::vector<Limit>& limits) {
  if (facts.nice > 0)
    limits.push_back({LimitKind::kPriority, fmt::format("nice {}", facts.nice),
                      "other programs run first, so repetitions wait and are noisy"});
}

void AddVariables(const LimitFacts& facts, std::vector<Limit>& limits) {
  const auto text = [&](const std::string& variable) {
    return fmt::format("{}={}", variable, facts.environment(variable).value_or(""));
  };
  if (const auto pinning = PinningVariable(facts.environment))
    limits.push_back({LimitKind::kPinning, text(*pinning),
                      "OpenMP binds the program to one CPU before it begins: dlroof_bench refuses "
                      "to run; unset it, dlroof pins threads itself"});
  const auto most = OpenMpThreadLimit(facts.environment);
  if (most && static_cast<std::size_t>(*most) < facts.cpu.allowed.size())
    limits.push_back({LimitKind::kThreads, text("OMP_THREAD_LIMIT"),
                      fmt::format("dlroof_bench refuses to run on more threads: unset it, or use "
                                  "--dlroof_threads={}",
                                  *most)});
}

void AddHugePages(const LimitFacts& facts, std::vector<Limit>& limits) {
  const auto file = facts.sysfs / "kernel" / "mm" / "transparent_hugepage" / "enabled";
  if (facts.read(file).find("[never]") == std::string::npos) return;
  limits.push_back({LimitKind::kHugePages, fmt::format("never ({})", file.string()),
                    "ceilings and calls use small pages: large tensors are slower than with "
                    "\"madvise\" or \"always\""});
}

}  // namespace

std::string_view Key(LimitKind kind) { return KeyIn(kKinds, kind); }

Environment ProcessEnvironment() {
  return [](const std::string& variable) -> std::optional<std::string> {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

LimitFacts FactsOfThisProcess(const std::filesystem::path& sysfs) {
  return {.cpu = ThisCpu(),
          .environment = ProcessEnvironment(),
          .read = ReadFileIfAny,
          .sysfs = sysfs,
          .nice = getpriority(PRIO_PROCESS, 0)};
}

std::optional<CpuQuota> QuotaFrom(const LimitFacts& facts) {
  return SmallestQuota(facts.read(facts.proc / "self" / "cgroup"), facts.sysfs, facts.read);
}

std::vector<Limit> FindLimits(const LimitFacts& facts) {
  std::vector<Limit> limits;
  for (const auto add : {AddQuota, AddCpus, AddPriority, AddVariables, AddHugePages})
    add(facts, limits);
  return limits;
}

std::optional<std::string> PinningVariable(const Environment& environment) {
  for (const char* variable : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (environment(variable)) return variable;
  return std::nullopt;
}

std::optional<int> OpenMpThreadLimit(const Environment& environment) {
  std::istringstream text(environment("OMP_THREAD_LIMIT").value_or(""));
  int most = 0;
  return text >> most && (text >> std::ws).eof() && most >= 1 ? std::optional(most) : std::nullopt;
}

std::string QuotaText(const CpuQuota& quota) {
  return fmt::format("the CPU quota of {:.3g} CPUs ({})", quota.cpus, quota.file.string());
}

namespace {

// Returns the first number of a text, or nullopt if it is not positive: "max" and -1 mean no quota.
std::optional<double> PositiveNumber(std::istream& text) {
  double number = 0;
  if (!(text >> number) || number <= 0) return std::nullopt;
  return number;
}

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

std::vector<GroupFolder> GroupFolders(std::string_view cgroup, std::string_view controller,
                                      const std::filesystem::path& sysfs) {
  std::vector<GroupFolder> folders;
  const auto add = [&](bool v2, std::filesystem::path below, const std::filesystem::path& group) {
    folders.push_back({v2, below});
    for (const auto& name : group.relative_path()) {
      if (name == "..") break;
      below /= name;
      folders.push_back({v2, below});
    }
  };
  const auto root = sysfs / "fs" / "cgroup";
  const auto wanted = fmt::format(",{},", controller);
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string number, controllers, path;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    if (!std::getline(fields, path) || !path.starts_with('/')) continue;
    // If cgroups of versions 1 and 2 are both mounted, those of version 2 are in "unified".
    if (number == "0" && controllers.empty())
      for (const auto& mount : {root, root / "unified"}) add(true, mount, path);
    if (fmt::format(",{},", controllers).find(wanted) != std::string::npos)
      add(false, root / controller, path);
  }
  return folders;
}

std::optional<CpuQuota> SmallestQuota(std::string_view cgroup, const std::filesystem::path& sysfs,
                                      const ReadText& read) {
  std::optional<CpuQuota> smallest;
  for (const auto& folder : GroupFolders(cgroup, "cpu", sysfs))
    if (auto quota = QuotaIn(folder, read); quota && (!smallest || quota->cpus < smallest->cpus))
      smallest = std::move(quota);
  return smallest;
}

Throttling operator-(const Throttling& end, const Throttling& begin) {
  return {end.periods - begin.periods, end.throttled - begin.throttled};
}

Throttling operator+(const Throttling& first, const Throttling& other) {
  return {first.periods + other.periods, first.throttled + other.throttled};
}

std::optional<Throttling> ParseThrottling(std::string_view cpu_stat) {
  std::istringstream words{std::string(cpu_stat)};
  std::map<std::string, double> counts;
  std::string key;
  for (double count = 0; words >> key >> count;) counts[key] = count;
  if (!counts.contains("nr_periods") || !counts.contains("nr_throttled")) return std::nullopt;
  return Throttling{counts["nr_periods"], counts["nr_throttled"]};
}

}  // namespace dlroof::cpu
