// Threads that stay on their CPUs and start together, for kernels whose rate is a ceiling.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ceilings/machine/rate.h"
#include "counters/cpu/team_look.h"

namespace dlroof::cpu_ceilings {

class ThreadTeam {
 public:
  // One thread pinned to each of these CPUs. Throws std::runtime_error when one cannot be started
  // or pinned.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const;

  // task(thread index) on every thread at once; returns when all are done. The calling thread
  // sleeps meanwhile: on a machine without a spare CPU it would preempt a worker. An exception of a
  // task is thrown here.
  void Run(const std::function<void(int)>& task);
  machine::TeamTime Time(const std::function<void(int)>& task);
  // The same. Outside of the time, each thread's core share is measured before and after, and then
  // the clock of its core.
  machine::TeamTime TimeWithCores(const std::function<void(int)>& task);
  // The best state of the cores that TimeWithCores met more than once.
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
