#include "ceilings/cache/live_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <thread>

#include "ceilings/cpu/measure_steps.h"
#include "ceilings/cpu/working_sets.h"
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"
#include "counters/cpu/team_look.h"

namespace dlroof::machine_file {
namespace {

constexpr int kAttempts = 3;
constexpr double kPauseSeconds = 0.1;
// A few repetitions are enough: only the best counts.
constexpr cpu_ceilings::Effort kSpotEffort = {"spot check", 0.1, 3e-3, 12, 2, 1, 0, 0};

// Returns false where another program uses the first thread's core.
bool HasItsCore(cpu_ceilings::CpuBench& bench, const machine::Machine& machine) {
  if (!machine.issue_rate) return true;
  const auto rate = bench.IssueRate();
  return !rate || *rate >= cpu::kLeastCoreShare * *machine.issue_rate;
}

// Up to kAttempts times, on all threads of `bench`.
void MeasureAgain(SpotCheck& check, double work_per_iteration, cpu_kernels::Kernel kernel,
                  const machine::Machine& machine, cpu_ceilings::CpuBench& bench) {
  auto policy = kSpotEffort.Policy(check.tolerance);
  policy.max_seconds = kSpotEffort.budget_seconds;
  for (int i = 0; i < kAttempts; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(kPauseSeconds));
    const bool before = HasItsCore(bench, machine);
    const auto rate = bench.Measure(kernel, policy);
    check.clean = check.clean || (rate.clean > 0 && before && HasItsCore(bench, machine));
    check.per_second = std::max(check.per_second, rate.per_second * work_per_iteration);
    if (Judge(check) == SpotVerdict::kAgrees) return;
  }
}

// The fp32 row with the highest stored rate of those that this program still has.
std::optional<cpu_kernels::FlopsProbe> FastestFp32(const cpu::Cpu& cpu, const machine::CeilingSet& set) {
  std::optional<cpu_kernels::FlopsProbe> fastest;
  double highest = 0;
  for (const auto& probe : cpu_kernels::FlopsProbesFor(cpu.features)) {
    const auto stored = set.flops.find(probe.key);
    if (!probe.key.starts_with("fp32.vector.") || stored == set.flops.end() ||
        stored->second.per_second <= highest)
      continue;
    highest = stored->second.per_second;
    fastest = probe;
  }
  return fastest;
}

}  // namespace

SpotVerdict Judge(const SpotCheck& check) {
  const auto& stored = check.stored;
  if (check.per_second > stored.per_second * (1 + check.tolerance)) return SpotVerdict::kFaster;
  const double lower =
      stored.ci95 ? std::min(stored.ci95->first, stored.per_second) : stored.per_second;
  if (check.per_second >= lower * (1 - std::max(check.tolerance, check.drift)))
    return SpotVerdict::kAgrees;
  return check.clean ? SpotVerdict::kSlower : SpotVerdict::kUnknown;
}

double AllowedDrift(const machine::Ceiling& stored) {
  const auto& proof = stored.proof;
  return std::min(1.0 / 3, std::max(proof.drift.value_or(0), proof.spread.value_or(0)));
}

std::string Sentence(const SpotCheck& check) {
  constexpr const char* kVerdicts[] = {"agrees", "faster, so the stored ceiling is too low",
                                       "slower: something holds the machine back",
                                       "not to be told, others held the CPUs or their cores"};
  return fmt::format("{} now {:.4g} G/s, stored {:.4g} G/s: {}", check.row, check.per_second / 1e9,
                     check.stored.per_second / 1e9,
                     kVerdicts[static_cast<std::size_t>(Judge(check))]);
}

std::vector<SpotCheck> SpotCheckCpu(const cpu::Cpu& cpu, const machine::Machine& machine) {
  std::vector<SpotCheck> checks;
  // The most threads that this process may have: it can be allowed fewer CPUs than when they were
  // measured.
  const auto more = machine.by_threads.upper_bound(static_cast<int>(cpu.allowed.size()));
  if (more == machine.by_threads.begin()) return checks;
  const int threads = std::prev(more)->first;
  const machine::CeilingSet& set = std::prev(more)->second;
  const auto cpus = cpu::SpreadCpus(cpu, threads);
  cpu_ceilings::CpuBench bench(cpus);
  if (const auto probe = FastestFp32(cpu, set)) {
    SpotCheck check{.row = fmt::format("{} with {} threads", probe->key, threads),
                    .stored = set.flops.at(probe->key),
                    .tolerance = cpu_ceilings::kArithmeticTolerance};
    for (int i = 0; i < threads; ++i) cpu_kernels::FillOperands(*probe, bench.Of(i));
    MeasureAgain(check, cpu_kernels::FlopsPerIteration(*probe) * threads, probe->kernel, machine, bench);
    checks.push_back(check);
  }
  const auto& isa = *cpu_kernels::BytesIsasFor(cpu.features).front();
  const auto row = fmt::format("dram.load.{}", isa.name);
  const auto sets = cpu_ceilings::ChooseWorkingSets(cpu.topology, cpus, cpu::AvailableMemoryBytes());
  if (const auto stored = set.mixes.find(row);
      stored != set.mixes.end() && sets.sets.contains(Level::kDram)) {
    SpotCheck check{.row = fmt::format("{} with {} threads", row, threads),
                    .stored = stored->second,
                    .tolerance = cpu_ceilings::kPassTolerance,
                    .drift = AllowedDrift(stored->second)};
    bench.AllocateArrays(sets.sets.at(Level::kDram).front().bytes, 1, isa.step_floats);
    MeasureAgain(check, static_cast<double>(isa.step_floats * sizeof(float)) * threads, isa.load,
                 machine, bench);
    checks.push_back(check);
  }
  return checks;
}

}  // namespace dlroof::machine_file
