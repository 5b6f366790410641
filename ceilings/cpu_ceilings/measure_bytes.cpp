// The memory rows of a CPU: selects kernels and working sets, and converts the results to ceilings.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ceilings/cpu_ceilings/curves.h"
#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {
namespace {

// From the third pass on, only rows above this share of their level's best rate are measured.
constexpr double kContenderShare = 1 - kMemoryTolerance;

struct BytesProbe {
  Level level;
  cpu_kernels::Mix mix;
  const cpu_kernels::BytesIsa* isa;
  std::vector<WorkingSet> sets;
  bool fully = true;  // false: only for comparison, in one pass with half the repetitions

  // Returns the row's key without its level: "copy.avx2".
  std::string Name() const { return fmt::format("{}.{}", mix.name, isa->name); }
  std::string Key() const { return fmt::format("{}.{}", dlroof::Key(level), Name()); }
};

bool Quick(const MeasureSession& session) {
  return session.effort.roofs_only || std::string_view(session.effort.name) == "quick";
}

bool IsAnyOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::count(names, name) > 0;
}

// Returns true for caches of a single core, where trying all working sets takes little time.
bool IsOwn(Level level) { return level == Level::kL1 || level == Level::kL2; }

// Adds the rows with the widest vectors. A quick measurement has only the mixes that are a level's
// best on some CPU and, for L3 and DRAM, only the first working set.
void AddWidest(const MeasureSession& session, Level level, const cpu_kernels::BytesIsa& isa,
               const std::vector<WorkingSet>& sets, std::vector<BytesProbe>& probes) {
  const bool quick = Quick(session);
  for (const auto& mix : cpu_kernels::MixesFor(isa, level)) {
    if (quick && !IsAnyOf(mix.name, {"load", "copy", "triad", "update"}) &&
        !(level == Level::kDram && IsAnyOf(mix.name, {"copy-nt", "triad-nt"})))
      continue;
    probes.push_back({level, mix, &isa, sets});
    if (quick && !IsOwn(level)) probes.back().sets.resize(1);
  }
}

// Adds rows with narrower vectors, for comparison: such a row is rarely a roof.
void AddForComparison(Level level, const cpu_kernels::BytesIsa& isa, std::vector<WorkingSet> sets,
                      std::vector<BytesProbe>& probes) {
  if (!IsOwn(level)) sets.resize(1);
  for (const auto& mix : cpu_kernels::MixesFor(isa, level))
    if (IsAnyOf(mix.name, {"load", "copy", "triad"}))
      probes.push_back({level, mix, &isa, sets, false});
}

std::vector<BytesProbe> ProbesFor(const MeasureSession& session, int threads) {
  const auto& isas = session.bytes_isas;
  std::vector<BytesProbe> probes;
  for (const auto& [level, sets] : session.sets.at(threads).sets) {
    AddWidest(session, level, *isas.front(), sets, probes);
    if (Quick(session)) continue;
    for (std::size_t i = 1; i < isas.size(); ++i) AddForComparison(level, *isas[i], sets, probes);
  }
  return probes;
}

machine::RatePolicy PolicyOf(const BytesProbe& probe, const Effort& effort) {
  auto policy = effort.Policy(kMemoryTolerance);
  if (!probe.fully) {
    policy.repetitions = std::max(3, policy.repetitions / 2);
    policy.doubled = std::max(2, policy.doubled / 2);
  }
  return policy;
}

// Returns the bytes that the kernels of all threads access per iteration.
double BytesPerIteration(const BytesProbe& probe, int threads) {
  return static_cast<double>(probe.isa->step_floats * sizeof(float)) * probe.mix.OfStreams().named *
         threads;
}

void AllocateArrays(CpuBench& bench, const BytesProbe& probe, const WorkingSet& set) {
  bench.AllocateArrays(set.bytes, probe.mix.OfStreams().arrays, probe.isa->step_floats);
}

const WorkingSet& BestSet(CpuBench& bench, const BytesProbe& probe, machine::RatePolicy policy) {
  policy.repetitions = 3;
  policy.doubled = 1;
  policy.max_seconds = 8 * policy.repetition_seconds;
  const WorkingSet* best = &probe.sets.front();
  double highest = 0;
  for (const auto& set : probe.sets) {
    if (probe.sets.size() == 1) break;
    AllocateArrays(bench, probe, set);
    const double rate = bench.Measure(probe.mix.kernel, policy).per_second;
    if (rate <= highest) continue;
    highest = rate;
    best = &set;
  }
  return *best;
}

std::string HowText(const BytesProbe& probe, const WorkingSet& set) {
  auto how = fmt::format("{} {}, {}", probe.isa->name, probe.mix.name, set.how);
  if (const auto traffic = cpu_kernels::TrafficText(probe.mix, probe.level); !traffic.empty())
    how += ", " + traffic;
  return how;
}

bool MayBecomeRoof(const Row& row, const std::map<std::string, Row>& rows) {
  double best = 0;
  for (const auto& [name, each] : rows) best = std::max(best, each.BestRate());
  return row.BestRate() >= kContenderShare * best;
}

void Measure(const MeasureSession& session, const BytesProbe& probe, int threads,
             double max_seconds, Row& row) {
  auto& bench = *session.bench;
  auto policy = PolicyOf(probe, session.effort);
  policy.max_seconds = max_seconds;
  const auto& set = BestSet(bench, probe, policy);
  AllocateArrays(bench, probe, set);
  const auto& workspace = bench.workspace(0);
  const double bytes =
      static_cast<double>(workspace.floats * sizeof(float)) * probe.mix.OfStreams().arrays;
  const double before = row.BestRate();
  row.passes.push_back(bench.Measure(probe.mix.kernel, policy));
  if (row.BestRate() <= before) return;
  row.how = HowText(probe, set);
  row.set_bytes = bytes;
  row.reason = NearerCacheReason(session.cpu.topology, cpu::SpreadCpus(session.cpu, threads),
                                 probe.level, bytes);
  if (set.reason)
    row.reason = row.reason ? Reason{fmt::format("{}; {}", row.reason->text, set.reason->text)}
                            : *set.reason;
}

// Returns the row, or null if no pass measured it, e.g. because it failed (CeilingSet::absent).
const Row* FindRow(const Rows& rows, const BytesProbe& probe) {
  const auto* const of_level = FindValue(rows.bytes, probe.level);
  const auto* const row = of_level == nullptr ? nullptr : FindValue(*of_level, probe.Name());
  return row == nullptr || row->passes.empty() ? nullptr : row;
}

machine::Ceiling CeilingOf(const MeasureSession& session, const BytesProbe& probe, int threads,
                           const LevelEdges& edges, Row row) {
  const auto validation = cpu_kernels::ValidateBytesKernel(probe.mix, *probe.isa);
  row.result = validation.text;
  if (!validation.passed)
    row.reason =
        Reason{fmt::format("the kernel does not do the work that is counted: {}", validation.text)};
  auto ceiling = row.Finished(threads, PolicyOf(probe, session.effort));
  ceiling.moved_per_named = cpu_kernels::MovedPerNamed(probe.mix, probe.level);
  if (const auto reason = EdgeReason(edges, probe.level, row.set_bytes, ceiling.per_second))
    machine::AddUnboundedReason(ceiling, reason->text);
  return ceiling;
}

}  // namespace

void AddBytesSteps(MeasureSession& session, int threads, int pass) {
  constexpr int kUnconditionalPasses = 2;
  for (const auto& probe : ProbesFor(session, threads)) {
    const auto key = probe.Key();
    if (!session.Wants(threads, key) || (pass > 0 && !probe.fully)) continue;
    auto& rows = session.rows[threads].bytes[probe.level];
    auto& row = rows[probe.Name()];
    row.work_per_iteration = BytesPerIteration(probe, threads);
    session.steps.push_back({fmt::format("{}, {} threads", key, threads),
                             [&session, &rows, &row, probe, threads, pass](double max_seconds) {
                               if (pass < kUnconditionalPasses || MayBecomeRoof(row, rows))
                                 Measure(session, probe, threads, max_seconds, row);
                             },
                             threads, key});
  }
  if (!Quick(session)) AddCurveSteps(session, threads, pass);
}

void FinishBytes(MeasureSession& session) {
  for (const auto& [threads, rows] : session.rows) {
    auto& set = session.machine.by_threads[threads];
    const auto edges = EdgesOf(session, threads);
    for (const auto& probe : ProbesFor(session, threads)) {
      const auto key = probe.Key();
      const auto* row = FindRow(rows, probe);
      if (row == nullptr) continue;
      set.absent.erase(key);
      set.mixes[key] = CeilingOf(session, probe, threads, edges, *row);
    }
    machine::AddLevelRoofs(set);
  }
  FinishCurves(session);
}

}  // namespace dlroof::cpu_ceilings
