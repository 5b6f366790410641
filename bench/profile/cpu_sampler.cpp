#include "bench/profile/cpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "counters/base/files.h"

namespace dlroof::profile {
namespace {

constexpr double kInterval = 0.05;  // [s] at first
constexpr std::size_t kMaxSamples = 16384;
constexpr int kLook = 10;  // samples between two looks for new processes

double EpochSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns the names of the folder's entries that are numbers.
std::vector<pid_t> NumbersIn(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    numbers.push_back(std::atoi(entry->path().filename().c_str()));
  return numbers;
}

}  // namespace

std::vector<pid_t> Family(pid_t process) {
  std::vector<pid_t> family = {process};
  for (std::size_t i = 0; i < family.size(); ++i)
    for (const auto thread : NumbersIn(fmt::format("/proc/{}/task", family[i]))) {
      std::ifstream children(fmt::format("/proc/{}/task/{}/children", family[i], thread));
      for (pid_t child = 0; children >> child;)
        if (std::ranges::find(family, child) == family.end()) family.push_back(child);
    }
  return family;
}

std::optional<ThreadTimes> ParseSchedstat(std::string_view text) {
  std::istringstream in{std::string(text)};
  double cpu = 0, waiting = 0;
  if (!(in >> cpu >> waiting) || cpu < 0 || waiting < 0) return std::nullopt;
  return ThreadTimes{1e-9 * cpu, 1e-9 * waiting};
}

std::vector<programs::CpuSample> SamplesOfBusiest(const std::vector<ProgramTimes>& samples) {
  pid_t busiest = 0;
  double most = -1;
  std::map<pid_t, double> all;  // processes that have ended are missing in later samples
  for (const auto& sample : samples)
    for (const auto& [pid, times] : sample.processes) {
      all[pid] = times.main.cpu + times.others.cpu;
      if (all[pid] > most) most = all[pid], busiest = pid;
    }
  std::vector<programs::CpuSample> result;
  std::map<pid_t, double> last;
  for (const auto& sample : samples) {
    const auto found = sample.processes.find(busiest);
    if (found == sample.processes.end()) continue;
    programs::CpuSample at_once{.at = sample.at,
                                .main_cpu = found->second.main.cpu,
                                .main_waiting = found->second.main.waiting,
                                .others_cpu = found->second.others.cpu};
    for (const auto& [pid, times] : sample.processes)
      if (pid != busiest) last[pid] = times.main.cpu + times.others.cpu;
    for (const auto& [pid, seconds] : last) at_once.others_cpu += seconds;
    if (result.empty() || at_once.at > result.back().at) result.push_back(at_once);
  }
  return result;
}

CpuSampler::CpuSampler(pid_t program) : program_(program), thread_([this] { Run(); }) {}

CpuSampler::~CpuSampler() {
  if (thread_.joinable()) Stop();
}

std::vector<programs::CpuSample> CpuSampler::Stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
  return SamplesOfBusiest(samples_);
}

void CpuSampler::Run() {
  auto interval = std::chrono::duration<double>(kInterval);
  std::unique_lock lock(mutex_);
  for (int turn = 0; !stopped_; ++turn) {
    lock.unlock();
    if (turn % kLook == 0) pids_ = Family(program_);
    Take();
    if (samples_.size() >= kMaxSamples) {  // keeps every other sample
      std::size_t kept = 0;
      std::erase_if(samples_, [&](const ProgramTimes&) { return ++kept % 2 == 0; });
      interval *= 2;
    }
    lock.lock();
    changed_.wait_for(lock, interval, [this] { return stopped_; });
  }
}

void CpuSampler::Take() {
  ProgramTimes now{.at = EpochSeconds()};
  std::set<pid_t> living;
  for (const auto pid : pids_)
    for (const auto thread : NumbersIn(fmt::format("/proc/{}/task", pid))) {
      const auto times =
          ParseSchedstat(ReadFileIfAny(fmt::format("/proc/{}/task/{}/schedstat", pid, thread)));
      if (!times) continue;
      threads_[{pid, thread}] = *times;
      living.insert(pid);
    }
  for (const auto& [id, times] : threads_) {
    const auto& [pid, thread] = id;
    if (!living.contains(pid)) continue;
    auto& process = now.processes[pid];
    auto& sum = thread == pid ? process.main : process.others;
    sum.cpu += times.cpu;
    sum.waiting += times.waiting;
  }
  if (!now.processes.empty()) samples_.push_back(std::move(now));
}

}  // namespace dlroof::profile
