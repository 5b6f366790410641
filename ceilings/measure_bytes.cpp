// Memory: a row per level and mix of accesses, the best of which is the level's roof.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "ceilings/cpu_bytes_probes.h"
#include "ceilings/measure.h"
#include "ceilings/measure_session.h"

namespace dlroof {
namespace {

Rate MeasureBytes(Bench& bench, const Mix& mix, const BytesIsa& isa, const WorkingSet& set,
                  const RatePolicy& policy) {
  bench.Lay(set.bytes, mix.streams, isa.step_floats);
  return bench.Measure(mix.kernel, policy);
}

}  // namespace

void AddBytesSteps(MeasureSession& session, int threads, int /*pass*/) {
  const auto isa = WidestBytesIsa(session.cpu.features);
  for (const auto& [level, set] : session.sets[threads].sets)
    for (const auto& mix : MixesFor(isa, level)) {
      auto& row = session.rows[threads].bytes[level][mix.name];
      row.how = fmt::format("{} {}, {}", isa.name, mix.name, set.how);
      row.work_per_iteration =
          static_cast<double>(isa.step_floats * sizeof(float)) * mix.streams * threads;
      row.doubt = set.doubt;
      session.steps.push_back({fmt::format("{} {}, {} threads", Key(level), mix.name, threads),
                               [&session, &row, mix, isa, set = set](double max_seconds) {
                                 row.passes.push_back(
                                     MeasureBytes(*session.bench, mix, isa, set,
                                                  session.Policy(kMemoryTolerance, max_seconds)));
                               }});
    }
}

void FinishBytes(MeasureSession& session) {
  const auto policy = session.effort.Policy(kMemoryTolerance);
  for (const auto& [threads, rows] : session.rows)
    for (const auto& [level, mixes] : rows.bytes) {
      MeasuredMixes measured;
      for (const auto& [name, row] : mixes)
        measured.emplace_back(name, row.Finished(threads, policy));
      session.machine.by_threads[threads].bytes[level] = BestMix(measured);
    }
}

Ceiling BestMix(const MeasuredMixes& mixes) {
  if (mixes.empty()) throw std::invalid_argument("the best of no mixes");
  const auto best = std::max_element(mixes.begin(), mixes.end(), [](auto& a, auto& b) {
    return a.second.per_second < b.second.per_second;
  });
  Ceiling ceiling = best->second;
  std::vector<std::string> tried;
  for (const auto& [name, each] : mixes)
    tried.push_back(fmt::format("{} {:.4g} GB/s", name, each.per_second / 1e9));
  ceiling.how += fmt::format("; the best of {}", fmt::join(tried, ", "));
  return ceiling;
}

}  // namespace dlroof
