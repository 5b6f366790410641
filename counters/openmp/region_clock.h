// Sums over the parallel regions that one thread begins, from timestamped events. Pure: the region
// sources translate the events of their runtimes.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string_view>

#include "counters/parallel_time.h"

namespace dlroof::openmp {

// A thread's time in the region's function, on its own cache line. The thread itself records its
// events, which are read after the join. All times are [s] of one clock.
class alignas(64) ThreadInRegion {
 public:
  void Enters(double at) {
    entered_ = at;
    waited_ = 0;
    left_.reset();
  }
  // A barrier that does not end is the one at the end of the region, after the function.
  void BeginsBarrier(double at) { left_ = at; }
  void EndsBarrier(double at) {
    if (!left_) return;
    waited_ += at - *left_;
    left_.reset();
  }
  // Has no effect after the barrier at the end of the region.
  void Leaves(double at) {
    if (!left_) left_ = at;
  }

  double Seconds() const { return left_.value_or(entered_) - entered_; }  // includes waits
  double Waited() const { return waited_; }

 private:
  double entered_ = 0, waited_ = 0;
  std::optional<double> left_;
};

// Identifies a thread by the address of a thread-local variable.
using ThreadMark = const void*;
inline ThreadMark ThisThread() {
  static thread_local char mark = 0;
  return &mark;
}

class RegionClock {
 public:
  static constexpr int kMostThreads = 1024;

  // Resets the sums and starts watching the regions that `thread` begins.
  void Start(ThreadMark thread);
  // Stops watching and returns the sums, or nullopt if a region had more than kMostThreads threads.
  std::optional<RegionsSeen> Stop();

  // Returns whether a region that `thread` is about to begin counts. Regions of other threads and
  // nested regions, which belong to the outer one, do not. Costs a load and a jump when nothing is
  // watched.
  bool Counts(ThreadMark thread) const {
    return watching_.load(std::memory_order_relaxed) == thread && !inside_;
  }
  // Returns whether `thread` is the watched thread, inside a region that counts.
  bool InsideOf(ThreadMark thread) const {
    return watching_.load(std::memory_order_relaxed) == thread && inside_;
  }

  // A region that counts begins; it ends with a team of `team` threads.
  void Forks(double at);
  void Joins(int team, double at);
  // Returns the thread's times, or nullptr beyond kMostThreads. Each thread of a region enters the
  // region before the join.
  ThreadInRegion* Thread(int number);

 private:
  std::atomic<ThreadMark> watching_{nullptr};
  // Only the watched thread uses these.
  bool inside_ = false;
  bool too_wide_ = false;
  double forked_ = 0;
  RegionsSeen seen_;
  std::array<ThreadInRegion, kMostThreads> threads_;
};

// --- The OpenMP runtime that uses this program as its OMPT tool (ompt_regions.cpp) ---

// Returns whether this program supports the runtime with this version text
// (`__kmp_version_lib_ver`): LLVM's libomp and Intel's libiomp5.
bool IsWatchedRuntime(std::string_view version);

// Returns whether the code at an address belongs to the runtime that OMPT watches at the moment.
bool OmptShows(const void* code);

}  // namespace dlroof::openmp
