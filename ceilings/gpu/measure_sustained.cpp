#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <vector>

#include "ceilings/gpu/measure_session.h"
#include "ceilings/machine/ceiling.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr double kSeconds = 10, kWindow = 1;  // watched; judged at both ends
constexpr double kDifference = 0.03;          // [1] less is said, but no roof of its own

struct Ends {
  double first = 0, last = 0;  // [iteration/s] best slice of the first and of the last second
};

Ends Watch(GpuSession& session, double iterations_per_second) {
  const auto slice = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(iterations_per_second * session.effort.repetition_seconds));
  Ends ends;
  const double begin = session.now();
  for (double at = 0; at < kSeconds && !session.Stopped();) {
    const double rate = static_cast<double>(slice) / session.bench.Run(slice).seconds;
    at = session.now() - begin;
    if (at <= kWindow) ends.first = std::max(ends.first, rate);
    if (at >= kSeconds - kWindow) ends.last = std::max(ends.last, rate);
  }
  return ends;
}

void AddSustained(GpuSession& session, const GpuRowState& state, machine::Machine& machine) {
  auto& ceiling = machine.by_threads.at(1).flops.at(state.row.key);
  const double work = gpu_kernels::WorkPerIteration(state.row, state.shape);
  session.bench.Prepare(state.row, state.shape);
  const auto ends = Watch(session, ceiling.per_second / work);
  if (session.Stopped()) return;
  const double sustained = work * ends.last, burst = work * ends.first;
  machine.by_threads.at(1).sustained[state.row.key] =
      fmt::format("first second {:.4g}, after {:.0f} s on end {:.4g} GFLOP/s: {:.3f} of the burst",
                  burst / 1e9, kSeconds, sustained / 1e9, sustained / ceiling.per_second);
  if (std::abs(sustained / ceiling.per_second - 1) > kDifference)
    ceiling.sustained_per_second = sustained;
  const double later = std::max(burst, sustained);
  if (later > (1 + kDifference) * ceiling.per_second)
    machine::DoubtUnbounded(
        ceiling, fmt::format("it reached {:.4g} GFLOP/s when it was watched later: this is too low",
                             later / 1e9));
}

// The fastest row of each pipe, fastest first.
std::vector<const GpuRowState*> Hottest(const GpuSession& session, const machine::CeilingSet& set) {
  const auto rate = [&](const GpuRowState* state) {
    return set.flops.at(state->row.key).per_second;
  };
  std::map<std::string, const GpuRowState*> best;
  for (const auto& state : session.rows) {
    if (gpu_kernels::IsMemory(state.row) || state.result.empty() || !set.flops.contains(state.row.key)) continue;
    auto& chosen = best[state.row.key.substr(0, state.row.key.rfind('.'))];
    if (chosen == nullptr || rate(&state) > rate(chosen)) chosen = &state;
  }
  std::vector<const GpuRowState*> rows;
  rows.reserve(best.size());
  for (const auto& [pipe, state] : best) rows.push_back(state);
  std::ranges::sort(rows, [&](auto* a, auto* b) { return rate(a) > rate(b); });
  return rows;
}

}  // namespace

void WatchGpuFor10Seconds(GpuSession& session, machine::Machine& machine) {
  auto rows = Hottest(session, machine.by_threads.at(1));
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(session.effort.sustained)));
  for (const auto* state : rows) {
    if (session.Stopped()) return;
    if (session.options.progress)
      session.options.progress(fmt::format("{} for 10 s", state->row.key));
    try {
      AddSustained(session, *state, machine);
    } catch (const std::exception& why) {
      machine.by_threads.at(1).sustained[state->row.key] = fmt::format("it failed: {}", why.what());
    }
  }
}

}  // namespace dlroof::gpu_ceilings
