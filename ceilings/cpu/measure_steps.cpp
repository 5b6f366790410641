#include "ceilings/cpu/measure_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "ceilings/machine/ceiling.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/issue_rate.h"

namespace dlroof::cpu_ceilings {

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
        return team_.TimeWithCores([&](int i) { kernel(Of(i), iterations); });
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
      memory = cpu_kernels::Pages();  // first give back, then take more
      memory = cpu_kernels::Pages(cpu_kernels::MemoryBytes(bytes), page_size);
    }
    cpu_kernels::PlaceArrays(memory.begin(), bytes, streams, step_floats, Of(i));
  });
}

double Row::BestRate() const {
  double best = 0;
  for (const auto& pass : passes) best = std::max(best, pass.per_second * work_per_iteration);
  return best;
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

machine::Ceiling Row::Finished(int threads, const machine::RatePolicy& policy, double pass_tolerance) const {
  auto ceiling =
      machine::CeilingFrom(machine::MergePasses(passes, policy, pass_tolerance), work_per_iteration, threads, how);
  ceiling.proof.result = result;
  ceiling.proof.drift = Drift();
  if (passes.size() > 1) ceiling.how += fmt::format(" in {} passes", passes.size());
  if (!doubt.empty()) machine::DoubtUnbounded(ceiling, doubt);
  return ceiling;
}

void TryStep(MeasureSession& session, const Step& step, double max_seconds) {
  const auto absent = [&](const std::string& why) {
    session.machine.by_threads[step.threads].absent[step.row.empty() ? step.text : step.row] = why;
  };
  try {
    step.run(max_seconds);
  } catch (const std::bad_alloc&) {
    absent("there is not enough memory for it");
  } catch (const std::exception& error) {
    absent(error.what());
  }
}

}  // namespace dlroof::cpu_ceilings
