// The sums over the parallel regions that one thread begins, from events with their times. Pure: a
// source translates the events of its runtime.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string_view>

#include "counters/parallel_time.h"

namespace dlroof::openmp {

// A thread's time in the region's function, on a cache line of its own. The thread itself sends
// its events, which are read after the join. All times are [s] of one clock.
class alignas(64) ThreadInRegion {
 public:
  void Enters(double at) {
    entered_ = at;
    waited_ = 0;
    left_.reset();
  }
  // A barrier without an end is the one at the end of the region: the function ended before it.
  void BeginsBarrier(double at) { left_ = at; }
  void EndsBarrier(double at) {
    if (!left_) return;
    waited_ += at - *left_;
    left_.reset();
  }
  // Does nothing after the barrier at the end of the region.
  void Leaves(double at) {
    if (!left_) left_ = at;
  }

  double Seconds() const { return left_.value_or(entered_) - entered_; }  // waits included
  double Waited() const { return waited_; }

 private:
  double entered_ = 0, waited_ = 0;
  std::optional<double> left_;
};

// An address that no other thread has.
using ThreadMark = const void*;
inline ThreadMark ThisThread() {
  static thread_local char mark = 0;
  return &mark;
}

class RegionClock {
 public:
  static constexpr int kMostThreads = 1024;

  // Forgets what was seen. From now on the regions count that `thread` begins.
  void Start(ThreadMark thread);
  // Returns what was seen, of the watching thread's call. Absent: a region had more than
  // kMostThreads threads, of which the others' times are not known.
  std::optional<RegionsSeen> Stop();

  // Returns if a region counts that `thread` is about to begin: not those of another thread, and
  // not inner ones, which are part of the outer one. A load and a jump where nothing is watched.
  bool Counts(ThreadMark thread) const {
    return watching_.load(std::memory_order_relaxed) == thread && !inside_;
  }
  // The watching thread is in a region that counts.
  bool InsideOf(ThreadMark thread) const {
    return watching_.load(std::memory_order_relaxed) == thread && inside_;
  }

  // A region that counts begins, and ends with so many threads.
  void Forks(double at);
  void Joins(int team, double at);
  // Null for a thread that has no place. Each thread of a region enters it before the join.
  ThreadInRegion* Thread(int number);

 private:
  std::atomic<ThreadMark> watching_{nullptr};
  // The watching thread alone uses these.
  bool inside_ = false;
  bool too_wide_ = false;
  double forked_ = 0;
  RegionsSeen seen_;
  std::array<ThreadInRegion, kMostThreads> threads_;
};

// --- The OpenMP runtime that called this program as its tool (ompt_regions.cpp) ---

// Returns if the regions of the runtime that names itself so mean what a source promises: LLVM's
// libomp and Intel's libiomp5, by their `__kmp_version_lib_ver`.
bool IsWatchedRuntime(std::string_view version);

// Returns if the code at an address belongs to the runtime whose regions OMPT shows, now.
bool OmptShows(const void* code);

}  // namespace dlroof::openmp
