// Pinned threads that start a task together, for the kernels of ceilings.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ceilings/machine/rate.h"
#include "counters/cpu/team_look.h"

namespace dlroof::cpu_ceilings {

class ThreadTeam {
 public:
  // Pins one thread to each of these CPUs. Throws std::runtime_error if a thread cannot be started
  // or pinned.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const;

  // Runs task(thread index) on every thread at once and returns when all are done. The calling
  // thread sleeps meanwhile, because it would preempt a worker on a machine without a spare CPU.
  // Rethrows an exception of a task.
  void Run(const std::function<void(int)>& task);
  machine::TeamTime Time(const std::function<void(int)>& task);
  // As Time. Also measures, outside of the timed interval, the core share of each thread before and
  // after the task, and then the clock of its core.
  machine::TeamTime TimeWithCores(const std::function<void(int)>& task);
  // Returns the best state of the cores that TimeWithCores saw more than once.
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
