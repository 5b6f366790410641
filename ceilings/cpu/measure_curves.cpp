#include <fmt/format.h>

#include <algorithm>

#include "ceilings/cpu/measure_steps.h"
#include "ceilings/cpu/working_sets.h"

namespace dlroof::cpu_ceilings {
namespace {

constexpr std::size_t kPointsPerStep = 4;
// [byte] of the sweeps that look for caches: twice the largest that one core has (96 MiB of L3);
// what cores share within a package is found in less.
constexpr double kAloneBytes = 1 << 28, kTogetherBytes = 1 << 25;

// A point of a curve is a picture, not a roof: few repetitions.
machine::RatePolicy PointPolicy(const MeasureSession& session, double max_seconds) {
  auto policy = session.effort.Policy(kMemoryTolerance);
  policy.repetition_seconds = std::min(policy.repetition_seconds, 2e-3);
  policy.repetitions = 4;
  policy.doubled = 1;
  policy.max_seconds = std::min(max_seconds, 20 * policy.repetition_seconds);
  return policy;
}

std::vector<machine::SweepPoint> Swept(CpuBench& bench, const std::vector<double>& sizes,
                              const cpu_kernels::BytesIsa& isa, const machine::RatePolicy& policy) {
  std::vector<machine::SweepPoint> curve;
  for (const double bytes : sizes) {
    bench.AllocateArrays(bytes, 1, isa.step_floats);
    const double bytes_per_step =
        static_cast<double>(isa.step_floats * sizeof(float)) * bench.threads();
    curve.push_back({static_cast<double>(bench.Of(0).floats * sizeof(float)),
                     bench.Measure(isa.load, policy).per_second * bytes_per_step});
  }
  return curve;
}

void SweepOver(MeasureSession& session, const std::vector<double>& sizes, const cpu_kernels::BytesIsa& isa,
               int threads, double max_seconds) {
  const auto policy = PointPolicy(session, max_seconds / static_cast<double>(sizes.size()));
  auto& sweep = session.machine.by_threads[threads].sweep;
  for (const auto& point : Swept(*session.bench, sizes, isa, policy)) sweep.push_back(point);
}

std::vector<CapacityEdge> EdgesOn(const MeasureSession& session, const std::vector<int>& cpus,
                                  double largest_bytes) {
  if (const auto available = cpu::AvailableMemoryBytes())
    largest_bytes = std::min(largest_bytes, *available / 4 / static_cast<double>(cpus.size()));
  const auto& isa = *session.bytes_isas.front();
  constexpr double kSeconds = 1;  // of a point at most; it takes a few hundredths
  CpuBench bench(cpus);
  return FindCapacityEdges(
      Swept(bench, SweepSizes(largest_bytes), isa, PointPolicy(session, kSeconds)));
}

// "l1 33 KiB, l2 1.1 MiB".
std::string SizesText(const std::map<Level, double>& sizes) {
  std::string text;
  for (const auto& [level, bytes] : sizes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Key(level), SizeText(bytes));
  return text;
}

void AddSweep(MeasureSession& session, const cpu_kernels::BytesIsa& isa, int threads) {
  const auto sizes = SweepSizes(session.sets.at(threads).largest_bytes);
  for (std::size_t first = 0; first < sizes.size(); first += kPointsPerStep) {
    const auto last = std::min(sizes.size(), first + kPointsPerStep);
    const std::vector<double> some(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                                   sizes.begin() + static_cast<std::ptrdiff_t>(last));
    session.steps.push_back({fmt::format("sweep to {}, {} threads", SizeText(some.back()), threads),
                             [&session, some, &isa, threads](double max_seconds) {
                               SweepOver(session, some, isa, threads, max_seconds);
                             },
                             threads});
  }
}

// [flop/byte] where the roofs measured so far meet; 1 where one of them is not known.
double Knee(const MeasureSession& session, int threads, Level level) {
  const auto& rows = session.rows.at(threads);
  double compute = 0, bandwidth = 0;
  for (const auto& [key, row] : rows.flops)
    if (key.starts_with(kRidgePipe)) compute = std::max(compute, row.BestRate());
  for (const auto& [name, row] : rows.bytes.at(level))
    bandwidth = std::max(bandwidth, row.BestRate());
  return compute > 0 && bandwidth > 0 ? compute / bandwidth : 1;
}

void MeasureRidge(MeasureSession& session, Level level, const cpu_kernels::BytesIsa& isa, int threads,
                  double max_seconds) {
  const auto rows = RidgeRowsAround(isa.ridge, Knee(session, threads, level));
  const auto policy = PointPolicy(session, max_seconds / static_cast<double>(rows.size()));
  auto& bench = *session.bench;
  bench.AllocateArrays(session.sets.at(threads).sets.at(level).front().bytes, 1, isa.step_floats);
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

void FindUntoldCaches(MeasureSession& session, const std::vector<int>& counts) {
  const auto& allowed = session.cpu.allowed;
  const auto alone = EdgesOn(session, {allowed.front()}, kAloneBytes);
  const auto together = allowed.size() > 1 && !alone.empty()
                            ? EdgesOn(session, allowed, kTogetherBytes)
                            : std::vector<CapacityEdge>();
  session.cpu.topology.cache_of_cpu = CachesFromEdges(alone, together, allowed);
  session.caches_found = !alone.empty();
  session.machine.cache_bytes = ThreadShares(session.cpu.topology, {allowed.front()});
  const auto said =
      session.caches_found
          ? fmt::format(
                "the system tells no sizes; where a first sweep of loads over working sets falls "
                "is taken for them: {}",
                SizesText(session.machine.cache_bytes))
          : std::string(
                "the system tells no sizes, and loads do not get slower with their working set");
  for (const int threads : counts)
    session.machine.by_threads[threads].edges["caches"] = {said, false};
}

LevelEdges EdgesOf(const MeasureSession& session, int threads) {
  LevelEdges edges;
  edges.teller = session.caches_found ? "a first sweep" : "hwloc";
  edges.told = ThreadShares(session.cpu.topology, cpu::SpreadCpus(session.cpu, threads));
  const auto set = session.machine.by_threads.find(threads);
  if (set != session.machine.by_threads.end())
    edges.found = MatchEdges(FindCapacityEdges(set->second.sweep), edges.told);
  return edges;
}

void AddCurveSteps(MeasureSession& session, int threads, int pass) {
  const auto& isa = *session.bytes_isas.front();
  if (pass == 0) AddSweep(session, isa, threads);
  if (pass != session.effort.passes - 1) return;
  for (const auto& [level, sets] : session.sets.at(threads).sets)
    session.steps.push_back({fmt::format("ridge of {}, {} threads", Key(level), threads),
                             [&session, level = level, &isa, threads](double max_seconds) {
                               MeasureRidge(session, level, isa, threads, max_seconds);
                             },
                             threads});
}

void FinishCurves(MeasureSession& session) {
  for (auto& [threads, set] : session.machine.by_threads) {
    if (set.sweep.empty()) continue;
    const auto edges = EdgesOf(session, threads);
    for (const auto& [level, bytes] : edges.told)
      set.edges[std::string(Key(level))] = CompareEdge(edges, level);
  }
}

}  // namespace dlroof::cpu_ceilings
