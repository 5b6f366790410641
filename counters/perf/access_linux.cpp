#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "counters/perf/access.h"

namespace dlroof {

PerfAnswer AskPerf() {
  PerfAnswer answer;
  perf_event_attr cycles = {};
  cycles.size = sizeof cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  cycles.exclude_kernel = 1;
  cycles.exclude_hv = 1;
  const long descriptor = syscall(SYS_perf_event_open, &cycles, 0, -1, -1, 0);
  if (descriptor < 0)
    answer.error = errno;
  else
    close(static_cast<int>(descriptor));
  std::error_code ignored;
  // Hybrid CPUs name theirs cpu_core and cpu_atom, Arm ones armv8_*.
  for (const auto& source :
       std::filesystem::directory_iterator("/sys/bus/event_source/devices", ignored)) {
    const auto name = source.path().filename().string();
    if (name == "cpu" || name.rfind("cpu_", 0) == 0 || name.rfind("armv", 0) == 0)
      answer.has_pmu = true;
  }
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int paranoid = 0;
  if (file >> paranoid) answer.paranoid = paranoid;
  return answer;
}

}  // namespace dlroof
