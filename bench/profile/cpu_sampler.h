// Samples how the threads of a program use the CPUs, while it runs. Linux.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "baselines/programs/program_summary.h"

namespace dlroof::profile {

// Returns the process and its living descendants, the process first.
std::vector<pid_t> Family(pid_t process);

// The times of a thread since its start [s], from /proc/<pid>/task/<tid>/schedstat.
struct ThreadTimes {
  double cpu = 0;      // on a CPU
  double waiting = 0;  // ready to run, but on no CPU
};
// Parses "<ns on a CPU> <ns waiting> <slices>". Returns nothing for another form.
std::optional<ThreadTimes> ParseSchedstat(std::string_view text);

// The times of a process at one time [s]. Those of ended threads stay in `others`.
struct ProcessTimes {
  ThreadTimes main;    // of its main thread
  ThreadTimes others;  // of its other threads
};

// The times of all processes of a program at one time.
struct ProgramTimes {
  double at = 0;  // [s] since 1970
  std::map<pid_t, ProcessTimes> processes;
};

// Returns the samples of the process that used most CPU time in the end: the one that computes, not
// the shell or launcher that started it. All other processes are its others.
std::vector<programs::CpuSample> SamplesOfBusiest(const std::vector<ProgramTimes>& samples);

// Reads the times of a process and of those that it started, 20 times a second, less often in long
// programs: at most some 10^4 samples are stored. Runs in a thread of its own.
class CpuSampler {
 public:
  explicit CpuSampler(pid_t program);
  CpuSampler(const CpuSampler&) = delete;
  CpuSampler& operator=(const CpuSampler&) = delete;
  ~CpuSampler();

  // Ends the sampling, and returns its samples.
  std::vector<programs::CpuSample> Stop();

 private:
  void Run();
  void Take();

  pid_t program_;
  std::vector<pid_t> pids_;                                 // the program and its descendants
  std::map<std::pair<pid_t, pid_t>, ThreadTimes> threads_;  // last times, by process and thread
  std::vector<ProgramTimes> samples_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace dlroof::profile
