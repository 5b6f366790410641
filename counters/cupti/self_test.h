// Counters prove themselves on kernels whose work is known before they are believed. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof::cupti {

// A call whose work is known exactly.
struct KnownCall {
  std::string name;                // "1 GiB copied"
  std::vector<std::string> pipes;  // that it uses
  Work work;                       // of one run; only what is known of it
  std::function<void()> run;       // finished when it returns
};

enum class CounterGrade { kProved, kUntested, kFailed };
struct JudgedCounter {
  CounterGrade grade = CounterGrade::kUntested;
  std::string evidence;  // "the copy of 1 GiB: counted 1.003 of what it moves"
};

// By pipe ("fp32.vector"), level ("dram") or "launches".
using JudgedCounters = std::map<std::string, JudgedCounter>;

// [1] by which counted may differ from known: FLOPs and launches 1 %, DRAM 5 %, L2 and L1 10 %.
double CounterTolerance(const std::string& quantity);

// Adds a known call's evidence on each quantity that it knows. Failed stays failed, and the first
// pass is the evidence. An uncounted quantity proves nothing.
void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged);

// Takes out of `work` what failed, with a sentence in `doubts` for each, and names what is in it
// but was not tested.
void DropFailed(const JudgedCounters& judged, Work& work, std::vector<std::string>& doubts);

// Walk of the known call that loads from L2: `bytes` stay in L2, in both of its halves, and each
// thread's next load is `blocks * block_bytes` further, round and round.
struct KnownL2Walk {
  int blocks = 0;
  std::size_t bytes = 0;
};
// A thread comes back to a place only after loads that are no longer in flight: L1 would merge
// those that are.
KnownL2Walk WalkL2(std::size_t l2_bytes, std::size_t block_bytes);

}  // namespace dlroof::cupti
