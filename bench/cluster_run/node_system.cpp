#include "bench/cluster_run/node_system.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <sstream>
#include <utility>
#include <vector>

#include "counters/base/files.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

std::string WordIn(const fs::path& path) {
  std::istringstream text(ReadFileIfAny(path));
  std::string word;
  text >> word;
  return word;
}

// Returns "800 to 3600 MHz", or an empty text if the system does not tell.
std::string ClockLimits(const fs::path& cpus) {
  const auto frequencies = cpus / "cpu0/cpufreq";
  const auto least = WordIn(frequencies / "scaling_min_freq");  // [kHz]
  const auto most = WordIn(frequencies / "scaling_max_freq");
  if (least.empty() || most.empty()) return "";
  auto text = fmt::format("{:.0f} to {:.0f} MHz", std::atof(least.c_str()) / 1e3,
                          std::atof(most.c_str()) / 1e3);
  if (const auto boost = WordIn(cpus / "cpufreq/boost"); !boost.empty())
    text += boost == "1" ? ", boost on" : ", boost off";
  if (const auto no_turbo = WordIn(cpus / "intel_pstate/no_turbo"); !no_turbo.empty())
    text += no_turbo == "0" ? ", turbo on" : ", turbo off";
  return text;
}

// Returns the numbers of the line "cpu  ..." of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal, ...
std::vector<double> CpuTimes(std::string_view stat) {
  std::istringstream text{std::string(stat)};
  std::string word;
  std::vector<double> times;
  if (!(text >> word) || word != "cpu") return times;
  for (double time = 0; text >> time;) times.push_back(time);
  return times;
}

constexpr std::size_t kSteal = 7;  // position in CpuTimes

}  // namespace

std::map<std::string, std::string> SystemOf(const fs::path& sysfs) {
  std::map<std::string, std::string> system;
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) system[key] = text;
  };
  utsname name{};
  if (uname(&name) == 0) add("kernel", name.release);
  add("microcode", cpu::Microcode().value_or(""));
  const auto cpus = sysfs / "devices/system/cpu";
  add("governor", WordIn(cpus / "cpu0/cpufreq/scaling_governor"));
  add("clock limits", ClockLimits(cpus));
  return system;
}

LoadWatch::LoadWatch(cpu::LimitFacts facts)
    : facts_(std::move(facts)),
      quota_(cpu::QuotaFrom(facts_)),
      stat_(facts_.read(facts_.proc / "stat")),
      begin_(cpu::WallSeconds()) {
  if (quota_) throttling_ = cpu::ParseThrottling(facts_.read(quota_->stat));
}

cluster::NodeLoad LoadWatch::Load() const {
  cluster::NodeLoad load;
  load.wall_seconds = cpu::WallSeconds() - begin_;
  load.steal_share = StealShare(stat_, facts_.read(facts_.proc / "stat"));
  if (!quota_) return load;
  load.quota_cpus = quota_->cpus;
  const auto now = cpu::ParseThrottling(facts_.read(quota_->stat));
  if (!now || !throttling_) return load;
  const auto during = *now - *throttling_;
  load.periods = during.periods;
  load.throttled = during.throttled;
  return load;
}

std::optional<double> StealShare(std::string_view before, std::string_view after) {
  const auto first = CpuTimes(before), last = CpuTimes(after);
  // Later numbers, of guests, are counted in the first ones.
  if (first.size() <= kSteal || last.size() <= kSteal) return std::nullopt;
  double all = 0;
  for (std::size_t i = 0; i <= kSteal; ++i) all += last[i] - first[i];
  const double steal = last[kSteal] - first[kSteal];
  if (all <= 0 || steal < 0) return std::nullopt;
  return steal / all;
}

}  // namespace dlroof::cluster_run
