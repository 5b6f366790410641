// Counters prove themselves on kernels whose work is known before they are believed. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof {

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

// Adds what one known call says of each quantity that it knows: failed stays failed, the first that
// passes is the evidence. What was not counted proves nothing.
void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged);

// Takes out of `work` what failed, with a sentence in `doubts` for each, and names what is in it
// but was not tested.
void DropFailed(const JudgedCounters& judged, Work& work, std::vector<std::string>& doubts);

}  // namespace dlroof
