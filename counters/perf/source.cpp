// The PerfBackend that calls the kernel, and the source "perf" for CPUs with an event table.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "counters/base/counter_manager.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "counters/perf/perf_events.h"

namespace dlroof::perf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPmus = "/sys/bus/event_source/devices";

class Counter {
 public:
  Counter(std::uint32_t type, const PmuEvent& event, pid_t thread, int cpu, int leader) {
    perf_event_attr attributes = {};
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = event.config;
    attributes.disabled = leader < 0;
    attributes.exclude_kernel = cpu < 0;  // uncore PMUs cannot distinguish kernel from user
    attributes.exclude_hv = cpu < 0;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    file_ = Descriptor(
        static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, cpu, leader, 0)));
    if (file_.get() < 0) {
      const int error = errno;
      throw PerfRefused(error, PerfOpenSentence(error));
    }
  }

  int file() const { return file_.get(); }
  void Group(unsigned long request) const { ioctl(file(), request, PERF_IOC_FLAG_GROUP); }

  PerfReading Read() const {
    struct {
      std::uint64_t value, enabled, running;
    } read_back = {};
    if (read(file(), &read_back, sizeof read_back) != static_cast<ssize_t>(sizeof read_back))
      throw PerfRefused(errno, PerfOpenSentence(errno));
    return {0, read_back.value, read_back.enabled, read_back.running};
  }

 private:
  Descriptor file_;
};

std::optional<Reason> UnavailableReason() {
  static const auto reason = []() -> std::optional<Reason> {
    const auto answer = AskPerf();
    if (answer.error != 0) return Reason{PerfSentence(answer)};
    const cpu::Cpu cpu = cpu::ThisCpu();
    if (PmuTableFor(cpu)) return std::nullopt;
    return Reason{fmt::format(
        "there is no event table for this CPU ({} family {} model {}): see counters/perf/tables",
        cpu.vendor, cpu.family, cpu.model)};
  }();
  return reason;
}

Counted Count(const CountRequest& request) {
  return CountWithPerf(PmuTableFor(cpu::ThisCpu()).value(), request, CountInKernel);
}

[[maybe_unused]] const bool source_registered =
    RegisterCounterSource({"perf", "cpu", Provenance::kMeasured, UnavailableReason, Count});

}  // namespace

PerfAnswer AskPerf() {
  PerfAnswer answer;
  try {
    const Counter cycles(PERF_TYPE_HARDWARE, {"cycles", "cpu", PERF_COUNT_HW_CPU_CYCLES}, 0, -1,
                         -1);
  } catch (const PerfRefused& refused) {
    answer.error = refused.error;
  }
  std::error_code ignored;
  // Hybrid CPUs have the PMUs cpu_core and cpu_atom in place of "cpu", Arm CPUs armv8_*.
  for (const auto& source : fs::directory_iterator(kPmus, ignored)) {
    const auto name = source.path().filename().string();
    if (name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv"))
      answer.has_pmu = true;
  }
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int paranoid = 0;
  if (file >> paranoid) answer.paranoid = paranoid;
  return answer;
}

std::vector<PerfPlace> PlacesOf(const std::string& pmu) {
  if (pmu == kThisThread) return {{PERF_TYPE_RAW, 0, -1}};
  std::vector<PerfPlace> places;
  if (pmu == "cpu") {
    for (const auto& thread : fs::directory_iterator("/proc/self/task"))
      places.push_back({PERF_TYPE_RAW, std::stoi(thread.path().filename().string()), -1});
    return places;
  }
  std::error_code ignored;
  for (const auto& device : fs::directory_iterator(kPmus, ignored)) {
    if (!IsDeviceOf(pmu, device.path().filename().string())) continue;
    std::uint32_t type = 0;
    if (!(std::ifstream(device.path() / "type") >> type)) continue;
    for (const int cpu : cpu::CpuList(ReadFileIfAny(device.path() / "cpumask")))
      places.push_back({type, -1, cpu});
  }
  if (places.empty()) throw PerfRefused(ENOENT, fmt::format("the kernel has no PMU {}*", pmu));
  return places;
}

std::vector<std::vector<PerfReading>> CountInKernel(const std::vector<PmuEvent>& events,
                                                    const std::function<void()>& call) {
  std::vector<std::vector<Counter>> groups;
  for (const PerfPlace& place : PlacesOf(events.at(0).pmu)) {
    auto& group = groups.emplace_back();
    for (const PmuEvent& event : events)
      group.emplace_back(place.type, event, place.thread, place.cpu,
                         group.empty() ? -1 : group.front().file());
  }
  for (const auto& group : groups) group.front().Group(PERF_EVENT_IOC_RESET);
  for (const auto& group : groups) group.front().Group(PERF_EVENT_IOC_ENABLE);
  call();
  for (const auto& group : groups) group.front().Group(PERF_EVENT_IOC_DISABLE);
  std::vector<std::vector<PerfReading>> readings(events.size());
  for (const auto& group : groups)
    for (size_t i = 0; i < events.size(); ++i) readings[i].push_back(group[i].Read());
  return readings;
}

}  // namespace dlroof::perf
