#include <fmt/format.h>

#include <utility>

#include "ceilings/cpu/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/cpu_kernels/flops_proof.h"
#include "ceilings/machine/choose_roof.h"

namespace dlroof::cpu_ceilings {
namespace {

// Finer rows are there to be compared with; the first and the last pass show whether the machine
// changed in between.
bool MeasuredIn(int pass, int passes, bool candidate) {
  return candidate || pass == 0 || pass == passes - 1;
}

Step MeasureStep(MeasureSession& session, int threads, const cpu_kernels::FlopsProbe& probe, Row& row) {
  return {fmt::format("{}, {} threads", probe.key, threads),
          [&session, &row, probe](double max_seconds) {
            auto& bench = *session.bench;
            if (row.passes.empty()) {
              auto check = cpu_kernels::CheckResult(probe, bench.Of(0));
              row.result = std::move(check.result);
              row.doubt = std::move(check.doubt);
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
    if (const auto plain = cpu_kernels::PlainPipe(row.first); plain != row.first) pipes[plain].push_back(&row);
  for (const auto& [plain, rows] : pipes) {
    const auto* best = machine::ChooseRoof(rows);
    auto ceiling = best->second;
    ceiling.how = fmt::format("{}, the best of {} rows: {}", best->first, rows.size(), ceiling.how);
    flops[plain] = ceiling;
  }
}

}  // namespace dlroof::cpu_ceilings
