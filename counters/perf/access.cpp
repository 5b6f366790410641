#include "counters/perf/access.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace dlroof::perf {

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

std::string PerfSentence(const PerfAnswer& answer) {
  if (answer.error == 0) return "hardware counters can be read (perf events)";
  const auto what = fmt::format("errno {} ({})", answer.error, strerrordesc_np(answer.error));
  if (!answer.has_pmu)
    return fmt::format(
        "no hardware counters: {}; the kernel sees no PMU, as in most virtual machines. Use bare "
        "metal, or a virtual machine whose host passes the PMU through",
        what);
  if (answer.error == EACCES || answer.error == EPERM)
    return fmt::format(
        "hardware counters are blocked: {}; kernel.perf_event_paranoid is {}. Set it to 2 or less "
        "for your own processes (0 or less for memory traffic): sysctl "
        "kernel.perf_event_paranoid=0, or grant CAP_PERFMON; in a container also allow "
        "perf_event_open",
        what, answer.paranoid ? std::to_string(*answer.paranoid) : "not readable");
  if (answer.error == ENOSYS)
    return fmt::format("no hardware counters: {}; the kernel was built without perf events", what);
  if (answer.error == EBUSY)
    return fmt::format(
        "hardware counters are taken: {}; another profiler or the NMI watchdog holds them (sysctl "
        "kernel.nmi_watchdog=0 frees one)",
        what);
  return fmt::format("no hardware counters: {}", what);
}

std::string PerfOpenSentence(int error) {
  auto what = fmt::format("errno {} ({})", error, strerrordesc_np(error));
  switch (error) {
    case EACCES:
    case EPERM:
      return fmt::format(
          "blocked: {}; counting other programs too, as memory traffic needs, takes "
          "kernel.perf_event_paranoid of 0 or less, or CAP_PERFMON",
          what);
    case ENOENT:
      return fmt::format("the kernel knows no such event here: {}", what);
    case EINVAL:
    case ENOSPC:
      return fmt::format("the events do not fit the counters together: {}", what);
    case EMFILE:
      return fmt::format(
          "too many open files: {}; ulimit -n raises it (a file per thread and event)", what);
    case EBUSY:
      return fmt::format(
          "the counters are taken: {}; by another profiler or the NMI watchdog (sysctl "
          "kernel.nmi_watchdog=0)",
          what);
    case ESRCH:
      return fmt::format("a thread ended meanwhile: {}", what);
    default:
      return what;
  }
}

}  // namespace dlroof::perf
