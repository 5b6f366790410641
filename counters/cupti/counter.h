// The counter sources that CUPTI gives: opened once, self-tested once, each call counted once.
// Pure: CUPTI and the known kernels are handed in.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "counters/counter_source.h"
#include "counters/cupti/decode.h"
#include "counters/cupti/recording.h"
#include "counters/cupti/report.h"
#include "counters/cupti/self_test.h"
#include "counters/cupti/session.h"

namespace dlroof::cupti {

struct CuptiParts {
  std::unique_ptr<CuptiApi> api;
  // Called once, on the open device. May throw: then no counter is tested, which is a doubt.
  std::function<std::vector<KnownCall>(const CuptiChip&)> known_calls;
  SecondsNow now;  // [s] a steady clock
  // Called once, on the open device; may be empty: then waves are not known.
  std::function<GpuRoom(int device)> room = {};
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
  Counted Count(const CountRequest& request, const CuptiWish& wish);
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
  const CuptiPlan& PlanFor(const std::vector<std::string>& pipes, const CuptiWish& wish);
  Reading Read(const std::vector<std::string>& pipes, const CuptiWish& wish,
               const RepeatedCall& call);
  Counted CountNow(const CountRequest& request, const CuptiWish& wish);

  CuptiParts parts_;
  int number_ = 0;
  std::atomic<bool> busy_ = false;
  std::mutex opening_;
  std::optional<CuptiDevice> device_;
  std::optional<GpuRoom> room_;
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
