#include "ceilings/cpu_ceilings/measure_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "ceilings/machine/ceiling.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cpu_ceilings {
namespace {

std::map<std::string, LaunchProbe>& Probes() {
  static std::map<std::string, LaunchProbe> probes;
  return probes;
}

LaunchCost MeasureTimer(int, const machine::RatePolicy& policy) {
  auto cost = MeasureCalls(
      [](std::int64_t calls) {
        for (; calls > 0; --calls) cpu::WallSeconds();
      },
      policy);
  cost.how = "one reading of the steady clock by one thread; " + cost.how;
  return cost;
}

[[maybe_unused]] const bool timer_registered = RegisterOverheadProbe("timer", MeasureTimer);

constexpr const char* kLaunch = "launch";

// Measures an overhead. Writes a clean cost to `set`, otherwise the reason to `absent`.
void MeasureOne(machine::CeilingSet& set, const std::string& name, int threads,
                const machine::RatePolicy& policy) {
  const auto probe = OverheadProbes().find(name);
  if (probe == OverheadProbes().end()) {
    set.absent[name] = "this build has no library whose calls could be timed";
    return;
  }
  try {
    const auto cost = probe->second(threads, policy);
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

LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls,
                        const machine::RatePolicy& policy) {
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

bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe) {
  Probes()[name] = std::move(probe);
  return true;
}

const std::map<std::string, LaunchProbe>& OverheadProbes() { return Probes(); }

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

machine::RatePolicy Effort::Policy(double tolerance) const {
  machine::RatePolicy policy{.repetition_seconds = repetition_seconds,
                             .repetitions = repetitions,
                             .doubled = doubled,
                             .tolerance = tolerance};
  policy.sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  policy.now = cpu::WallSeconds;
  return policy;
}

machine::RatePolicy MeasureSession::Policy(double tolerance, double max_seconds) const {
  auto policy = effort.Policy(tolerance);
  policy.max_seconds = max_seconds;
  return policy;
}

WorkingSets MeasureSession::SetsOf(const std::vector<int>& cpus) const {
  return ChooseWorkingSets(cpu.topology, cpus, cpu::AvailableMemoryBytes(),
                           caches_found ? kUnknownCacheDramBytes : 0);
}

CpuBench::CpuBench(const std::vector<int>& cpus)
    : team_(cpus), workspaces_(cpus.size()), memory_(cpus.size()) {
  for (auto& workspace : workspaces_) workspace = std::make_unique<cpu_kernels::Workspace>();
}

machine::Rate CpuBench::Measure(cpu_kernels::Kernel kernel, const machine::RatePolicy& policy) {
  return machine::MeasureRate(
      [&](std::int64_t iterations) {
        return team_.TimeWithCores([&](int i) { kernel(workspace(i), iterations); });
      },
      policy);
}

std::optional<cpu_kernels::LoadClock> CpuBench::LoadClockOf(const cpu_kernels::FlopsProbe& probe) {
  return cpu_kernels::FindLoadClock(
      probe, [&](cpu_kernels::Kernel kernel, std::int64_t iterations) {
        return team_.Time([&](int i) { kernel(workspace(i), iterations); }).seconds;
      });
}

machine::Rate CpuBench::Measure(const cpu_kernels::FlopsProbe& probe,
                                const machine::RatePolicy& policy) {
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

void CpuBench::AllocateArrays(double bytes, int streams, std::size_t step_floats,
                              cpu_kernels::PageSize page_size) {
  team_.Run([&](int i) {
    auto& memory = memory_[static_cast<std::size_t>(i)];
    if (memory.size() < cpu_kernels::MemoryBytes(bytes) || memory.page_size() != page_size) {
      memory = cpu_kernels::Pages();  // frees the old memory before it allocates
      memory = cpu_kernels::Pages(cpu_kernels::MemoryBytes(bytes), page_size);
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

machine::Ceiling Row::Finished(int threads, const machine::RatePolicy& policy,
                               double pass_tolerance) const {
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

}  // namespace dlroof::cpu_ceilings
