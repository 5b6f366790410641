// Sums times of the parallel regions that one thread begins, from timestamped events. Pure:
// libgomp_regions.cpp reports the events.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "counters/base/parallel_time.h"

namespace dlroof::openmp {

// One thread's time in a region's function. The thread itself records its events; other threads
// read them after the join. Occupies its own cache line. All times are [s] of one clock.
class alignas(64) ThreadInRegion {
 public:
  void Enters(double at) {
    entered_ = left_ = at;
    waited_ = 0;
  }
  void Waits(double seconds) { waited_ += seconds; }  // at a barrier
  void Leaves(double at) { left_ = at; }

  double Seconds() const { return left_ - entered_; }  // includes waits at barriers
  double Waited() const { return waited_; }

 private:
  double entered_ = 0, waited_ = 0, left_ = 0;
};

// Identifies a thread: the address of a thread-local variable.
using ThreadMark = const void*;
inline ThreadMark ThisThread() {
  static thread_local char mark = 0;
  return &mark;
}

class RegionClock {
 public:
  static constexpr int kMaxThreads = 1024;

  // Resets the sums and starts to watch the regions that `thread` begins.
  void Start(ThreadMark thread);
  // Returns the sums, or nullopt if a region had more than kMaxThreads threads. Stops watching.
  std::optional<RegionsSeen> Stop();

  // Returns whether to count a region that `thread` is about to begin: only the watched thread's
  // outermost regions count. Costs one load and one jump while no thread is watched.
  bool Counts(ThreadMark thread) const {
    return watching_.load(std::memory_order_relaxed) == thread && !inside_;
  }
  // Returns whether `thread` is the watched thread and inside a counted region.
  bool InsideOf(ThreadMark thread) const {
    return watching_.load(std::memory_order_relaxed) == thread && inside_;
  }

  // Record the begin and the end of a counted region. `team` is its number of threads.
  void Forks(double at);
  void Joins(int team, double at);
  // Returns the times of a thread of the team, or nullptr for numbers from kMaxThreads on. Each
  // thread of a region must call Enters before Joins is called.
  ThreadInRegion* Thread(int number);

 private:
  std::atomic<ThreadMark> watching_{nullptr};
  // Only the watched thread uses these fields.
  bool inside_ = false;
  bool too_wide_ = false;
  double forked_ = 0;
  RegionsSeen seen_;
  std::array<ThreadInRegion, kMaxThreads> threads_;
};

}  // namespace dlroof::openmp
