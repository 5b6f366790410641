// Arithmetic: a row per pipe and instruction set.
#include <fmt/format.h>

#include <utility>

#include "ceilings/cpu_flops_probes.h"
#include "ceilings/measure.h"
#include "ceilings/measure_session.h"

namespace dlroof {
namespace {

Rate MeasureFlops(Bench& bench, const FlopsProbe& probe, const RatePolicy& policy) {
  for (int i = 0; i < bench.threads(); ++i) FillOperands(probe.operands, bench.Of(i));
  return bench.Measure(probe.kernel, policy);
}

}  // namespace

void AddFlopsSteps(MeasureSession& session, int threads, int /*pass*/) {
  for (const auto& probe : FlopsProbesFor(session.cpu.features)) {
    auto& row = session.rows[threads].flops[probe.key];
    row.how = probe.how;
    row.work_per_iteration = probe.flops_per_iteration * threads;
    session.steps.push_back({fmt::format("{}, {} threads", probe.key, threads),
                             [&session, &row, probe](double max_seconds) {
                               row.passes.push_back(
                                   MeasureFlops(*session.bench, probe,
                                                session.Policy(kArithmeticTolerance, max_seconds)));
                             }});
  }
}

void FinishFlops(MeasureSession& session) {
  const auto policy = session.effort.Policy(kArithmeticTolerance);
  for (const auto& [threads, rows] : session.rows)
    for (const auto& [key, row] : rows.flops)
      session.machine.by_threads[threads].flops[key] = row.Finished(threads, policy);
}

void AddPlainPipes(std::map<std::string, Ceiling>& flops) {
  std::map<std::string, std::pair<std::string, int>> best;  // plain key -> best row, rows
  for (const auto& [key, ceiling] : flops) {
    const auto unit = key.find('.');
    const auto finer = key.find('.', unit + 1);
    if (unit == std::string::npos || finer == std::string::npos) continue;
    auto& [row, rows] = best[key.substr(0, finer)];
    ++rows;
    if (row.empty() || ceiling.per_second > flops.at(row).per_second) row = key;
  }
  for (const auto& [plain, choice] : best) {
    auto ceiling = flops.at(choice.first);
    ceiling.how =
        fmt::format("{}, the best of {} rows: {}", choice.first, choice.second, ceiling.how);
    flops[plain] = ceiling;
  }
}

}  // namespace dlroof
