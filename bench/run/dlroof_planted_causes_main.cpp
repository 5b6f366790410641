// Makes calls of which the causes of lost time are known, watches them as `dlroof explain` does,
// and prints as JSON what each cause cost and what the ledger attributes to it. Takes some seconds;
// to see it beside other programs, start some.
#include <benchmark/benchmark.h>

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "bench/timing/watched_calls.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/order_statistics.h"
#include "counters/base/version.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/instructions/instruction_count.h"
#include "counters/instructions/instruction_rate.h"
#include "reporters/ledger/ledger.h"

namespace dlroof {
namespace {

constexpr int kPasses = 80, kRegions = 4, kCallsOfPass = 1;
constexpr double kRegionSeconds = 2e-4;  // that each thread works in a region

// A chain of dependent multiplications: no memory, no way to overlap with anything.
void Chain(double links) {
  unsigned long value = 3;
  benchmark::DoNotOptimize(value);
  for (double i = 0; i < links; ++i) {
    value *= value;
    benchmark::DoNotOptimize(value);
  }
}

// Independent additions, of which a core starts as many as it can. 25,000 rounds can be counted by
// single steps.
constexpr int kUsefulRounds = 12500, kOtherRounds = 12500;
[[gnu::noinline]] void Additions(int rounds) {
  unsigned long a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  const auto x = static_cast<unsigned long>(rounds);
  for (int i = 0; i < rounds; ++i) {
    a += x, b += x, c += x, d += x, e += x, f += x, g += x, h += x;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
}

std::vector<double> Times(int tries, const std::function<void()>& run) {
  std::vector<double> seconds;
  for (int i = 0; i < tries; ++i) {
    const double begin = WallSeconds();
    run();
    seconds.push_back(WallSeconds() - begin);
  }
  return seconds;
}

double Fastest(int tries, const std::function<void()>& run) {
  return std::ranges::min(Times(tries, run));
}

void Work(double seconds) {
  constexpr double kLinks = 1e5;
  static const double per_link = Fastest(50, [] { Chain(kLinks); }) / kLinks;
  Chain(seconds / per_link);
}

void Region(const std::function<void(int thread)>& body) {
  AllLibraries().front().on_threads(body);
}

struct Cause {
  PartKind kind;
  std::function<double()> seconds;  // [s] that it costs one call
  std::function<void()> run;        // the call
  std::function<void(LedgerFacts&, double planted)> tell = [](LedgerFacts&, double) {
  };  // what the ledger is told of it
};

// Half of the additions are what the roof asks for, the others are too many. One thread is counted.
Cause InstructionCause(int threads) {
  constexpr double kMostStepSeconds = 20;
  const auto seconds = [](int rounds) { return Fastest(200, [=] { Additions(rounds); }); };
  const auto both = [] { Additions(kUsefulRounds + kOtherRounds); };
  return {PartKind::kInstructions,
          [=] { return seconds(kUsefulRounds + kOtherRounds) - seconds(kUsefulRounds); },
          [both] { Region([both](int) { both(); }); },
          [=](LedgerFacts& facts, double) {
            facts.roof_seconds = seconds(kUsefulRounds);
            facts.alone_compute_seconds = threads * facts.roof_seconds;
            auto counted = CountInstructions(both, kMostStepSeconds);
            if (!counted) return;
            counted->all *= threads;
            counted->per_second = MeasureInstructionRate();
            facts.parallel.instructions = counted;
          }};
}

class Planted {
 public:
  explicit Planted(int threads) : threads_(threads), share_((threads - 1.0) / threads) {
    for (int i = 0; i < threads; ++i) memory_.emplace_back(std::size_t{1} << 20, 1.0);
  }

  std::vector<Cause> Causes() const {
    constexpr double kSerial = 4e-4, kSlower = 1e-4;
    constexpr int kEmpty = 200, kStarts = kEmpty + kRegions;
    const auto even = [](int) { Work(kRegionSeconds); };
    const auto regions = [even] {
      for (int i = 0; i < kRegions; ++i) Region(even);
    };
    const auto empty = [] { return kStarts * Median(Times(1000, [] { Region([](int) {}); })); };
    const auto read = [this] {
      return kRegions *
             Median(Times(100, [this] { Region([this](int thread) { Read(thread); }); }));
    };
    return {
        {PartKind::kSerial, [this] { return kSerial * share_; }, [=] { regions(), Work(kSerial); }},
        {PartKind::kImbalance, [this] { return kRegions * kSlower * share_; },
         [] {
           for (int i = 0; i < kRegions; ++i)
             Region([](int thread) { Work(kRegionSeconds + (thread == 0 ? kSlower : 0)); });
         }},
        {PartKind::kForkJoin, empty,
         [=] {
           regions();
           for (int i = 0; i < kEmpty; ++i) Region([](int) {});
         }},
        {PartKind::kLanes, [] { return kRegions * kRegionSeconds / 2; },
         [] {
           for (int i = 0; i < kRegions; ++i) Region([](int) { Work(1.5 * kRegionSeconds); });
         },
         [](LedgerFacts& facts, double) { facts.parallel.executed_over_useful = 1.5; }},
        {PartKind::kLevels, read,
         [this, even] {
           for (int i = 0; i < kRegions; ++i) Region(even), Region([this](int t) { Read(t); });
         },
         [](LedgerFacts& facts, double planted) {
           facts.levels = {{"DRAM", planted, Provenance::kMeasured}};
         }},
        InstructionCause(threads_)};
  }

  nlohmann::json Attributed(const Cause& cause) const {
    PreparedCall call;
    call.run = cause.run;
    call.run();
    const double before = cause.seconds();  // again afterwards: a host may move our CPUs
    WatchedCalls watched;
    for (int i = 0; i < kPasses; ++i) watched.Add(call, threads_, kCallsOfPass);
    const double planted = (before + cause.seconds()) / 2;
    LedgerFacts facts{.roof_seconds = kRegions * kRegionSeconds, .roof = "arithmetic"};
    facts.parallel = watched.Mean().value();
    facts.seconds = facts.parallel.mean.seconds;
    cause.tell(facts, planted);
    const auto ledger = MakeLedger(facts);
    const auto* part = ledger.Find(cause.kind);
    const auto* rest = ledger.Find(PartKind::kUnexplained);
    const auto* stolen = ledger.Find(PartKind::kStolen);
    const auto seconds = [](const LedgerPart* one) { return one == nullptr ? 0 : one->seconds; };
    return {{"cause", Key(cause.kind)},
            {"planted_seconds", planted},
            {"found_seconds", seconds(part)},
            {"ratio", seconds(part) / planted},
            {"unexplained_seconds", seconds(rest)},
            {"stolen_seconds", seconds(stolen)},
            {"call_seconds", facts.seconds},
            {"source", facts.parallel.source}};
  }

 private:
  void Read(int thread) const {
    const auto& own = memory_.at(static_cast<std::size_t>(thread));
    benchmark::DoNotOptimize(std::accumulate(own.begin(), own.end(), 0.0));
  }

  int threads_;
  double share_;  // [1] of the threads, but one
  std::vector<std::vector<double>> memory_;
};

}  // namespace
}  // namespace dlroof

int main() {
  using namespace dlroof;
  ExpectRegions();
  const int threads = static_cast<int>(ThisCpu().allowed.size());
  if (AllRegionSources().empty() || AllLibraries().empty() || threads < 2) {
    std::cerr << "needs two CPUs, and a build that watches the library's parallel regions\n";
    return 2;
  }
  const Planted planted(threads);
  nlohmann::json result = {
      {"command", "build/dlroof_planted_causes"}, {"commit", kCommit}, {"threads", threads}};
  for (const auto& cause : planted.Causes()) result["causes"].push_back(planted.Attributed(cause));
  std::cout << result.dump(1) << '\n';
}
