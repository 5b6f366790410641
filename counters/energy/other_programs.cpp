#include "counters/energy/other_programs.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <sstream>
#include <string>

#include "counters/base/files.h"

namespace dlroof::energy {

std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second) {
  std::istringstream in{std::string(stat.substr(0, stat.find('\n')))};
  std::string cpu;
  // proc(5): user nice system idle iowait irq softirq; guests' time is in user and nice.
  std::array<double, 7> ticks{};
  in >> cpu;
  for (double& some : ticks) in >> some;
  if (!in || cpu != "cpu") return std::nullopt;
  const auto [user, nice, system, idle, iowait, irq, softirq] = ticks;
  return (user + nice + system + irq + softirq) / ticks_per_second;
}

std::optional<double> CpuSecondsOfOthers() {
  const auto busy =
      BusySeconds(ReadFileIfAny("/proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
  timespec ours{};
  if (!busy || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ours) != 0) return std::nullopt;
  return *busy - static_cast<double>(ours.tv_sec) - 1e-9 * static_cast<double>(ours.tv_nsec);
}

}  // namespace dlroof::energy
