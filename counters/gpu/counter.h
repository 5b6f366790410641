// The counter source "cupti". It opens the device once, validates the counters once with calls of
// known work, and counts each call once. Pure: the caller passes in CUPTI and the known calls.
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

#include "counters/base/counter_manager.h"
#include "counters/base/work.h"
#include "counters/gpu/api.h"
#include "counters/gpu/session.h"

namespace dlroof::gpu {

// A call whose work is known exactly.
struct KnownCall {
  std::string name;                // "copy of 1024 MiB"
  std::vector<std::string> pipes;  // pipes that the call uses
  Work work;                       // of one run; unknown quantities are missing
  std::function<void()> run;       // runs the call and waits until it is finished
};

enum class CounterGrade { kValidated, kUntested, kFailed };
struct JudgedCounter {
  CounterGrade grade = CounterGrade::kUntested;
  std::string evidence;  // "copy of 1024 MiB: counted 1.003 of its work"
};

// The counters by quantity: a pipe ("fp32.vector"), a level ("dram") or "launches".
using JudgedCounters = std::map<std::string, JudgedCounter>;

// Returns the accepted relative error [1]: FLOPs and launches 1 %, DRAM 5 %, L2 and L1 10 %.
double CounterTolerance(const std::string& quantity);

// Compares the counts of a known call with its work and updates `judged`. A failed quantity stays
// failed; the first success gives the evidence; quantities without a count do not change.
void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged);

// Access pattern of the known call that loads from L2: with each load, a thread's address grows by
// blocks * block_bytes, modulo `bytes`. L2 holds two copies of `bytes`, one per partition.
struct KnownL2Walk {
  int blocks = 0;
  std::size_t bytes = 0;
};
// Returns the access pattern for an L2 of `l2_bytes`. A thread loads an address again only when its
// earlier load is complete, because L1 would merge two loads in flight.
KnownL2Walk WalkL2(std::size_t l2_bytes, std::size_t block_bytes);

struct CuptiParts {
  std::unique_ptr<CuptiApi> api;
  // Returns calls whose work is known exactly, with which CuptiCounter tests the counters before it
  // counts, until a test has succeeded once. If it throws, the counts get a caveat that the test of
  // the counters is incomplete.
  std::function<std::vector<KnownCall>(const CuptiChip&)> known_calls;
  // Describes the open device, so that CuptiCounter can compute the waves of kernels. Called once.
  // If `identity` is empty, the waves are unknown.
  std::function<GpuIdentity(int device)> identity = {};
};

// Create one per process, as a GPU has one set of counters. Thread-safe: Count and SelfTest throw
// if another thread is executing one of them.
class CuptiCounter {
 public:
  explicit CuptiCounter(CuptiParts parts, int device = 0);

  // Returns why calls on the device cannot be counted, or nullopt if they can. The first call opens
  // the device.
  std::optional<Reason> UnavailableReason();
  // Counts a call, or returns the stored result of an equal request with equal options. Throws
  // std::exception with a message of one sentence.
  Counted Count(const CountRequest& request, const CounterOptions& options);
  // Returns the results of the self-test, which the first call runs.
  const JudgedCounters& SelfTest();

 private:
  void Open();
  void TestOnce();
  void TestOn(const KnownCall& known);
  const CuptiPlan& PlanFor(const std::vector<std::string>& types, const CounterOptions& options);
  CuptiReading Read(const std::string& type, const std::vector<std::string>& pipes,
                    const CounterOptions& options, const RepeatedCall& call);
  Counted CountNow(const CountRequest& request, const CounterOptions& options);

  CuptiParts parts_;
  int number_ = 0;
  std::atomic<bool> busy_ = false;
  std::mutex opening_;
  std::optional<CuptiDevice> device_;
  std::optional<GpuIdentity> identity_;
  bool opened_ = false;                // whether Open has been called
  std::optional<Reason> unavailable_;  // why Open failed
  bool tested_ = false;
  std::optional<Reason> untested_;  // why the self-test is incomplete
  JudgedCounters judged_;
  std::map<std::string, CuptiPlan> plans_;
  std::map<std::string, Counted> counted_;
};

// Returns the source "cupti". It counts the FLOPs of the pipes that a call of the request's type
// can use, and the bytes of DRAM, L2 and L1, in at most three passes. With CountRequest::everything
// it also counts PCIe and the tensor operations of all types, in any number of passes.
CounterSource CuptiSourceOf(const std::shared_ptr<CuptiCounter>& counter);

}  // namespace dlroof::gpu
