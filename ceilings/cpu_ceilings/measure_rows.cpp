// The arithmetic rows of a CPU, further passes of roofs that are not validated, and sustained
// rates.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/cpu_kernels/flops_validation.h"
#include "ceilings/machine/ceiling.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cpu_ceilings {
namespace {

// Returns true if pass `pass` measures the row. Rows that cannot become a roof are measured only in
// the first and the last pass, which show whether the machine changed in between.
bool MeasuredIn(int pass, int passes, bool candidate) {
  return candidate || pass == 0 || pass == passes - 1;
}

Step MeasureStep(MeasureSession& session, int threads, const cpu_kernels::FlopsProbe& probe,
                 Row& row) {
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

// ---- another pass, and sustained rates ----

constexpr int kEnoughAtTheLimit = 2;  // clean repetitions near the best
constexpr double kMaxSeconds = 1;     // [s] longest time of a further pass of one row

// Returns the ceiling of a row of CeilingSet::flops or ::mixes, or null.
const machine::Ceiling* FindRow(const machine::CeilingSet& set, const std::string& row) {
  for (const auto* rows : {&set.flops, &set.mixes})
    if (const auto found = rows->find(row); found != rows->end()) return &found->second;
  return nullptr;
}

// Implementation of RoofOf for const and non-const sets.
template <class Set>
auto FindRoof(Set& set, const std::string& row) -> decltype(&set.flops.begin()->second) {
  const auto* ceiling = FindRow(set, row);
  if (ceiling == nullptr) return nullptr;
  const auto same = [&](auto& roof) {
    return roof.per_second == ceiling->per_second ? &roof : nullptr;
  };
  const auto plain = set.flops.find(cpu_kernels::PlainPipe(row));
  if (plain != set.flops.end()) return same(plain->second);
  const auto level = LevelFromKey(row.substr(0, row.find('.')));
  const auto roof = level ? set.bytes.find(*level) : set.bytes.end();
  return roof != set.bytes.end() ? same(roof->second) : nullptr;
}

constexpr double kWatchedSeconds = 10, kLastSeconds = 1;  // the last second is measured
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

// Returns the clock [1/s] of the slowest core under the load of the row that has just run.
std::optional<double> ClockOf(CpuBench& bench, const std::optional<cpu_kernels::LoadClock>& clock) {
  if (!clock) return std::nullopt;
  std::vector<double> clocks(static_cast<std::size_t>(bench.threads()));
  bench.team().Run([&](int i) {
    clocks[static_cast<std::size_t>(i)] = cpu_kernels::MeasureLoadClock(*clock, bench.workspace(i));
  });
  return std::ranges::min(clocks);
}

void MeasureSustained(MeasureSession& session, const RunningRow& running, int threads) {
  const auto& set = session.machine.by_threads.at(threads);
  const auto pipe = set.flops.find(running.row);
  const auto& ceiling = pipe != set.flops.end() ? pipe->second : set.mixes.at(running.row);
  CpuBench bench(cpu::SpreadCpus(session.cpu, threads));
  running.prepare(bench);
  const double work = running.work_per_iteration;
  const auto clock = running.probe ? bench.LoadClockOf(*running.probe) : std::nullopt;
  const double rate = work * RateAfterTenSeconds(bench, running.kernel, ceiling.per_second / work);
  AddSustainedRate(session.machine, threads, running.row, rate, ClockOf(bench, clock));
}

RunningRow RunningPipe(const cpu_kernels::FlopsProbe& probe, int threads) {
  return {probe.key, cpu_kernels::FlopsPerIteration(probe) * threads,
          [probe](CpuBench& bench) {
            for (int i = 0; i < bench.threads(); ++i)
              cpu_kernels::FillOperands(probe, bench.workspace(i));
          },
          probe.kernel, probe};
}

// Returns the rows that are roofs of their pipes, fastest first, at most Effort::sustained.
std::vector<cpu_kernels::FlopsProbe> HottestPipes(const MeasureSession& session) {
  const auto& set = machine::AllThreads(session.machine);
  std::vector<cpu_kernels::FlopsProbe> hottest;
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
  for (const auto& probe : probes) {
    const bool candidate = candidates.contains(probe.key);
    if (!session.Wants(threads, probe.key) || (session.effort.roofs_only && !candidate) ||
        !MeasuredIn(pass, session.effort.passes, candidate))
      continue;
    auto& row = session.rows[threads].flops[probe.key];
    row.how = cpu_kernels::How(probe);
    row.work_per_iteration = cpu_kernels::FlopsPerIteration(probe) * threads;
    session.steps.push_back(MeasureStep(session, threads, probe, row));
  }
}

machine::Ceiling FinishedFlops(const Row& row, const cpu_kernels::FlopsProbe& probe, int threads,
                               const machine::RatePolicy& policy, double pass_tolerance,
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
        const auto row = rows.flops.find(probe.key);
        if (row == rows.flops.end() || row->second.passes.empty() || !wanted(probe, threads))
          continue;
        session.machine.by_threads[threads].absent.erase(probe.key);
        session.machine.by_threads[threads].flops[probe.key] =
            FinishedFlops(row->second, probe, threads, policy, pass_tolerance, core);
      }
  };
  finish(1, [](const cpu_kernels::FlopsProbe&, int) { return true; });
  const auto judged = session.machine.by_threads;
  finish(kPassTolerance, [&](const cpu_kernels::FlopsProbe& probe, int threads) {
    return !cpu_kernels::IsConfirmedPerCycle(probe, threads, judged, core);
  });
}

void AddPlainPipes(std::map<std::string, machine::Ceiling>& flops) {
  std::map<std::string, std::vector<const machine::CeilingRow*>> pipes;
  for (const auto& row : flops)
    if (const auto plain = cpu_kernels::PlainPipe(row.first); plain != row.first)
      pipes[plain].push_back(&row);
  for (const auto& [plain, rows] : pipes) {
    const auto* best = machine::ChooseRoof(rows);
    auto ceiling = best->second;
    ceiling.how = fmt::format("{}, the best of {} rows: {}", best->first, rows.size(), ceiling.how);
    flops[plain] = ceiling;
  }
}

machine::Ceiling* RoofOf(machine::CeilingSet& set, const std::string& row) {
  return FindRoof(set, row);
}
const machine::Ceiling* RoofOf(const machine::CeilingSet& set, const std::string& row) {
  return FindRoof(set, row);
}

bool NeedsAnotherPass(const machine::CeilingSet& set, const std::string& row) {
  const auto* roof = RoofOf(set, row);
  if (roof == nullptr || FindRow(set, row)->unbounded) return false;  // it would fail again
  // CompareThreadCounts and CompareRidges may mark a level's roof without marking its row.
  return !(FindRow(set, row)->IsValidated() && roof->IsValidated());
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
  auto& rows = set.flops.contains(row) ? set.flops : set.mixes;
  auto& ceiling = rows.at(row);
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
  const auto add = [&](const RunningRow& running) {
    session.last_steps.push_back({fmt::format("{} for 10 s, {} threads", running.row, threads),
                                  [&session, running, threads](double) {
                                    session.bench.reset();
                                    MeasureSustained(session, running, threads);
                                  },
                                  threads});
  };
  for (const auto& probe : HottestPipes(session)) add(RunningPipe(probe, threads));
  if (const auto dram = session.effort.sustained_dram ? DramRoofRow(session, threads)
                                                      : std::optional<RunningRow>())
    add(*dram);
}

}  // namespace dlroof::cpu_ceilings
