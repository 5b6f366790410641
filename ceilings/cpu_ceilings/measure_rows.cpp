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

// Finer rows are there to be compared with; the first and the last pass show whether the machine
// changed in between.
bool MeasuredIn(int pass, int passes, bool candidate) {
  return candidate || pass == 0 || pass == passes - 1;
}

Step MeasureStep(MeasureSession& session, int threads, const cpu_kernels::FlopsProbe& probe,
                 Row& row) {
  return {fmt::format("{}, {} threads", probe.key, threads),
          [&session, &row, probe](double max_seconds) {
            auto& bench = *session.bench;
            if (row.passes.empty()) {
              auto check = cpu_kernels::CheckResult(probe, bench.Of(0));
              row.result = std::move(check.result);
              row.reason = std::move(check.reason);
            }
            for (int i = 0; i < bench.threads(); ++i) cpu_kernels::FillOperands(probe, bench.Of(i));
            row.passes.push_back(
                bench.Measure(probe.kernel, session.Policy(kArithmeticTolerance, max_seconds)));
          },
          threads, probe.key};
}

}  // namespace

void AddFlopsSteps(MeasureSession& session, int threads, int pass) {
  const auto& probes = session.flops_probes;
  const auto candidates = cpu_kernels::RoofCandidates(probes);
  for (const auto& probe : probes) {
    if (!MeasuredIn(pass, session.effort.passes, candidates.contains(probe.key))) continue;
    auto& row = session.rows[threads].flops[probe.key];
    row.how = cpu_kernels::How(probe);
    row.work_per_iteration = cpu_kernels::FlopsPerIteration(probe) * threads;
    session.steps.push_back(MeasureStep(session, threads, probe, row));
  }
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
        auto ceiling = row->second.Finished(threads, policy, pass_tolerance);
        cpu_kernels::JudgePerCycle(probe, ceiling, core);
        session.machine.by_threads[threads].flops[probe.key] = std::move(ceiling);
      }
  };
  finish(1, [](const cpu_kernels::FlopsProbe&, int) { return true; });
  const auto alone = session.machine.by_threads;
  finish(kPassTolerance, [&](const cpu_kernels::FlopsProbe& probe, int threads) {
    return !cpu_kernels::MeetsItsOwnValue(probe, threads, alone, core);
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

// The rows that roofs rest on, measured once more where they are not validated, and for 10 s.

namespace {

constexpr double kMostSeconds = 1;  // [s] of a row; as soon as it validates itself it is done

// Null: there is no such row.
const machine::Ceiling* FindRow(const machine::CeilingSet& set, const std::string& row) {
  for (const auto* rows : {&set.flops, &set.mixes})
    if (const auto found = rows->find(row); found != rows->end()) return &found->second;
  return nullptr;
}

// For sets that may be changed, and for others.
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

constexpr double kWatchedSeconds = 10, kLastSeconds = 1;  // watched, and judged
constexpr double kSliceSeconds = 3e-3;
constexpr double kDifference = 0.03;  // [1] less is said, but no roof of its own

// [iteration/s] of the best slice in the last second: a interference only slows.
double RateAfterTenSeconds(CpuBench& bench, cpu_kernels::Kernel kernel, double per_second) {
  const auto slice =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(per_second * kSliceSeconds));
  const double begin = cpu::WallSeconds();
  double best = 0;
  for (double now = begin; now < begin + kWatchedSeconds; now = cpu::WallSeconds()) {
    const auto time = bench.team().Time([&](int i) { kernel(bench.Of(i), slice); });
    if (now >= begin + kWatchedSeconds - kLastSeconds)
      best = std::max(best, static_cast<double>(slice) / time.seconds);
  }
  return best;
}

void Watch(MeasureSession& session, const RunningRow& running, int threads) {
  const auto& set = session.machine.by_threads.at(threads);
  const auto pipe = set.flops.find(running.row);
  const auto& ceiling = pipe != set.flops.end() ? pipe->second : set.mixes.at(running.row);
  CpuBench bench(cpu::SpreadCpus(session.cpu, threads));
  running.prepare(bench);
  const double work = running.work_per_iteration;
  KeepSustained(session.machine, threads, running.row,
                work * RateAfterTenSeconds(bench, running.kernel, ceiling.per_second / work));
}

RunningRow RunningPipe(const cpu_kernels::FlopsProbe& probe, int threads) {
  return {probe.key, cpu_kernels::FlopsPerIteration(probe) * threads,
          [probe](CpuBench& bench) {
            for (int i = 0; i < bench.threads(); ++i) cpu_kernels::FillOperands(probe, bench.Of(i));
          },
          probe.kernel};
}

// The row of each pipe that its roof rests on, the fastest first, as many as the effort has time
// for.
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

machine::Ceiling* RoofOf(machine::CeilingSet& set, const std::string& row) {
  return FindRoof(set, row);
}
const machine::Ceiling* RoofOf(const machine::CeilingSet& set, const std::string& row) {
  return FindRoof(set, row);
}

bool DecidesAnNotValidatedRoof(const machine::CeilingSet& set, const std::string& row) {
  const auto* roof = RoofOf(set, row);
  if (roof != nullptr && FindRow(set, row)->unbounded) return false;  // it would be so again
  // Larger teams and measured knees may doubt the roof alone.
  return roof != nullptr && !(FindRow(set, row)->validated && roof->validated);
}

bool MeasureNotValidatedAgain(MeasureSession& session) {
  const double end = cpu::WallSeconds() + session.effort.again_seconds;
  std::set<std::pair<int, std::string>> done;
  for (const auto& step : session.steps) {
    if (cpu::WallSeconds() >= end) break;
    if (step.row.empty() || done.contains({step.threads, step.row}) ||
        !DecidesAnNotValidatedRoof(session.machine.by_threads.at(step.threads), step.row))
      continue;
    // A step makes threads of its own where it finds none.
    if (session.bench && session.bench->threads() != step.threads) session.bench.reset();
    TryStep(session, step, kMostSeconds);
    done.emplace(step.threads, step.row);
  }
  return !done.empty();
}

void KeepSustained(machine::Machine& machine, int threads, const std::string& row,
                   double per_second) {
  auto& set = machine.by_threads.at(threads);
  auto& rows = set.flops.contains(row) ? set.flops : set.mixes;
  auto& ceiling = rows.at(row);
  const double ratio = per_second / ceiling.per_second;
  set.sustained[row] = fmt::format("after {:.0f} s on end {:.3f} of the burst, with {} threads",
                                   kWatchedSeconds, ratio, threads);
  if (std::abs(ratio - 1) <= kDifference) return;
  ceiling.sustained_per_second = per_second;
  if (auto* roof = RoofOf(set, row)) roof->sustained_per_second = per_second;
}

void AddSustainedSteps(MeasureSession& session) {
  const int threads = session.machine.by_threads.rbegin()->first;
  const auto add = [&](const RunningRow& running) {
    session.last_steps.push_back({fmt::format("{} for 10 s, {} threads", running.row, threads),
                                  [&session, running, threads](double) {
                                    session.bench.reset();
                                    Watch(session, running, threads);
                                  },
                                  threads});
  };
  for (const auto& probe : HottestPipes(session)) add(RunningPipe(probe, threads));
  if (const auto dram = session.effort.sustained_dram ? DramRoofRow(session, threads)
                                                      : std::optional<RunningRow>())
    add(*dram);
}

}  // namespace dlroof::cpu_ceilings
