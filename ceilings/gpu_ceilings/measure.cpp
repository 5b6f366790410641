#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/gpu/api.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu_ceilings {
namespace {

struct GpuEffort : machine::RateEffort {
  double row_seconds;  // [s] longest time of one row in one pass
};

struct GpuRowState {
  GpuRow row;
  GpuShape shape;
  std::optional<std::string> result;  // Validation::result; set if the results are right
  std::optional<Reason> wrong_result;
  std::optional<Reason> absent;  // why the row was not measured
  std::vector<GpuPass> passes;
  std::optional<HalfRate> half;
  GpuTime last;  // last repetition, with the driver's report
};

struct GpuSession {
  GpuBench& bench;
  const GpuMeasureOptions& options;
  const std::function<double()>& now;
  GpuEffort effort;
  GpuDescription gpu;
  std::vector<GpuRowState> rows;
  std::vector<machine::SweepPoint> sweep;  // bandwidth of loads by working set

  bool Stopped() const { return options.stopped && options.stopped(); }
  machine::RatePolicy Policy(double tolerance) const {
    auto policy = effort.Policy(tolerance, now);
    policy.max_seconds = effort.row_seconds;
    return policy;
  }
  machine::RatePolicy Policy(const GpuRow& row) const {
    constexpr double kArithmetic = 0.02, kMemory = 0.03;
    return Policy(IsMemory(row) ? kMemory : kArithmetic);
  }
  // Returns the default SM clock [1/s], of which the row's repetitions must reach 75 %. Returns
  // nullopt if it is unknown or if the row is compared in cycles (RunsBySmClock).
  std::optional<double> RequiredClock(const GpuRow& row) const {
    return RunsBySmClock(row) ? std::nullopt : gpu.default_clock_hz;
  }
};

// ---- rows: finds the fastest launch, checks the results, and runs the passes ----

constexpr double kTrialSeconds = 1e-3;  // long enough to compare launches
constexpr std::int64_t kCheckedIterations[] = {1, 3};

// Returns the pipe's peak rate [flop/s] at the default clock, or nullopt if either is unknown.
std::optional<double> PeakOf(const GpuSession& session, const GpuRow& row) {
  const auto* peak = FindGpuPeak(session.gpu.identity.Capability(), machine::PlainPipe(row.key));
  if (peak == nullptr || !session.gpu.default_clock_hz) return std::nullopt;
  return peak->per_cycle.front() * session.gpu.identity.sms * *session.gpu.default_clock_hz;
}

// Returns the rate [iteration/s] of a run of about 1 ms, after a run to warm up.
double Trial(GpuSession& session, const GpuRow& row, const GpuShape& shape) {
  session.bench.Prepare(row, shape);
  session.bench.Run(1);
  for (std::int64_t iterations = 1;; iterations *= 2) {
    const double seconds = session.bench.Run(iterations).seconds;
    if (seconds >= kTrialSeconds || iterations >= (std::int64_t{1} << 40))
      return static_cast<double>(iterations) / std::max(seconds, 1e-9);
  }
}

void AddToSweep(const GpuShape& shape, double per_second, std::vector<machine::SweepPoint>& sweep) {
  const auto bytes = static_cast<double>(shape.set_bytes);
  const auto same = std::ranges::find(sweep, bytes, &machine::SweepPoint::bytes);
  if (same == sweep.end())
    sweep.push_back({bytes, per_second});
  else
    same->per_second = std::max(same->per_second, per_second);
}

GpuShape FastestShape(GpuSession& session, const GpuRow& row) {
  const auto& identity = session.gpu.identity;
  const GpuSize size{identity.sms, static_cast<std::int64_t>(identity.l2_bytes),
                     static_cast<std::int64_t>(session.gpu.free_bytes)};
  GpuShape best;
  double best_rate = 0;
  for (const auto& shape : GpuShapes(row, size, PeakOf(session, row))) {
    const double rate = Trial(session, row, shape) * WorkPerIteration(row, shape);
    if (row.unit == GpuUnit::kLoad) AddToSweep(shape, rate, session.sweep);
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = shape;
  }
  return best;
}

std::optional<Reason> Difference(GpuSession& session, const GpuRow& row, const GpuShape& shape) {
  const auto operands = GpuOperands(row, shape, GpuOperandKind::kKnown);
  for (const auto iterations : kCheckedIterations) {
    const auto results = session.bench.Result(row, shape, operands, iterations);
    const auto difference = GpuDifference(row, shape, iterations, results);
    if (difference) return difference;
    if (row.unit == GpuUnit::kGemm) break;  // its result does not depend on iterations
  }
  return std::nullopt;
}

void CheckResult(GpuSession& session, GpuRowState& state) {
  const auto shapes = CheckShapes(state.row, state.shape);
  for (const auto& shape : shapes) {
    const auto difference = Difference(session, state.row, shape);
    if (!difference) continue;
    state.wrong_result = Reason{fmt::format("the result is wrong: {}", difference->text)};
    if (shapes.size() > 1)
      state.wrong_result->text += fmt::format(" (with {} blocks)", shape.blocks);
    return;
  }
  state.result = state.row.unit == GpuUnit::kGemm
                     ? "256 elements of the product equal a plain loop's"
                     : "all results of 1 and of 3 iterations equal a plain loop's";
  if (shapes.size() > 1)
    *state.result += fmt::format(", with {} and {} blocks", shapes[0].blocks, shapes[1].blocks);
}

void MeasureHalf(GpuSession& session, GpuRowState& state) {
  const auto half = HalfShape(state.shape);
  if (half.blocks == state.shape.blocks) return;
  session.bench.Prepare(state.row, half);
  auto policy = session.Policy(state.row);
  policy.repetitions = 3;
  policy.doubled = 1;
  const auto pass =
      MeasureGpuRate([&](std::int64_t iterations) { return session.bench.Run(iterations); }, policy,
                     session.RequiredClock(state.row));
  if (pass.rate.clean == 0) return;
  state.half = HalfRate{pass.rate.per_second * WorkPerIteration(state.row, half),
                        pass.rate.clock_hz, static_cast<double>(half.blocks) / state.shape.blocks};
}

void MeasureOnce(GpuSession& session, GpuRowState& state) {
  if (state.passes.empty()) {
    state.shape = FastestShape(session, state.row);
    CheckResult(session, state);
  }
  session.bench.Prepare(state.row, state.shape);
  const auto run = [&](std::int64_t iterations) {
    return state.last = session.bench.Run(iterations);
  };
  state.passes.push_back(
      MeasureGpuRate(run, session.Policy(state.row), session.RequiredClock(state.row)));
  if (static_cast<int>(state.passes.size()) == session.effort.passes && ScalesWithSms(state.row))
    MeasureHalf(session, state);
}

void MeasureGpuRows(GpuSession& session) {
  for (const auto& row : GpuRows(session.gpu.identity.Capability()))
    session.rows.push_back({.row = row});
  // Rows with the newest instructions run last, because a failing kernel destroys the CUDA context.
  std::stable_partition(session.rows.begin(), session.rows.end(),
                        [](const GpuRowState& state) { return state.row.unit != GpuUnit::kWgmma; });
  for (int pass = 0; pass < session.effort.passes; ++pass)
    for (auto& state : session.rows) {
      if (session.Stopped()) {
        if (state.passes.empty() && !state.absent)
          state.absent = Reason{"not measured: the measurement was ended early"};
        continue;
      }
      if (state.absent) continue;
      if (session.options.progress) session.options.progress(state.row.key);
      try {
        MeasureOnce(session, state);
      } catch (const Unsupported& error) {
        state.absent = Reason{error.what()};
      } catch (const std::exception& error) {
        state.absent = Reason{fmt::format("failed: {}", error.what())};
      }
    }
}

constexpr double kPassTolerance = 0.05;
constexpr GpuEffort kQuick = {{"quick", 4e-3, 6, 3, 1, 0}, 0.5};
constexpr GpuEffort kFull = {{"full", 5e-3, 12, 6, 2, 3}, 1};
constexpr GpuEffort kThorough = {{"thorough", 1e-2, 18, 9, 3, 100}, 3};

std::string TextOf(const std::optional<Reason>& reason) { return reason ? reason->text : ""; }

std::string LaunchText(const GpuRowState& state) {
  if (state.row.unit == GpuUnit::kGemm) return fmt::format("n {}", state.shape.n);
  auto text = fmt::format("{} blocks of {} threads", state.shape.blocks, state.shape.threads);
  if (IsMemory(state.row))
    text += fmt::format(", set {:.4g} MiB", static_cast<double>(state.shape.set_bytes) / 1048576);
  return text;
}

// Returns text on power, temperature and limits of the clock: "; 250 W, 61 C, clock held by ...".
std::string HealthText(const gpu::GpuHealth& health) {
  std::string text;
  if (health.power_watts) text += fmt::format("; {:.0f} W", *health.power_watts);
  if (health.temperature_celsius) text += fmt::format(", {:.0f} C", *health.temperature_celsius);
  const auto reasons = gpu::ThrottleReasons(health.throttle.value_or(0));
  if (!reasons.empty()) text += fmt::format(", clock held by {}", fmt::join(reasons, ", "));
  return text;
}

machine::Ceiling CeilingOf(const GpuSession& session, const GpuRowState& state) {
  const bool by_clock = RunsBySmClock(state.row);
  const auto policy = session.Policy(state.row);
  const auto merged = MergeGpuPasses(state.passes, policy, kPassTolerance, by_clock);
  auto ceiling = machine::CeilingFrom(merged.rate, WorkPerIteration(state.row, state.shape), 1,
                                      fmt::format("{}, {}", state.row.text, LaunchText(state)));
  if (merged.clock_moved) ceiling.how += "; the clock changed, repetitions agree in cycles";
  if (gpu::IsClockTooLow(ceiling.clock_hz, session.gpu.default_clock_hz, 0))
    ceiling.how += fmt::format("; at {:.0f} MHz, below 75 % of the default {:.0f} MHz",
                               *ceiling.clock_hz / 1e6, *session.gpu.default_clock_hz / 1e6);
  ceiling.how += HealthText(state.last.health);
  ceiling.validation.per_cycle.reset();
  if (by_clock && ceiling.clock_hz)
    ceiling.validation.per_cycle =
        ceiling.per_second / session.gpu.identity.sms / *ceiling.clock_hz;
  ceiling.validation.result = state.result;
  if (state.wrong_result) machine::AddUnboundedReason(ceiling, state.wrong_result->text);
  if (by_clock) JudgeGpuPerCycle(state.row, session.gpu.identity.Capability(), ceiling);
  if (state.half) JudgeGpuScaling(*state.half, ceiling);
  return ceiling;
}

void AddRows(const GpuSession& session, machine::CeilingSet& set) {
  for (const auto& state : session.rows) {
    if (state.passes.empty())
      set.absent[state.row.key] = TextOf(state.absent);
    else
      (IsMemory(state.row) ? set.mixes : set.flops)[state.row.key] = CeilingOf(session, state);
  }
  set.sweep = session.sweep;
}

void AddLevels(const GpuSession& session, machine::CeilingSet& set) {
  machine::AddLevelRoofs(set, true);
  GpuMemoryFacts facts{.l2_bytes = session.gpu.identity.l2_bytes};
  const auto is_loads = [](const GpuRowState& state) {
    return state.row.key == "dram.load.v16" && !state.passes.empty();
  };
  if (const auto* loads = FindIf(session.rows, is_loads)) {
    facts.dram_set_bytes = static_cast<double>(loads->shape.set_bytes);
    facts.pins =
        PinBandwidth(session.gpu.identity.memory_bus_bits, loads->last.health.memory_clock_hz);
  }
  JudgeGpuLevels(facts, set.bytes);
}

constexpr double kTolerance = 0.05;  // [1] of overheads, which vary more: the host takes part
constexpr const char* kLaunchName = "launch";

struct OverheadRow {
  GpuOverhead kind;
  const char* name;
  const char* text;
};
constexpr OverheadRow kOverheads[] = {
    {GpuOverhead::kLaunch, kLaunchName,
     "empty kernels one after another, until the last has finished"},
    {GpuOverhead::kQueued, machine::kQueuedOverhead,
     "empty kernels queued before the GPU begins, on its clock: 2N less N of them"},
    {GpuOverhead::kGraphNode, machine::kGraphNodeOverhead,
     "empty kernels as the nodes of a graph, on the GPU's clock: 2N less N of them"},
};

machine::Rate MeasureOverhead(GpuSession& session, GpuOverhead kind) {
  return machine::MeasureRate(
      [&](std::int64_t times) {
        return machine::TeamTime{session.bench.Overhead(kind, times), 0.0, std::nullopt};
      },
      session.Policy(kTolerance));
}

void AddOverhead(const OverheadRow& row, const machine::Rate& rate, machine::CeilingSet& set) {
  if (rate.reason) {
    set.absent[row.name] = rate.reason->text;
    return;
  }
  const double seconds = 1 / rate.per_second;
  if (row.name == std::string(kLaunchName))
    set.launch_seconds = seconds;
  else
    set.overheads[row.name] = seconds;
  set.costs_how[row.name] =
      fmt::format("{}; best of {} repetitions, twice as many took {:.3f} times the time", row.text,
                  rate.total, rate.doubling.value_or(0));
}

void MeasureGpuOverheads(GpuSession& session, machine::CeilingSet& set) {
  for (const auto& row : kOverheads) {
    if (session.options.progress) session.options.progress(row.name);
    try {
      AddOverhead(row, MeasureOverhead(session, row.kind), set);
    } catch (const std::exception& error) {
      set.absent[row.name] = fmt::format("failed: {}", error.what());
    }
  }
}

constexpr double kSeconds = 10, kWindow = 1;  // [s] length of the run, and of its Ends
constexpr double kDifference = 0.03;          // [1] a smaller difference from the roof is noise

struct Ends {
  double first = 0, last = 0;  // [iteration/s] best rate in the first, last second
};

Ends RunForTenSeconds(GpuSession& session, double iterations_per_second) {
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

void AddSustained(GpuSession& session, const GpuRowState& state, machine::CeilingSet& set) {
  auto& ceiling = set.flops.at(state.row.key);
  const double work = WorkPerIteration(state.row, state.shape);
  session.bench.Prepare(state.row, state.shape);
  const auto ends = RunForTenSeconds(session, ceiling.per_second / work);
  if (session.Stopped()) return;
  const double sustained = work * ends.last, burst = work * ends.first;
  set.sustained[state.row.key] =
      fmt::format("first second {:.4g}, after {:.0f} s {:.4g} GFLOP/s: {:.3f} of the burst",
                  burst / 1e9, kSeconds, sustained / 1e9, sustained / ceiling.per_second);
  if (std::abs(sustained / ceiling.per_second - 1) > kDifference)
    ceiling.sustained_per_second = sustained;
  const double later = std::max(burst, sustained);
  if (later > (1 + kDifference) * ceiling.per_second)
    machine::AddUnboundedReason(
        ceiling,
        fmt::format("it reached {:.4g} GFLOP/s when it ran for {:.0f} s: this roof is too low",
                    later / 1e9, kSeconds));
}

// Returns the fastest row of each pipe, beginning with the highest rate.
std::vector<const GpuRowState*> Hottest(const GpuSession& session, const machine::CeilingSet& set) {
  const auto rate = [&](const GpuRowState* state) {
    return set.flops.at(state->row.key).per_second;
  };
  std::map<std::string, const GpuRowState*> best;
  for (const auto& state : session.rows) {
    if (IsMemory(state.row) || !state.result || !set.flops.contains(state.row.key)) continue;
    auto& chosen = best[machine::PlainPipe(state.row.key)];
    if (chosen == nullptr || rate(&state) > rate(chosen)) chosen = &state;
  }
  auto rows = VectorOf<const GpuRowState*>(best, [](const auto& row) { return row.second; });
  std::ranges::sort(rows, [&](auto* a, auto* b) { return rate(a) > rate(b); });
  return rows;
}

// Runs the fastest row of each of the fastest pipes for 10 s. Marks its ceiling as not validated if
// the rate in the first or last second is more than 3 % above it.
void MeasureGpuSustained(GpuSession& session, machine::CeilingSet& set) {
  auto rows = Hottest(session, set);
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(session.effort.sustained)));
  for (const auto* state : rows) {
    if (session.Stopped()) return;
    if (session.options.progress)
      session.options.progress(fmt::format("{} for 10 s", state->row.key));
    try {
      AddSustained(session, *state, set);
    } catch (const std::exception& error) {
      set.sustained[state->row.key] = fmt::format("failed: {}", error.what());
    }
  }
}

}  // namespace

machine::Machine DescribeGpu(const gpu::GpuIdentity& identity) {
  machine::Machine machine{.device = "gpu", .name = identity.name, .facts = gpu::Facts(identity)};
  machine.fingerprint = machine::Fingerprint(machine.facts);
  if (identity.l2_bytes > 0) machine.cache_bytes[Level::kL2] = identity.l2_bytes;
  return machine;
}

machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                              const std::function<double()>& now) {
  const auto& effort = options.thorough ? kThorough : options.quick ? kQuick : kFull;
  GpuSession session{bench, options, now, effort, bench.Describe(), {}, {}};
  machine::Machine machine = DescribeGpu(session.gpu.identity);
  MeasureGpuRows(session);
  if (std::ranges::all_of(session.rows, [](const auto& state) { return state.passes.empty(); }))
    throw std::runtime_error(fmt::format("no ceiling of {} could be measured: {}: {}",
                                         session.gpu.identity.name, session.rows.front().row.key,
                                         TextOf(session.rows.front().absent)));
  auto& set = machine.by_threads[1];
  AddRows(session, set);
  set.effort = session.effort.name;
  if (const auto& clock_hz = session.gpu.default_clock_hz)
    machine.facts["clock.default"] = fmt::format("{:.0f} MHz", *clock_hz / 1e6);
  if (!session.Stopped()) MeasureGpuOverheads(session, set);
  MeasureGpuSustained(session, set);
  if (session.Stopped())
    machine.facts["ended_early"] = fmt::format(
        "{} of {} rows were measured in all passes",
        std::ranges::count_if(session.rows,
                              [&](const GpuRowState& state) {
                                return std::ssize(state.passes) == session.effort.passes;
                              }),
        session.rows.size());
  machine::AddPipeRoofs(set.flops, true);
  AddLevels(session, set);
  machine.measured_at = machine::NowUtc();
  return machine;
}

}  // namespace dlroof::gpu_ceilings
