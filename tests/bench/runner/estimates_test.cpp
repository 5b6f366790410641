// Estimates of simulated calls on a machine whose CPUs other programs want, too: a scheduler that
// gives each CPU in turn to our thread and to its neighbour, and clocks that read what Linux's do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bench/runner/timer.h"
#include "reporters/record/record.h"

namespace dlroof::runner {
namespace {

// Programs that compete for one CPU: for `busy` seconds they take turns of `slice` with our thread,
// then they sleep for `idle` seconds; both lengths are exponentially distributed.
struct Neighbour {
  double busy = 0, idle = 1, slice = 3e-3;  // [s] busy 0: never
};

// A CPU with our thread on it.
class Cpu {
 public:
  Cpu(Neighbour neighbour, std::mt19937& random) : neighbour_(neighbour), random_(&random) {}

  // Returns when our thread, which wants to run from `now` on, has run for `work`. Adds its waits
  // to `waited`. All [s]. Time must not run backwards from call to call.
  double Run(double now, double work, double& waited) {
    while (work > 0) {
      SkipTo(now);
      const double turn = std::fmod(now - changed_, 2 * neighbour_.slice);
      if (busy_ && turn < neighbour_.slice) {  // the neighbour's turn
        const double wait = std::min(neighbour_.slice - turn, change_ - now) + kTick;
        waited += wait;
        now += wait;
        continue;
      }
      const double ours = busy_ ? 2 * neighbour_.slice - turn : work;
      const double run = std::min({work, ours + kTick, change_ - now + kTick});
      work -= run;
      now += run;
    }
    return now;
  }

 private:
  static constexpr double kTick = 1e-9;  // [s] moves past the ends of turns despite rounding

  void SkipTo(double now) {
    while (change_ <= now) {
      busy_ = neighbour_.busy > 0 && !busy_;
      changed_ = change_;
      const double mean = busy_ ? neighbour_.busy : neighbour_.idle;
      change_ += std::exponential_distribution<double>(1 / mean)(*random_);
    }
  }

  Neighbour neighbour_;
  std::mt19937* random_;
  bool busy_ = false;
  double changed_ = 0, change_ = 0;  // [s] when the neighbour woke or slept, and will again
};

// A call: regions in which each thread works, then waits for the others.
struct Call {
  std::vector<std::vector<double>> regions;  // [s] by region, then by thread
  double spin = 1e-3;                        // [s] that a thread spins before it sleeps

  double Quiet() const {
    double seconds = 0;
    for (const auto& region : regions) seconds += std::ranges::max(region);
    return seconds;
  }
};

struct Machine {
  std::vector<Cpu> cpus;
  double now = 0;  // [s]
};

// Runs the call once. A thread that waits for others spins, and may lose its CPU while it does.
cpu::ClockReading Run(const Call& call, Machine& machine) {
  cpu::ClockReading spent{.run_delay = 0};
  const double begin = machine.now;
  for (const auto& region : call.regions) {
    std::vector<double> ready, waited(region.size(), 0.0);
    for (std::size_t thread = 0; thread < region.size(); ++thread)
      ready.push_back(machine.cpus[thread].Run(machine.now, region[thread], waited[thread]));
    const double end = std::ranges::max(ready);
    for (std::size_t thread = 0; thread < region.size(); ++thread) {
      const double spun = std::min(call.spin, end - ready[thread]);
      spent.process_cpu += region[thread] + spun;
      if (thread == 0) spent.thread_cpu += region[thread] + spun;
      *spent.run_delay += waited[thread];
    }
    machine.now = end;
  }
  spent.wall = machine.now - begin;
  return spent;
}

// Times the call as CpuTimer does: whole repetitions until one is noisy, then in parts.
std::vector<record::Repetition> Timed(const Call& call, bool cold, Machine& machine) {
  constexpr double kRepetition = 0.03, kPart = 1e-3, kFlush = 2e-4;  // [s]
  constexpr StoppingRule kRule{.repetitions = 9, .max_seconds = 2};
  const auto calls = static_cast<std::size_t>(std::max(1.0, std::ceil(kRepetition / call.Quiet())));
  const auto per_part = static_cast<std::size_t>(std::ceil(kPart / call.Quiet()));
  std::vector<record::Repetition> done;
  bool in_parts = false;
  const double begin = machine.now;
  for (;;) {
    const auto next = NextAfter(done, machine.now - begin, kRule);
    if (!next.wanted) return done;
    machine.now += next.pause_seconds;
    std::vector<cpu::ClockReading> readings;
    for (std::size_t i = 0; i < calls; ++i) {
      if (cold) machine.now += kFlush;
      readings.push_back(Run(call, machine));
    }
    if (cold || !in_parts) {
      done.push_back(RepetitionOfCalls(readings, cold && in_parts));
    } else {
      std::vector<cpu::ClockReading> parts(std::max<std::size_t>(1, calls / per_part));
      for (auto& part : parts) part.run_delay = 0;
      for (std::size_t i = 0; i < parts.size() * per_part && i < readings.size(); ++i)
        parts[i / per_part] = parts[i / per_part] + readings[i];
      done.push_back(RepetitionOfParts(parts, static_cast<double>(per_part)));
    }
    done.back().core_share = 1;  // our threads run on whole cores
    record::MarkNoisy(done);
    in_parts = in_parts || done.back().noisy;
  }
}

struct Tally {
  int calls = 0, estimates = 0, held = 0, too_low = 0, unshown = 0;
};

// Adds a call's time to the tally: whether its interval holds the quiet time, whether it is below
// 0.9 of it, and whether it is below each repetition without saying so.
void Add(const std::vector<record::Repetition>& repetitions, double quiet, Tally& tally) {
  const auto timing = record::TimeOf(repetitions).value();
  ++tally.calls;
  tally.estimates += timing.noisy ? 1 : 0;
  constexpr double kRounding = 1e-6;  // [1] of sums of clock readings
  if (timing.ci95 && timing.ci95->first <= quiet * (1 + kRounding) &&
      quiet * (1 - kRounding) <= timing.ci95->second)
    ++tally.held;
  tally.too_low += timing.median < 0.9 * quiet ? 1 : 0;
  const auto fastest = std::ranges::min_element(repetitions, {}, &record::Repetition::seconds);
  if (timing.median < fastest->seconds * (1 - 1e-4) &&
      record::EstimateText(repetitions, timing).empty())
    ++tally.unshown;
}

// Returns a call of 1 to 3 regions; each thread's work is up to 30 % less than the longest.
Call RandomCall(std::mt19937& random, std::size_t threads) {
  const double log_seconds = std::uniform_real_distribution<double>(-5, -1.5)(random);
  const auto regions = std::uniform_int_distribution<int>(1, 3)(random);
  std::uniform_real_distribution<double> balance(0.7, 1);
  Call call;
  for (int i = 0; i < regions; ++i) {
    auto& region = call.regions.emplace_back();
    for (std::size_t thread = 0; thread < threads; ++thread)
      region.push_back(std::pow(10, log_seconds) / regions * balance(random));
  }
  return call;
}

// 400 calls of 10 us to 30 ms, warm and cold, on one to four threads, beside neighbours that never
// sleep, that come and go, or that want only some of the CPUs.
TEST(Estimates, HoldTheQuietTimeAndAreNeverFarBelowIt) {
  std::mt19937 random(1);
  Tally all;
  for (int history = 0; history < 400; ++history) {
    const auto threads = std::size_t{1} << (history % 3);
    const bool cold = history % 2 == 0;
    std::vector<Neighbour> kinds = {{.busy = 100, .idle = 1e-6},
                                    {.busy = 0.02, .idle = 0.02},
                                    {.busy = 5e-3, .idle = 0.05},
                                    {.busy = 100, .idle = 1e-6, .slice = 1e-3}};
    const auto kind = kinds[static_cast<std::size_t>(history / 6) % kinds.size()];
    const bool only_last = history % 5 == 0;
    Machine machine;
    for (std::size_t cpu = 0; cpu < threads; ++cpu)
      machine.cpus.emplace_back(only_last && cpu + 1 < threads ? Neighbour{} : kind, random);
    const auto call = RandomCall(random, threads);
    Add(Timed(call, cold, machine), call.Quiet(), all);
  }
  RecordProperty("estimates", all.estimates);
  RecordProperty("held", all.held);
  EXPECT_EQ(all.calls, 400);
  EXPECT_GT(all.estimates, 100);  // the neighbours are noticed
  EXPECT_GE(all.held, 380);       // 95 %
  EXPECT_EQ(all.too_low, 0);
  EXPECT_EQ(all.unshown, 0);
}

// Without neighbours every repetition is clean and each time is right.
TEST(Estimates, AreNotMadeOnAQuietMachine) {
  std::mt19937 random(2);
  Tally all;
  for (int history = 0; history < 20; ++history) {
    Machine machine;
    for (int cpu = 0; cpu < 2; ++cpu) machine.cpus.emplace_back(Neighbour{}, random);
    const auto call = RandomCall(random, 2);
    Add(Timed(call, history % 2 == 0, machine), call.Quiet(), all);
  }
  EXPECT_EQ(all.estimates, 0);
  EXPECT_EQ(all.too_low, 0);
  EXPECT_EQ(all.held, 20);
}

}  // namespace
}  // namespace dlroof::runner
