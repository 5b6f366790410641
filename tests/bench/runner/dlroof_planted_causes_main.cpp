// Validates the time breakdown: makes calls with planted causes of lost time, profiles them as
// `dlroof explain` does, and prints as JSON the cost of each cause and the time that the breakdown
// attributes to it. The cost is measured with each pass, in the call or right after it, because
// clock rates change. Takes some seconds. To test it under system load, start other programs.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "bench/runner/explain_pass.h"
#include "bench/workload/workload.h"
#include "counters/base/json_text.h"
#include "counters/base/program.h"
#include "counters/base/version.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "reporters/roofline/breakdown.h"

namespace dlroof::runner {
namespace {

constexpr int kPasses = 80, kRounds = 5, kRegions = 4, kCallsOfPass = 1, kShortCalls = 20;
constexpr double kMaxWaited = 0.05;      // [1] passes with a larger share of run delay are repeated
constexpr double kRegionSeconds = 2e-4;  // [s] work of each thread in a parallel region

// A chain of dependent multiplications, which uses no memory and cannot overlap with other work.
void Chain(double links) {
  unsigned long value = 3;
  benchmark::DoNotOptimize(value);
  for (double i = 0; i < links; ++i) {
    value *= value;
    benchmark::DoNotOptimize(value);
  }
}

// Independent additions at the core's full issue rate. A round has ten instructions: the additions,
// the counter's, and a comparison that cores fuse with its branch.
constexpr int kUsefulRounds = 12500, kOtherRounds = 12500, kPerRound = 10;
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
    const double begin = cpu::WallSeconds();
    run();
    seconds.push_back(cpu::WallSeconds() - begin);
  }
  return seconds;
}

double Fastest(int tries, const std::function<void()>& run) {
  return std::ranges::min(Times(tries, run));
}

// Works for about `seconds` [s]. Returns the time that it took [s].
double Work(double seconds) {
  constexpr double kLinks = 1e5;
  static const double per_link = Fastest(50, [] { Chain(kLinks); }) / kLinks;
  const double begin = cpu::WallSeconds();
  Chain(seconds / per_link);
  return cpu::WallSeconds() - begin;
}

void Region(const std::function<void(int thread)>& body) {
  workload::AllLibraries().front().on_threads(body);
}

constexpr double kFastTenth = 0.1;

struct Cause {
  roofline::ComponentKind kind;
  std::function<double()> seconds;  // returns the cause's cost [s] in the last call
  std::function<void()> run;        // the call
  // Adds the facts that reveal this cause to the breakdown's input. `planted` is the cost [s] of
  // the cause, measured with the passes. Returns `planted`, or a new measurement of the cost [s].
  std::function<double(roofline::BreakdownFacts&, double planted)> add_facts =
      [](roofline::BreakdownFacts&, double planted) { return planted; };
  // [1] Quantile of the measured costs to use; small if interference can only add costs.
  double quantile = 0.5;
};

// Plants superfluous instructions: the roof needs half of the additions. Measures the instruction
// rate and both costs together, at the same clock rate.
Cause InstructionCause(int threads) {
  constexpr int kTries = 400;
  const auto seconds = [](int rounds) { return Fastest(kTries, [=] { Additions(rounds); }); };
  const auto both = [] { Additions(kUsefulRounds + kOtherRounds); };
  return {roofline::ComponentKind::kInstructions, [] { return 0; },
          [both] { Region([both](int) { both(); }); },
          [=](roofline::BreakdownFacts& facts, double) {
            facts.roof_seconds = seconds(kUsefulRounds);
            facts.single_thread_compute_seconds = threads * facts.roof_seconds;
            facts.parallel.instructions = InstructionCount{
                .all = static_cast<double>(threads) * (kUsefulRounds + kOtherRounds) * kPerRound,
                .per_second = cpu::MeasureInstructionRate()};
            return seconds(kUsefulRounds + kOtherRounds) - facts.roof_seconds;
          }};
}

class Planted {
 public:
  explicit Planted(int threads) : threads_(threads), share_((threads - 1.0) / threads) {
    for (int i = 0; i < threads; ++i) memory_.emplace_back(std::size_t{1} << 18, 1.0);
  }

  std::vector<Cause> Causes() {
    const auto even = [](int) { Work(kRegionSeconds); };
    const auto regions = [even] {
      for (int i = 0; i < kRegions; ++i) Region(even);
    };
    const auto read = [this] { Region([this](int thread) { Read(thread); }); };
    return {Serial(regions),
            Imbalance(),
            ForkAndJoin(regions),
            {roofline::ComponentKind::kLanes, [] { return kRegions * kRegionSeconds / 2; },
             [] {
               for (int i = 0; i < kRegions; ++i) Region([](int) { Work(1.5 * kRegionSeconds); });
             },
             [](roofline::BreakdownFacts& facts, double planted) {
               facts.parallel.executed_over_useful = 1.5;
               return planted;
             }},
            // The fastest of three: under system load one timing may include a wait for a CPU.
            {roofline::ComponentKind::kLevels, [read] { return kRegions * Fastest(3, read); },
             [even, read] {
               for (int i = 0; i < kRegions; ++i) Region(even), read();
             },
             [](roofline::BreakdownFacts& facts, double planted) {
               facts.levels = {{"DRAM", planted, Provenance::kMeasured}};
               return planted;
             },
             kFastTenth},
            InstructionCause(threads_)};
  }

  nlohmann::json Attributed(const Cause& cause) const {
    const int calls =
        cause.kind == roofline::ComponentKind::kInstructions ? kShortCalls : kCallsOfPass;
    workload::PreparedCall call;
    call.run = cause.run;
    call.run();
    runner::WatchedCalls watched;
    std::vector<double> costs;
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kPasses; ++i) {
        watched.Add(call, threads_, calls);
        costs.push_back(cause.seconds());
      }
      const auto mean = watched.Mean().value().mean;
      if (mean.run_delay_seconds.value_or(0) < kMaxWaited * mean.seconds) break;
    }
    std::ranges::sort(costs);
    const double cost =
        costs[static_cast<std::size_t>(cause.quantile * static_cast<double>(costs.size()))];
    roofline::BreakdownFacts facts{.roof_seconds = kRegions * kRegionSeconds, .roof = "arithmetic"};
    facts.parallel = watched.Mean().value();
    facts.seconds = facts.parallel.mean.seconds;
    const double planted = cause.add_facts(facts, cost);
    const auto breakdown = roofline::MakeBreakdown(facts);
    const auto* found = breakdown.Find(cause.kind);
    const auto* rest = breakdown.Find(roofline::ComponentKind::kUnexplained);
    const auto* stolen = breakdown.Find(roofline::ComponentKind::kStolen);
    const auto seconds = [](const roofline::Component* component) {
      return component == nullptr ? 0 : component->seconds;
    };
    return {{"cause", roofline::Key(cause.kind)},
            {"planted_seconds", planted},
            {"found_seconds", seconds(found)},
            {"ratio", seconds(found) / planted},
            {"unexplained_seconds", seconds(rest)},
            {"stolen_seconds", seconds(stolen)},
            {"call_seconds", facts.seconds},
            {"passes", facts.parallel.passes.size()},
            {"waited_seconds", facts.parallel.mean.run_delay_seconds.value_or(0)},
            {"source", facts.parallel.source}};
  }

 private:
  Cause Serial(const std::function<void()>& regions) {
    constexpr double kSerial = 4e-4;
    return {roofline::ComponentKind::kSerial, [this] { return serial_seconds_ * share_; },
            [=, this] {
              regions();
              serial_seconds_ = Work(kSerial);
            }};
  }

  // Plants parallel regions without work. Their cost is measured without profiling.
  static Cause ForkAndJoin(const std::function<void()>& regions) {
    constexpr int kEmpty = 200;
    const auto empty = [] {
      for (int i = 0; i < kEmpty; ++i) Region([](int) {});
    };
    return {roofline::ComponentKind::kForkJoin,
            [empty] { return Fastest(1, empty) / kEmpty * (kEmpty + kRegions); },
            [=] { regions(), empty(); }};
  }

  // In each region the first thread works longer than the others.
  Cause Imbalance() {
    constexpr double kSlower = 1e-4;
    return {roofline::ComponentKind::kImbalance, [this] { return waited_seconds_; },
            [this] {
              waited_seconds_ = 0;
              for (int i = 0; i < kRegions; ++i) {
                std::vector<double> worked(static_cast<std::size_t>(threads_));
                Region([&](int thread) {
                  worked[static_cast<std::size_t>(thread)] =
                      Work(kRegionSeconds + (thread == 0 ? kSlower : 0));
                });
                waited_seconds_ += std::ranges::max(worked) -
                                   std::accumulate(worked.begin(), worked.end(), 0.0) / threads_;
              }
            }};
  }

  void Read(int thread) const {
    const auto& own = memory_.at(static_cast<std::size_t>(thread));
    benchmark::DoNotOptimize(std::accumulate(own.begin(), own.end(), 0.0));
  }

  int threads_;
  double share_;  // [1] share of threads that are idle in serial code
  std::vector<std::vector<double>> memory_;
  double serial_seconds_ = 0;  // [s] outside of regions, in the last call
  double waited_seconds_ = 0;  // [s] mean wait of a thread for the slowest one, in the last call
};

int Run() {
  const int threads = static_cast<int>(cpu::ThisCpu().allowed.size());
  if (!TheRegionSource() || workload::AllLibraries().empty() || threads < 2) {
    std::cerr << "dlroof_planted_causes: needs two CPUs and a build with a source of parallel "
                 "regions\n";
    return 2;
  }
  workload::AllLibraries().front().pin(cpu::ThisCpu().allowed);  // as dlroof_bench does
  Planted planted(threads);
  nlohmann::json result = {
      {"command", "build/dlroof_planted_causes"}, {"commit", kCommit}, {"threads", threads}};
  for (const auto& cause : planted.Causes()) result["causes"].push_back(planted.Attributed(cause));
  std::cout << JsonText(result, 1) << '\n';
  return 0;
}

}  // namespace
}  // namespace dlroof::runner

int main() { return dlroof::RunProgram("dlroof_planted_causes", dlroof::runner::Run); }
