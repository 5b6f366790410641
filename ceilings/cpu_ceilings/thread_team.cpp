#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cpu_ceilings {
namespace {

void PinThisThread(int cpu) {
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
  const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(cpu + 1), free_set);
  if (!set) throw std::bad_alloc();
  CPU_ZERO_S(size, set.get());
  CPU_SET_S(cpu, size, set.get());
  const int error = pthread_setaffinity_np(pthread_self(), size, set.get());
  if (error != 0)
    throw std::runtime_error(fmt::format("a thread cannot be pinned to CPU {}: {}", cpu,
                                         std::generic_category().message(error)));
}

struct Stamp {
  double begin = 0, end = 0;        // [s] of the task, steady clock
  std::optional<double> run_delay;  // [s] time for which the thread waited for a CPU
  std::optional<double> clock_hz;   // [1/s] of the thread's core
  std::exception_ptr error;
};

// Barrier at which threads spin, because sleeping threads would wake at different times.
void Meet(std::atomic<int>& arrived, int team_size) {
  arrived.fetch_add(1);
  while (arrived.load(std::memory_order_acquire) < team_size) {
  }
}

}  // namespace

struct ThreadTeam::State {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void(int)>* task = nullptr;
  const std::function<double(int)>* clock = nullptr;  // null: reads the clock without a load
  std::uint64_t round = 0;                            // number of tasks so far
  int running = 0;                                    // threads that have not finished this round
  bool stop = false;
  std::unique_ptr<cpu::TeamLook> before, after;  // null: cores are not measured
  std::atomic<int> awake{0}, ready{0};  // threads that reached the two barriers of this round
  std::vector<Stamp> stamps;
  std::vector<std::thread> threads;

  void RunTask(int index, int team_size);
  void Work(int index, int cpu, int team_size);
};

// Runs the task on one thread. Threads wake at different times, and the wait for the last thread
// must not count as interference. So all threads meet at a barrier, read their run delays (which
// takes microseconds), and meet at a second barrier to start together.
void ThreadTeam::State::RunTask(int index, int team_size) {
  auto& stamp = stamps[static_cast<std::size_t>(index)];
  stamp = {};
  Meet(awake, team_size);
  if (before) before->Measure(index);
  const auto delay_before = cpu::ThreadRunDelay();
  Meet(ready, team_size);
  stamp.begin = cpu::WallSeconds();
  try {
    (*task)(index);
  } catch (...) {
    stamp.error = std::current_exception();
  }
  stamp.end = cpu::WallSeconds();
  const auto delay_after = cpu::ThreadRunDelay();
  if (delay_before && delay_after) stamp.run_delay = *delay_after - *delay_before;
  if (!after) return;
  // The clock is read at once, before `after`: the core still has the frequency of the task's load.
  if (clock != nullptr && !stamp.error) stamp.clock_hz = (*clock)(index);
  after->Measure(index);
  if (clock == nullptr) stamp.clock_hz = cpu::MeasureCoreClock();
}

void ThreadTeam::State::Work(int index, int cpu, int team_size) {
  std::exception_ptr pin_error;
  try {
    PinThisThread(cpu);
  } catch (...) {
    pin_error = std::current_exception();
  }
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stop || round != seen; });
    if (stop) return;
    seen = round;
    lock.unlock();
    RunTask(index, team_size);
    if (pin_error) stamps[static_cast<std::size_t>(index)].error = pin_error;
    lock.lock();
    // Only the last thread wakes the caller, which could else take a running thread's CPU.
    if (--running == 0) changed.notify_all();
  }
}

ThreadTeam::ThreadTeam(const std::vector<int>& cpus) : state_(std::make_unique<State>()) {
  if (cpus.empty()) throw std::invalid_argument("ThreadTeam: no CPUs");
  const int team_size = static_cast<int>(cpus.size());
  state_->stamps.resize(cpus.size());
  try {
    for (const int cpu : cpus) Start(cpu, team_size);
    Run([](int) {});
  } catch (...) {
    Stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { Stop(); }

void ThreadTeam::Start(int cpu, int team_size) {
  const int index = size();
  try {
    state_->threads.emplace_back(&State::Work, state_.get(), index, cpu, team_size);
  } catch (const std::system_error& error) {  // a limit on processes or memory
    throw std::runtime_error(fmt::format("thread {} of {} cannot be started: {}", index + 1,
                                         team_size, error.code().message()));
  }
}

void ThreadTeam::Stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  for (auto& thread : state_->threads) thread.join();
  state_->threads.clear();
}

int ThreadTeam::size() const { return static_cast<int>(state_->threads.size()); }

void ThreadTeam::Run(const std::function<void(int)>& task) {
  std::unique_lock lock(state_->mutex);
  state_->task = &task;
  state_->awake = 0;
  state_->ready = 0;
  state_->running = size();
  ++state_->round;
  state_->changed.notify_all();
  state_->changed.wait(lock, [&] { return state_->running == 0; });
  for (const auto& stamp : state_->stamps)
    if (stamp.error) std::rethrow_exception(stamp.error);
}

machine::TeamTime ThreadTeam::Time(const std::function<void(int)>& task) {
  Run(task);
  return LastTime();
}

machine::TeamTime ThreadTeam::TimeWithCores(const std::function<void(int)>& task,
                                            const std::function<double(int)>& clock) {
  // The threads sleep now and see these writes when they wake under the mutex.
  state_->before = std::make_unique<cpu::TeamLook>(size());
  state_->after = std::make_unique<cpu::TeamLook>(size());
  state_->clock = clock ? &clock : nullptr;
  const AtEnd reset([this] {
    state_->before.reset();
    state_->after.reset();
    state_->clock = nullptr;
  });
  Run(task);
  auto time = LastTime();
  time.core_share = shares_.OfLower(state_->before->State(), state_->after->State()).core;
  return time;
}

machine::TeamTime ThreadTeam::LastTime() const {
  using std::ranges::max_element, std::ranges::min_element;
  const auto& stamps = state_->stamps;
  machine::TeamTime time;
  time.seconds =
      max_element(stamps, {}, &Stamp::end)->end - min_element(stamps, {}, &Stamp::begin)->begin;
  // An absent clock compares as the lowest, so the team's clock is absent if one thread's is.
  time.clock_hz = min_element(stamps, {}, &Stamp::clock_hz)->clock_hz;
  const auto worst_delay = max_element(stamps, {}, &Stamp::run_delay)->run_delay;
  if (min_element(stamps, {}, &Stamp::run_delay)->run_delay && time.seconds > 0)
    time.wait_fraction = *worst_delay / time.seconds;
  return time;
}

}  // namespace dlroof::cpu_ceilings
