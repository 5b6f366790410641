#include "counters/cpu/process_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>

#include "counters/base/files.h"
#include "counters/base/keys.h"

namespace dlroof::cpu {
namespace {

constexpr KeyRow<LimitKind> kKinds[] = {
    {LimitKind::kCpuQuota, "cpu_quota"},   {LimitKind::kCpus, "cpus"},
    {LimitKind::kSiblings, "siblings"},    {LimitKind::kPriority, "priority"},
    {LimitKind::kPinning, "pinning"},      {LimitKind::kThreads, "openmp_threads"},
    {LimitKind::kDynamicTeams, "dynamic"}, {LimitKind::kMemory, "memory"},
    {LimitKind::kHugePages, "huge_pages"}};

std::string Counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Returns the value without white space and in lower case.
std::string Normalized(std::string_view value) {
  std::string text;
  for (const char c : value)
    if (std::isspace(static_cast<unsigned char>(c)) == 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string GroupText(const LimitFacts& facts) {
  return facts.read(facts.proc / "self" / "cgroup");
}

// Returns the file of a control group that allows exactly the CPUs that this process may use, or
// nullopt if the affinity mask is what limits it.
std::optional<std::filesystem::path> CpusetOf(const LimitFacts& facts) {
  for (const auto& group : ParseControlGroups(GroupText(facts), "cpuset"))
    for (const auto& folder : FoldersOf(group, "cpuset", facts.sysfs)) {
      const auto file =
          folder.path / (folder.v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
      if (CpuList(facts.read(file)) == facts.cpu.allowed) return file;
    }
  return std::nullopt;
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
  const auto cpuset = CpusetOf(facts);
  limits.push_back(
      {LimitKind::kCpus,
       fmt::format("{} of {} ({})", allowed, all,
                   cpuset ? cpuset->string() : "the affinity mask: taskset, a batch system"),
       "the rest is not measured; ceilings are those of these CPUs"});
}

// Hardware threads of a core share its execution units.
void AddSiblings(const LimitFacts& facts, std::vector<Limit>& limits) {
  const std::set<int> allowed(facts.cpu.allowed.begin(), facts.cpu.allowed.end());
  std::map<int, std::vector<int>> given, not_given;  // by core
  for (const auto& [cpu, core] : facts.cpu.topology.core_of_cpu)
    (allowed.contains(cpu) ? given : not_given)[core].push_back(cpu);
  std::vector<std::string> shared;
  std::vector<int> foreign;
  for (const auto& [core, cpus] : given) {
    if (cpus.size() > 1) shared.push_back(fmt::format("{}", fmt::join(cpus, "+")));
    if (const auto others = not_given.find(core); others != not_given.end())
      foreign.insert(foreign.end(), others->second.begin(), others->second.end());
  }
  if (!shared.empty())
    limits.push_back(
        {LimitKind::kSiblings,
         fmt::format("CPUs {} are hardware threads of one core each", fmt::join(shared, ", ")),
         fmt::format("threads that share a core share its rate; --dlroof_threads={} "
                     "gives each its own",
                     given.size())});
  if (!foreign.empty())
    limits.push_back(
        {LimitKind::kSiblings,
         fmt::format("the siblings of given CPUs are not given: {}", fmt::join(foreign, ", ")),
         "a program there slows the core; such repetitions are noisy"});
}

void AddPriority(const LimitFacts& facts, std::vector<Limit>& limits) {
  constexpr const char* kEffect = "other programs run first, so repetitions wait and are noisy";
  if (facts.nice > 0)
    limits.push_back({LimitKind::kPriority, fmt::format("nice {}", facts.nice), kEffect});
  if (facts.runs_when_idle) limits.push_back({LimitKind::kPriority, "SCHED_IDLE", kEffect});
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
  const auto dynamic = Normalized(facts.environment("OMP_DYNAMIC").value_or(""));
  for (const auto* yes : {"true", "1", "yes", "on"})
    if (dynamic == yes)
      limits.push_back({LimitKind::kDynamicTeams, text("OMP_DYNAMIC"),
                        "OpenMP starts fewer threads on a busy machine, and a oneDNN primitive on "
                        "fewer threads than it was made for computes nonsense: dlroof switches it "
                        "off; unset it for your own programs"});
}

void AddMemory(const LimitFacts& facts, std::vector<Limit>& limits) {
  constexpr const char* kEffect = "benchmarks that need more are recorded as failed";
  std::optional<std::pair<double, std::string>> least;
  for (const auto& group : ParseControlGroups(GroupText(facts), "memory"))
    for (const auto& folder : FoldersOf(group, "memory", facts.sysfs)) {
      const auto file = folder.path / (folder.v2 ? "memory.max" : "memory.limit_in_bytes");
      const auto text = facts.read(file);
      double bytes = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec != std::errc())
        continue;
      if (facts.cpu.memory_bytes && bytes >= *facts.cpu.memory_bytes) continue;
      if (!least || bytes < least->first) least = {bytes, file.string()};
    }
  if (least)
    limits.push_back({LimitKind::kMemory,
                      fmt::format("{:.3g} GB ({})", least->first / 1e9, least->second), kEffect});
  if (facts.address_space_bytes)
    limits.push_back(
        {LimitKind::kMemory,
         fmt::format("{:.3g} GB of address space (ulimit -v)", *facts.address_space_bytes / 1e9),
         kEffect});
}

void AddHugePages(const LimitFacts& facts, std::vector<Limit>& limits) {
  const auto file = facts.sysfs / "kernel" / "mm" / "transparent_hugepage" / "enabled";
  const bool off = facts.read(file).find("[never]") != std::string::npos;
  if (!off && !facts.huge_pages_forbidden) return;
  limits.push_back({LimitKind::kHugePages,
                    off ? fmt::format("never ({})", file.string())
                        : std::string("forbidden to this process (prctl)"),
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
  LimitFacts facts{.cpu = ThisCpu(), .sysfs = sysfs};
  facts.environment = ProcessEnvironment();
  facts.read = ReadFileIfAny;
  facts.nice = getpriority(PRIO_PROCESS, 0);
  facts.runs_when_idle = sched_getscheduler(0) == SCHED_IDLE;
  facts.huge_pages_forbidden = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    facts.address_space_bytes = static_cast<double>(limit.rlim_cur);
  return facts;
}

std::optional<CpuQuota> QuotaFrom(const LimitFacts& facts) {
  return SmallestQuota(GroupText(facts), facts.sysfs, facts.read);
}

std::vector<Limit> FindLimits(const LimitFacts& facts) {
  std::vector<Limit> limits;
  for (const auto add :
       {AddQuota, AddCpus, AddSiblings, AddPriority, AddVariables, AddMemory, AddHugePages})
    add(facts, limits);
  return limits;
}

std::optional<std::string> PinningVariable(const Environment& environment) {
  for (const char* variable : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (environment(variable)) return variable;
  return std::nullopt;
}

std::optional<int> OpenMpThreadLimit(const Environment& environment) {
  const auto text = Normalized(environment("OMP_THREAD_LIMIT").value_or(""));
  int most = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
  if (error != std::errc() || end != text.data() + text.size() || most < 1) return std::nullopt;
  return most;
}

std::string QuotaText(const CpuQuota& quota) {
  return fmt::format("the CPU quota of {:.3g} CPUs ({})", quota.cpus, quota.file.string());
}

}  // namespace dlroof::cpu
