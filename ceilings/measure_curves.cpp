#include "ceilings/measure_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "ceilings/ridge.h"
#include "ceilings/sweep.h"
#include "ceilings/working_sets.h"

namespace dlroof {
namespace {

constexpr std::size_t kPointsPerStep = 4;

// A point of a curve is a picture, not a roof: few repetitions.
RatePolicy PointPolicy(const MeasureSession& session, double max_seconds) {
  auto policy = session.effort.Policy(kMemoryTolerance);
  policy.repetition_seconds = std::min(policy.repetition_seconds, 2e-3);
  policy.repetitions = 4;
  policy.doubled = 1;
  policy.max_seconds = std::min(max_seconds, 20 * policy.repetition_seconds);
  return policy;
}

void SweepOver(MeasureSession& session, const std::vector<double>& sizes, const BytesIsa& isa,
               int threads, double max_seconds) {
  const auto policy = PointPolicy(session, max_seconds / static_cast<double>(sizes.size()));
  auto& bench = *session.bench;
  for (const double bytes : sizes) {
    bench.Lay(bytes, 1, isa.step_floats);
    const auto rate = bench.Measure(isa.load, policy);
    session.machine.by_threads[threads].sweep.push_back(
        {static_cast<double>(bench.Of(0).floats * sizeof(float)),
         rate.per_second * static_cast<double>(isa.step_floats * sizeof(float)) * threads});
  }
}

void AddSweep(MeasureSession& session, const BytesIsa& isa, int threads) {
  const auto sizes = SweepSizes(session.sets.at(threads).largest_bytes);
  for (std::size_t first = 0; first < sizes.size(); first += kPointsPerStep) {
    const auto last = std::min(sizes.size(), first + kPointsPerStep);
    const std::vector<double> some(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                                   sizes.begin() + static_cast<std::ptrdiff_t>(last));
    session.steps.push_back({fmt::format("sweep to {}, {} threads", SizeText(some.back()), threads),
                             [&session, some, &isa, threads](double max_seconds) {
                               SweepOver(session, some, isa, threads, max_seconds);
                             }});
  }
}

double BestRate(const Row& row) {
  double best = 0;
  for (const auto& pass : row.passes)
    best = std::max(best, pass.per_second * row.work_per_iteration);
  return best;
}

// [flop/byte] where the roofs measured so far meet; 1 where one of them is not known.
double Knee(const MeasureSession& session, int threads, Level level) {
  const auto& rows = session.rows.at(threads);
  double compute = 0, bandwidth = 0;
  for (const auto& [key, row] : rows.flops)
    if (key.starts_with(kRidgePipe)) compute = std::max(compute, BestRate(row));
  for (const auto& [name, row] : rows.bytes.at(level))
    bandwidth = std::max(bandwidth, BestRate(row));
  return compute > 0 && bandwidth > 0 ? compute / bandwidth : 1;
}

void MeasureRidge(MeasureSession& session, Level level, const BytesIsa& isa, int threads,
                  double max_seconds) {
  const auto rows = RidgeRowsAround(isa.ridge, Knee(session, threads, level));
  const auto policy = PointPolicy(session, max_seconds / static_cast<double>(rows.size()));
  auto& bench = *session.bench;
  bench.Lay(session.sets.at(threads).sets.at(level).front().bytes, 1, isa.step_floats);
  // Sums begin with small numbers, whatever an arithmetic kernel left behind.
  for (int i = 0; i < threads; ++i) bench.Of(i).accumulators.fill(std::byte{0x3f});
  for (const auto& row : rows) {
    const double flops_per_step =
        row.Intensity() * static_cast<double>(isa.step_floats * sizeof(float)) * threads;
    session.machine.by_threads[threads].ridges[level].push_back(
        {row.Intensity(), bench.Measure(row.kernel, policy).per_second * flops_per_step});
  }
}

}  // namespace

void AddCurveSteps(MeasureSession& session, int threads, int pass) {
  const auto& isa = *BytesIsasFor(session.cpu.features).front();
  if (pass == 0) AddSweep(session, isa, threads);
  if (pass != session.effort.passes - 1) return;
  for (const auto& [level, sets] : session.sets.at(threads).sets)
    session.steps.push_back({fmt::format("ridge of {}, {} threads", Key(level), threads),
                             [&session, level = level, &isa, threads](double max_seconds) {
                               MeasureRidge(session, level, isa, threads, max_seconds);
                             }});
}

void FinishCurves(MeasureSession& session) {
  for (auto& [threads, set] : session.machine.by_threads) {
    if (set.sweep.empty()) continue;
    const auto edges = FindCapacityEdges(set.sweep);
    const auto cpus = SpreadCpus(session.cpu, threads);
    for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
      if (const auto share = ShareOf(session.cpu.topology, level, cpus))
        session.machine.facts[fmt::format("sweep.{}.threads.{}", Key(level), threads)] =
            EdgeSentence(edges, share->bytes / share->sharers);
  }
}

}  // namespace dlroof
