// Pinned threads that start a task at the same time, for kernels that measure ceilings.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ceilings/machine/rate.h"
#include "counters/cpu/team_look.h"

namespace dlroof::cpu_ceilings {

class ThreadTeam {
 public:
  // Pins one new thread to each of `cpus`. Throws std::runtime_error if that fails.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const;

  // Runs task(thread index) on every thread at once and returns when all threads are done. The
  // calling thread sleeps meanwhile, so that it takes no CPU from the team. Rethrows an exception
  // of a task.
  void Run(const std::function<void(int)>& task);
  machine::TeamTime Time(const std::function<void(int)>& task);
  // As Time. Also measures, outside of the timed interval, each thread's share of its core before
  // and after the task, and right after the task each core's clock [1/s] as `clock`(thread index)
  // returns it. `clock` may continue the task's load; if it is empty, the core has no load then.
  machine::TeamTime TimeWithCores(const std::function<void(int)>& task,
                                  const std::function<double(int)>& clock = {});
  // Returns SharesOfBest::Best (issue rate, round trip) of the states that TimeWithCores measured.
  cpu::TeamState BestState() const { return shares_.Best(); }

 private:
  void Start(int cpu, int team_size);
  void Stop();
  machine::TeamTime LastTime() const;

  struct State;
  std::unique_ptr<State> state_;
  cpu::SharesOfBest shares_;
};

}  // namespace dlroof::cpu_ceilings
