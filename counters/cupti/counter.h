// Counters prove themselves on kernels whose work is known before they are believed. Pure.
//
// The counter sources that CUPTI gives: opened once, self-tested once, each call counted once.
// Pure: CUPTI and the known kernels are handed in.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "counters/counter_manager.h"
#include "counters/cupti/api.h"
#include "counters/cupti/report.h"
#include "counters/cupti/session.h"
#include "counters/work.h"

namespace dlroof::cupti {

// A call whose work is known exactly.
struct KnownCall {
  std::string name;                // "1 GiB copied"
  std::vector<std::string> pipes;  // that it uses
  Work work;                       // of one run; only what is known of it
  std::function<void()> run;       // finished when it returns
};

enum class CounterGrade { kValidated, kUntested, kFailed };
struct JudgedCounter {
  CounterGrade grade = CounterGrade::kUntested;
  std::string evidence;  // "the copy of 1 GiB: counted 1.003 of what it moves"
};

// By pipe ("fp32.vector"), level ("dram") or "launches".
using JudgedCounters = std::map<std::string, JudgedCounter>;

// [1] by which counted may differ from known: FLOPs and launches 1 %, DRAM 5 %, L2 and L1 10 %.
double CounterTolerance(const std::string& quantity);

// Adds a known call's evidence on each quantity that it knows. Failed stays failed, and the first
// pass is the evidence. An uncounted quantity validates nothing.
void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged);

// Takes out of `work` what failed, with a sentence in `doubts` for each, and names what is in it
// but was not tested.
void DropFailed(const JudgedCounters& judged, Work& work, std::vector<std::string>& caveats);

// Walk of the known call that loads from L2: `bytes` stay in L2, in both of its halves, and each
// thread's next load is `blocks * block_bytes` further, round and round.
struct KnownL2Walk {
  int blocks = 0;
  std::size_t bytes = 0;
};
// A thread comes back to a place only after loads that are no longer in flight: L1 would merge
// those that are.
KnownL2Walk WalkL2(std::size_t l2_bytes, std::size_t block_bytes);

struct CuptiParts {
  std::unique_ptr<CuptiApi> api;
  // Called once, on the open device. May throw: then no counter is tested, which is a doubt.
  std::function<std::vector<KnownCall>(const CuptiChip&)> known_calls;
  SecondsNow now;  // [s] a steady clock
  // Called once, on the open device; may be empty: then waves are not known.
  std::function<GpuFreeMemory(int device)> available = {};
};

// One per process: the GPU's counters exist once. Calls may come from several threads, but of two
// at a time the second is refused.
class CuptiCounter {
 public:
  explicit CuptiCounter(CuptiParts parts, int device = 0);

  // One sentence; empty: it can count. Asked once.
  std::string Unavailable();
  // The same request with the same wish is counted once and remembered. Throws std::exception with
  // one sentence.
  Counted Count(const CountRequest& request, const CounterOptions& options);
  // Returns the self-test's findings. Runs it the first time.
  const JudgedCounters& SelfTest();
  // Raw values of all that was counted so far, the self-test's first.
  CuptiRecording Recording() const;

 private:
  struct Reading {
    const CuptiPlan* plan = nullptr;
    CountedValues values;
    CuptiCounts counts;
  };
  void Open();
  void TestOnce();
  void TestOn(const KnownCall& known);
  const CuptiPlan& PlanFor(const std::vector<std::string>& pipes, const CounterOptions& options);
  Reading Read(const std::vector<std::string>& pipes, const CounterOptions& options,
               const RepeatedCall& call);
  Counted CountNow(const CountRequest& request, const CounterOptions& options);

  CuptiParts parts_;
  int number_ = 0;
  std::atomic<bool> busy_ = false;
  std::mutex opening_;
  std::optional<CuptiDevice> device_;
  std::optional<GpuFreeMemory> available_;
  std::optional<std::string> unavailable_;
  bool tested_ = false;
  std::string not_tested_;  // why, in one sentence
  JudgedCounters judged_;
  std::map<std::string, CuptiPlan> plans_;
  std::map<std::string, Counted> counted_;
  CuptiRecording recording_;
};

// "cupti": three passes at most. With a `record_path`, tensor operations of every type and PCIe in
// as many as it takes, and the raw values of everything so far are written there after each call.
CounterSource CuptiSourceOf(const std::shared_ptr<CuptiCounter>& counter,
                            const std::string& record_path);

}  // namespace dlroof::cupti
