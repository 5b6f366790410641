// The counter source of CUPTI. It opens the device once, validates the counters once on kernels of
// known work, and counts each call once. Pure: the caller passes in CUPTI and the known kernels.
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
  Work work;                       // of one run, the quantities that are known
  std::function<void()> run;       // the work is finished when it returns
};

enum class CounterGrade { kValidated, kUntested, kFailed };
struct JudgedCounter {
  CounterGrade grade = CounterGrade::kUntested;
  std::string evidence;  // "the copy of 1 GiB: counted 1.003 of what it moves"
};

// By pipe ("fp32.vector"), level ("dram") or "launches".
using JudgedCounters = std::map<std::string, JudgedCounter>;

// [1] Accepted relative error: FLOPs and launches 1 %, DRAM 5 %, L2 and L1 10 %.
double CounterTolerance(const std::string& quantity);

// Compares a known call's counts with its work. A failed quantity stays failed; of several
// successes the first is the evidence. Quantities that were not counted keep their grade.
void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged);

// Removes failed quantities from `work`, with a caveat for each, and adds a caveat that names the
// untested ones.
void DropFailed(const JudgedCounters& judged, Work& work, std::vector<std::string>& caveats);

// The walk of the known call that loads from L2: each thread's next load is `blocks * block_bytes`
// further, modulo `bytes`, which fit in L2 even if both of its partitions hold a copy.
struct KnownL2Walk {
  int blocks = 0;
  std::size_t bytes = 0;
};
// A thread returns to an address only when its earlier load is no longer in flight, because L1
// would merge the two.
KnownL2Walk WalkL2(std::size_t l2_bytes, std::size_t block_bytes);

struct CuptiParts {
  std::unique_ptr<CuptiApi> api;
  // Called once, with the open device. If it throws, the counts get a caveat that no counter was
  // tested.
  std::function<std::vector<KnownCall>(const CuptiChip&)> known_calls;
  SecondsNow now;  // [s] a steady clock
  // Called once, with the open device. May be empty; then the waves of kernels are unknown.
  std::function<GpuCapacity(int device)> capacity = {};
};

// Create one per process, as a GPU has one set of counters. Thread-safe; a call fails while another
// one is counting.
class CuptiCounter {
 public:
  explicit CuptiCounter(CuptiParts parts, int device = 0);

  // Opens the device on the first call. Returns why it cannot count.
  std::optional<Reason> UnavailableReason();
  // Returns the stored result if the same request was counted with the same options before. Throws
  // std::exception with one sentence.
  Counted Count(const CountRequest& request, const CounterOptions& options);
  // Returns the results of the self-test, which runs on the first call.
  const JudgedCounters& SelfTest();
  // Returns the raw values of everything counted so far, the self-test first.
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
  std::optional<GpuCapacity> capacity_;
  bool opened_ = false;                // Open has tried once
  std::optional<Reason> unavailable_;  // why Open failed
  bool tested_ = false;
  std::optional<Reason> untested_;  // why the self-test is incomplete
  JudgedCounters judged_;
  std::map<std::string, CuptiPlan> plans_;
  std::map<std::string, Counted> counted_;
  CuptiRecording recording_;
};

// Returns the source "cupti", which counts in at most three passes. With a `record_path` it counts
// tensor operations of all types and PCIe too, in as many passes as needed, and writes all raw
// values to that file after each call.
CounterSource CuptiSourceOf(const std::shared_ptr<CuptiCounter>& counter,
                            const std::string& record_path);

}  // namespace dlroof::cupti
