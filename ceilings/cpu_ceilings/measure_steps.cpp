#include "ceilings/cpu_ceilings/measure_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "counters/base/keys.h"

namespace dlroof::cpu_ceilings {
namespace {

using cpu_kernels::FlopsProbe, machine::Ceiling, machine::RatePolicy;

LaunchCost MeasureTimer(int, const RatePolicy& policy) {
  auto cost = MeasureCalls(
      [](std::int64_t calls) {
        for (; calls > 0; --calls) cpu::WallSeconds();
      },
      policy);
  cost.how = "one reading of the steady clock by one thread; " + cost.how;
  return cost;
}

[[maybe_unused]] const auto& timer_added = OverheadProbes()["timer"] = MeasureTimer;

constexpr const char* kLaunch = "launch";

// Measures an overhead. Writes its cost to `set` or, if no repetition is clean, why to `absent`.
void MeasureOne(machine::CeilingSet& set, const std::string& name, int threads,
                const RatePolicy& policy) {
  const auto* const probe = FindValue(OverheadProbes(), name);
  if (probe == nullptr) {
    set.absent[name] = "this build has no library whose calls could be timed";
    return;
  }
  try {
    const auto cost = (*probe)(threads, policy);
    if (!cost.clean) {
      set.absent[name] = "in each repetition a thread waited for a CPU";
      return;
    }
    set.costs_how[name] = cost.how;
    if (name == kLaunch)
      set.launch_seconds = cost.seconds;
    else
      set.overheads[name] = cost.seconds;
  } catch (const std::exception& error) {
    set.absent[name] = error.what();
  }
}

}  // namespace

LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls, const RatePolicy& policy) {
  const auto rate = machine::MeasureRate(
      [&](std::int64_t count) {
        const auto before = cpu::ReadClocks();
        calls(count);
        const auto spent = cpu::ReadClocks() - before;
        machine::TeamTime time{spent.wall, std::nullopt};
        if (spent.run_delay) time.wait_fraction = *spent.run_delay / spent.wall;
        return time;
      },
      policy);
  auto how = fmt::format("best of {} clean repetitions", rate.clean);
  if (rate.reason) how += "; not validated: " + rate.reason->text;
  return {1 / rate.per_second, rate.clean > 0, how};
}

std::map<std::string, LaunchProbe>& OverheadProbes() {
  static std::map<std::string, LaunchProbe> probes;
  return probes;
}

void AddOverheadSteps(MeasureSession& session, int threads) {
  const auto add = [&](const std::string& name) {
    session.steps.push_back({fmt::format("{}, {} threads", name, threads),
                             [&session, name, threads](double max_seconds) {
                               session.bench.reset();
                               MeasureOne(session.machine.by_threads[threads], name, threads,
                                          session.Policy(kMemoryTolerance, max_seconds));
                             },
                             threads});
  };
  add(kLaunch);
  for (const auto& [name, probe] : OverheadProbes())
    if (name != kLaunch) add(name);
}

RatePolicy Effort::Policy(double tolerance) const {
  auto policy = RateEffort::Policy(tolerance, cpu::WallSeconds);
  policy.sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  return policy;
}

RatePolicy MeasureSession::Policy(double tolerance, double max_seconds) const {
  auto policy = effort.Policy(tolerance);
  policy.max_seconds = max_seconds;
  return policy;
}

CpuBench::CpuBench(const std::vector<int>& cpus)
    : team_(cpus), workspaces_(cpus.size()), memory_(cpus.size()) {
  for (auto& workspace : workspaces_) workspace = std::make_unique<cpu_kernels::Workspace>();
}

machine::Rate CpuBench::Measure(cpu_kernels::Kernel kernel, const RatePolicy& policy) {
  return machine::MeasureRate(
      [&](std::int64_t iterations) {
        return team_.TimeWithCores([&](int i) { kernel(workspace(i), iterations); });
      },
      policy);
}

std::optional<cpu_kernels::LoadClock> CpuBench::LoadClockOf(const FlopsProbe& probe) {
  return cpu_kernels::FindLoadClock(
      probe, [&](cpu_kernels::Kernel kernel, std::int64_t iterations) {
        return team_.Time([&](int i) { kernel(workspace(i), iterations); }).seconds;
      });
}

machine::Rate CpuBench::Measure(const FlopsProbe& probe, const RatePolicy& policy) {
  const auto clock = LoadClockOf(probe);
  if (!clock) return Measure(probe.kernel, policy);
  return machine::MeasureRate(
      [&](std::int64_t iterations) {
        return team_.TimeWithCores(
            [&](int i) { probe.kernel(workspace(i), iterations); },
            [&](int i) { return cpu_kernels::MeasureLoadClock(*clock, workspace(i)); });
      },
      policy);
}

std::optional<double> CpuBench::IssueRate() {
  std::optional<double> rate;
  team_.Run([&](int i) {
    if (i == 0) rate = cpu::MeasureIssueRate();
  });
  return rate;
}

void CpuBench::AllocateArrays(double bytes, int streams, std::size_t step_floats) {
  team_.Run([&](int i) {
    auto& memory = memory_[static_cast<std::size_t>(i)];
    if (memory.size() < cpu_kernels::MemoryBytes(bytes)) {
      memory = cpu_kernels::Pages();  // frees the old memory before it allocates
      memory = cpu_kernels::Pages(cpu_kernels::MemoryBytes(bytes));
    }
    cpu_kernels::PlaceArrays(memory.begin(), bytes, streams, step_floats, workspace(i));
  });
}

double Row::BestRate() const {
  double best = 0;
  for (const auto& pass : passes) best = std::max(best, pass.per_second * work_per_iteration);
  return best;
}

int Row::Agreeing() const {
  int agreeing = 0;
  const double best = BestRate();
  for (const auto& pass : passes)
    if (pass.clean > 0 && pass.per_second * work_per_iteration >= (1 - kArithmeticTolerance) * best)
      agreeing += pass.agreeing;
  return agreeing;
}

std::optional<double> Row::Drift() const {
  std::optional<double> slowest, fastest;
  for (const auto& pass : passes) {
    if (pass.clean == 0) continue;
    slowest = std::min(slowest.value_or(pass.per_second), pass.per_second);
    fastest = std::max(fastest.value_or(pass.per_second), pass.per_second);
  }
  if (passes.size() < 2 || !fastest || *fastest <= 0) return std::nullopt;
  return 1 - *slowest / *fastest;
}

Ceiling Row::Finished(int threads, const RatePolicy& policy, double pass_tolerance) const {
  const auto merged = machine::MergePasses(passes, policy, pass_tolerance);
  auto ceiling = machine::CeilingFrom(merged, work_per_iteration, threads, how);
  ceiling.validation.result = result;
  ceiling.visits = {{.per_second = ceiling.per_second,
                     .clean = merged.clean,
                     .clock_hz = ceiling.clock_hz,
                     .per_cycle = ceiling.validation.per_cycle}};
  ceiling.validation.drift = Drift();
  if (passes.size() > 1) ceiling.how += fmt::format(" in {} passes", passes.size());
  if (reason) machine::AddUnboundedReason(ceiling, reason->text);
  return ceiling;
}

void TryStep(MeasureSession& session, const Step& step, double max_seconds) {
  const auto absent = [&](const std::string& reason) {
    session.machine.by_threads[step.threads].absent[step.row.value_or(step.text)] = reason;
  };
  try {
    step.run(max_seconds);
  } catch (const std::bad_alloc&) {
    absent("not enough memory");
  } catch (const std::exception& error) {
    absent(error.what());
  }
}

namespace {

Step MeasureStep(MeasureSession& session, int threads, const FlopsProbe& probe, Row& row) {
  return {fmt::format("{}, {} threads", probe.key, threads),
          [&session, &row, probe](double max_seconds) {
            auto& bench = *session.bench;
            if (row.passes.empty()) {
              auto check = cpu_kernels::ValidateFlopsKernel(probe, bench.workspace(0));
              if (check.passed)
                row.result = std::move(check.text);
              else
                row.reason = Reason{std::move(check.text)};
            }
            for (int i = 0; i < bench.threads(); ++i)
              cpu_kernels::FillOperands(probe, bench.workspace(i));
            row.passes.push_back(
                bench.Measure(probe, session.Policy(kArithmeticTolerance, max_seconds)));
          },
          threads, probe.key};
}

constexpr int kEnoughAtTheLimit = 2;  // min Row::Agreeing for ValidateAtTheLimit
constexpr double kMaxSeconds = 1;     // [s] longest time of a further pass of one row

constexpr double kWatchedSeconds = 10, kLastSeconds = 1;  // [s] of the run, of its measured end
constexpr double kSliceSeconds = 3e-3;
constexpr double kDifference = 0.03;  // [1] a smaller difference from the burst is noise

// Runs the kernel for 10 s. Returns the best rate [iteration/s] of a 3 ms slice in the last second.
double RateAfterTenSeconds(CpuBench& bench, cpu_kernels::Kernel kernel, double per_second) {
  const auto slice =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(per_second * kSliceSeconds));
  const double begin = cpu::WallSeconds();
  double best = 0;
  for (double now = begin; now < begin + kWatchedSeconds; now = cpu::WallSeconds()) {
    const auto time = bench.team().Time([&](int i) { kernel(bench.workspace(i), slice); });
    if (now >= begin + kWatchedSeconds - kLastSeconds)
      best = std::max(best, static_cast<double>(slice) / time.seconds);
  }
  return best;
}

// Returns the slowest core's clock [1/s] while `clock` continues a row's load; nullopt without it.
std::optional<double> ClockOf(CpuBench& bench, const std::optional<cpu_kernels::LoadClock>& clock) {
  if (!clock) return std::nullopt;
  std::vector<double> clocks(static_cast<std::size_t>(bench.threads()));
  bench.team().Run([&](int i) {
    clocks[static_cast<std::size_t>(i)] = cpu_kernels::MeasureLoadClock(*clock, bench.workspace(i));
  });
  return std::ranges::min(clocks);
}

void MeasureSustained(MeasureSession& session, const FlopsProbe& probe, int threads) {
  const auto& ceiling = session.machine.by_threads.at(threads).flops.at(probe.key);
  CpuBench bench(cpu::SpreadCpus(session.cpu, threads));
  for (int i = 0; i < threads; ++i) cpu_kernels::FillOperands(probe, bench.workspace(i));
  const double work = cpu_kernels::FlopsPerIteration(probe) * threads;
  const auto clock = bench.LoadClockOf(probe);
  const double rate = work * RateAfterTenSeconds(bench, probe.kernel, ceiling.per_second / work);
  AddSustainedRate(session.machine, threads, probe.key, rate, ClockOf(bench, clock));
}

// Returns the rows that are roofs of their pipes, fastest first, at most Effort::sustained.
std::vector<FlopsProbe> HottestPipes(const MeasureSession& session) {
  const auto& set = machine::AllThreads(session.machine);
  std::vector<FlopsProbe> hottest;
  for (const auto& probe : session.flops_probes)
    if (RoofOf(set, probe.key) != nullptr) hottest.push_back(probe);
  std::ranges::sort(hottest, [&](const auto& a, const auto& b) {
    return set.flops.at(a.key).per_second > set.flops.at(b.key).per_second;
  });
  hottest.resize(std::min(hottest.size(), static_cast<std::size_t>(session.effort.sustained)));
  return hottest;
}

}  // namespace

void AddFlopsSteps(MeasureSession& session, int threads, int pass) {
  const auto& probes = session.flops_probes;
  const auto candidates = cpu_kernels::RoofCandidates(probes);
  // Rows that cannot become a roof are measured only in the first and the last pass: their drift
  // shows whether the machine changed.
  const bool between = pass > 0 && pass < session.effort.passes - 1;
  for (const auto& probe : probes) {
    const bool candidate = candidates.contains(probe.key);
    if (!session.Wants(threads, probe.key) ||
        (!candidate && (session.effort.roofs_only || between)))
      continue;
    auto& row = session.rows[threads].flops[probe.key];
    row.how = cpu_kernels::How(probe);
    row.work_per_iteration = cpu_kernels::FlopsPerIteration(probe) * threads;
    session.steps.push_back(MeasureStep(session, threads, probe, row));
  }
}

Ceiling FinishedFlops(const Row& row, const FlopsProbe& probe, int threads,
                      const RatePolicy& policy, double pass_tolerance,
                      const cpu_kernels::CoreRates& core) {
  auto ceiling = row.Finished(threads, policy, pass_tolerance);
  cpu_kernels::JudgePerCycle(probe, ceiling, core);
  if (row.Agreeing() >= kEnoughAtTheLimit) cpu_kernels::ValidateAtTheLimit(probe, ceiling, core);
  return ceiling;
}

void FinishFlops(MeasureSession& session) {
  const auto policy = session.effort.Policy(kArithmeticTolerance);
  const auto& probes = session.flops_probes;
  const auto core = cpu_kernels::RatesOf(session.cpu);
  const auto finish = [&](double pass_tolerance, const auto& wanted) {
    for (const auto& [threads, rows] : session.rows)
      for (const auto& probe : probes) {
        const auto* const row = FindValue(rows.flops, probe.key);
        if (row == nullptr || row->passes.empty() || !wanted(probe, threads)) continue;
        session.machine.by_threads[threads].absent.erase(probe.key);
        session.machine.by_threads[threads].flops[probe.key] =
            FinishedFlops(*row, probe, threads, policy, pass_tolerance, core);
      }
  };
  finish(1, [](const FlopsProbe&, int) { return true; });
  const auto judged = session.machine.by_threads;
  finish(kPassTolerance, [&](const FlopsProbe& probe, int threads) {
    return !cpu_kernels::IsConfirmedPerCycle(probe, threads, judged, core);
  });
}

bool NeedsAnotherPass(const machine::CeilingSet& set, const std::string& row) {
  const auto* roof = RoofOf(set, row);
  if (roof == nullptr || machine::FindRow(set, row)->unbounded)
    return false;  // another pass would fail too
  // CompareThreadCounts and CompareRidges may mark a level's roof without marking its row.
  return !(machine::FindRow(set, row)->IsValidated() && roof->IsValidated());
}

bool RemeasureNotValidated(MeasureSession& session) {
  const double end = cpu::WallSeconds() + session.effort.again_seconds;
  std::set<std::pair<int, std::string>> done;
  for (const auto& step : session.steps) {
    if (cpu::WallSeconds() >= end) break;
    if (!step.row || done.contains({step.threads, *step.row}) ||
        !NeedsAnotherPass(session.machine.by_threads.at(step.threads), *step.row))
      continue;
    // The step creates new threads if session.bench is null.
    if (session.bench && session.bench->threads() != step.threads) session.bench.reset();
    TryStep(session, step, kMaxSeconds);
    done.emplace(step.threads, *step.row);
  }
  return !done.empty();
}

void AddSustainedRate(machine::Machine& machine, int threads, const std::string& row,
                      double per_second, std::optional<double> clock_hz) {
  auto& set = machine.by_threads.at(threads);
  auto& ceiling = set.flops.at(row);
  const double ratio = per_second / ceiling.per_second;
  set.sustained[row] =
      fmt::format("after {:.0f} s without a pause {:.3f} of the burst, with {} threads",
                  kWatchedSeconds, ratio, threads);
  if (std::abs(ratio - 1) <= kDifference) return;
  for (auto* each : {RoofOf(set, row), &ceiling}) {
    if (each == nullptr) continue;
    if (ratio > 1) {
      each->per_second = per_second;
      each->ci95.reset();
      continue;
    }
    each->sustained_per_second = per_second;
    each->sustained_clock_hz = clock_hz;
  }
}

void AddSustainedSteps(MeasureSession& session) {
  const int threads = session.machine.by_threads.rbegin()->first;
  for (const auto& probe : HottestPipes(session))
    session.last_steps.push_back({fmt::format("{} for 10 s, {} threads", probe.key, threads),
                                  [&session, probe, threads](double) {
                                    session.bench.reset();
                                    MeasureSustained(session, probe, threads);
                                  },
                                  threads});
}

}  // namespace dlroof::cpu_ceilings
