// Memory kernels and the working sets that keep them at one level.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ceilings/workspace.h"
#include "counters/cpu.h"
#include "counters/work.h"

namespace dlroof {

// The kernels of one instruction set. Bytes count as the program names them: load 1 stream, copy 2,
// triad (a = b + 3 c) 3; a line that the cache reads only because it is written to is not counted.
struct BytesIsa {
  const char* name;
  std::vector<std::string> needs;  // features of counters/cpu.h
  std::size_t step_floats;         // [float] per stream and iteration
  Kernel load, copy, triad;
  Kernel streaming_copy, streaming_triad;  // with non-temporal stores
};

// A kernel's way through the arrays of its workspace, in steps of equal length, from where the last
// call stopped; begins again at the end. Without a branch: one per pass would be mispredicted, 10 %
// and more of a pass over a small array.
class Walk {
 public:
  Walk(const Workspace& workspace, std::size_t step_floats)
      : arrays_(workspace.arrays),
        floats_(workspace.floats),
        next_(workspace.next),
        step_(step_floats) {}

  float* In(std::size_t array) const {
    float* here = arrays_[array] + next_;
    asm volatile("" : "+r"(here));
    return here;
  }
  void Step() {
    next_ += step_;
    next_ &= std::size_t{0} - static_cast<std::size_t>(next_ < floats_);
  }
  void Keep(Workspace& workspace) const { workspace.next = next_; }

 private:
  std::array<float*, 3> arrays_;
  std::size_t floats_, next_, step_;  // [float]
};

// The widest that the CPU has. Every x86-64 CPU has SSE2.
BytesIsa WidestBytesIsa(const std::set<std::string>& features);

BytesIsa BytesSse2();
BytesIsa BytesAvx2();
BytesIsa BytesAvx512();

struct Mix {
  const char* name;
  int streams;
  Kernel kernel;
};

// Load, copy, triad; at DRAM also the two with non-temporal stores, which only there are faster.
std::vector<Mix> MixesFor(const BytesIsa& isa, Level level);

// What one thread works on at a level.
struct WorkingSet {
  double bytes = 0;   // [byte] of one thread, all streams together
  std::string how;    // "16 KiB per thread, half of L1 (32 KiB)"
  std::string doubt;  // why a rate with it cannot be a proved ceiling of the level; usually empty
};

struct WorkingSets {
  std::map<Level, WorkingSet> sets;
  std::map<Level, std::string> absent;  // one sentence each
};

// Pure. L1 and L2: half of the thread's share. L3: the geometric mean of the thread's shares of L2
// and L3, but at least 3 x L2 and at most 3/4 of the share of L3; absent when that share is below 2
// x L2. DRAM: together 4 x the last-level caches in use, at most half of `available_bytes`.
WorkingSets ChooseWorkingSets(const Topology& topology, const std::vector<int>& cpus,
                              std::optional<double> available_bytes);

// Lays the arrays of `streams` streams, `set_bytes` together, into memory of at least
// MemoryBytes(set_bytes) that begins on a page; each gets a multiple of `step_floats`, at least one
// step. Neighbours are 256 byte further apart than their length: at a multiple of 4 KiB, loads wait
// for stores of the same low address bits.
void LayArrays(char* memory, double set_bytes, int streams, std::size_t step_floats,
               Workspace& workspace);
std::size_t MemoryBytes(double set_bytes);

}  // namespace dlroof
