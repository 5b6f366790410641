#include "ceilings/gpu/measure.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "ceilings/gpu/measure_session.h"
#include "ceilings/machine/ceiling.h"
#include "counters/gpu/nvml.h"
#include "counters/gpu/throttle.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr double kPassTolerance = 0.05;
constexpr const char* kDramLoads = "dram.load.v16";
constexpr GpuEffort kQuick = {"quick", 4e-3, 6, 3, 1, 0.5, 0};
constexpr GpuEffort kFull = {"full", 5e-3, 12, 6, 2, 1, 3};
constexpr GpuEffort kThorough = {"thorough", 1e-2, 18, 9, 3, 3, 100};

GpuEffort EffortOf(const GpuMeasureOptions& options) {
  if (options.thorough) return kThorough;
  return options.quick ? kQuick : kFull;
}

std::string LaunchText(const GpuRowState& state) {
  if (state.row.unit == gpu_kernels::GpuUnit::kGemm) return fmt::format("n {}", state.shape.n);
  auto text = fmt::format("{} blocks of {} threads", state.shape.blocks, state.shape.threads);
  if (gpu_kernels::IsMemory(state.row))
    text += fmt::format(", set {:.4g} MiB", static_cast<double>(state.shape.set_bytes) / 1048576);
  return text;
}

// Returns the driver's report during the last repetition.
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
  auto ceiling = machine::CeilingFrom(merged.rate, gpu_kernels::WorkPerIteration(state.row, state.shape), 1,
                             fmt::format("{}, {}", state.row.text, LaunchText(state)));
  if (merged.clock_moved) ceiling.how += "; the clock moved, in its cycles they agree";
  if (gpu::IsClockTooLow(ceiling.clock_hz, session.gpu.default_clock_hz, 0))
    ceiling.how += fmt::format("; at {:.0f} MHz, below 75 % of the default {:.0f} MHz",
                               *ceiling.clock_hz / 1e6, *session.gpu.default_clock_hz / 1e6);
  ceiling.how += HealthText(state.last.health);
  ceiling.proof.per_cycle.reset();
  if (by_clock && ceiling.clock_hz)
    ceiling.proof.per_cycle = ceiling.per_second / session.gpu.identity.sms / *ceiling.clock_hz;
  ceiling.proof.result = state.result;
  if (!state.doubt.empty()) machine::DoubtUnbounded(ceiling, state.doubt);
  if (by_clock) JudgeGpuPerCycle(state.row, session.Capability(), ceiling);
  if (state.half) JudgeGpuScaling(*state.half, ceiling);
  return ceiling;
}

void AddRows(const GpuSession& session, machine::Machine& machine) {
  auto& set = machine.by_threads[1];
  for (const auto& state : session.rows) {
    if (state.passes.empty())
      set.absent[state.row.key] = state.absent;
    else
      (gpu_kernels::IsMemory(state.row) ? set.mixes : set.flops)[state.row.key] = CeilingOf(session, state);
  }
  set.sweep = session.sweep;
}

const GpuRowState* FindRow(const GpuSession& session, const std::string& key) {
  for (const auto& state : session.rows)
    if (state.row.key == key && !state.passes.empty()) return &state;
  return nullptr;
}

// Adds for each level the best of the mixes whose result is right.
void AddLevels(const GpuSession& session, machine::Machine& machine) {
  auto& set = machine.by_threads.at(1);
  std::map<Level, machine::MeasuredMixes> by_level;
  GpuMemoryFacts facts{.l2_bytes = session.gpu.identity.l2_bytes};
  for (const auto& state : session.rows)
    if (gpu_kernels::IsMemory(state.row) && !state.result.empty() && !state.passes.empty())
      by_level[state.row.level].emplace(state.row.key.substr(state.row.key.find('.') + 1),
                                        set.mixes.at(state.row.key));
  for (const auto& [level, mixes] : by_level) set.bytes[level] = machine::BestMix(mixes);
  if (const auto* loads = FindRow(session, kDramLoads)) {
    const int bits = session.gpu.identity.memory_bus_bits;
    const auto clock = loads->last.health.memory_clock_hz;
    facts.dram_set_bytes = static_cast<double>(loads->shape.set_bytes);
    facts.pins = PinBandwidth(bits, clock);
    if (facts.pins)
      machine.facts["dram.share_of_pins"] =
          ShareOfPins(set.mixes.at(kDramLoads).per_second, *facts.pins, bits, *clock);
  }
  JudgeGpuLevels(facts, set.bytes);
}

void RefuseNothing(const GpuSession& session) {
  for (const auto& state : session.rows)
    if (!state.passes.empty()) return;
  throw std::runtime_error(fmt::format("no ceiling of {} could be measured: {}: {}",
                                       session.gpu.identity.name, session.rows.front().row.key,
                                       session.rows.front().absent));
}

void AddFacts(const GpuSession& session, machine::Machine& machine) {
  machine.by_threads.at(1).effort = session.effort.name;
  if (session.gpu.default_clock_hz)
    machine.facts["clock.default"] = fmt::format("{:.0f} MHz", *session.gpu.default_clock_hz / 1e6);
  // The white papers of A100, H100 and B200 tell it.
  const int capability = session.Capability();
  if (capability == 80 || capability == 90 || capability == 100)
    machine.facts["l2.partitions"] =
        "two: what an SM reads from the far one may lie in both, so only sets below half of the L2 "
        "stay in it for every SM";
}

}  // namespace

machine::RatePolicy GpuEffort::Policy(double tolerance, const std::function<double()>& clock) const {
  return {.repetition_seconds = repetition_seconds,
          .repetitions = repetitions,
          .doubled = doubled,
          .tolerance = tolerance,
          .now = clock};
}

machine::RatePolicy GpuSession::Policy(const gpu_kernels::GpuRow& row) const {
  constexpr double kArithmetic = 0.02, kMemory = 0.03;
  auto policy = effort.Policy(gpu_kernels::IsMemory(row) ? kMemory : kArithmetic, now);
  policy.max_seconds = effort.row_seconds;
  return policy;
}

std::optional<double> GpuSession::HeldClock(const gpu_kernels::GpuRow& row) const {
  return RunsBySmClock(row) ? std::nullopt : gpu.default_clock_hz;
}

machine::Machine DescribeGpu(const gpu::GpuIdentity& identity) {
  machine::Machine machine;
  machine.device = "gpu";
  machine.name = identity.name;
  machine.facts = gpu::Facts(identity);
  machine.fingerprint = machine::Fingerprint(machine.facts);
  if (identity.l2_bytes > 0) machine.cache_bytes[Level::kL2] = identity.l2_bytes;
  return machine;
}

machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                     const std::function<double()>& now) {
  GpuSession session{bench, options, now, EffortOf(options), bench.Describe(), {}, {}};
  machine::Machine machine = DescribeGpu(session.gpu.identity);
  MeasureGpuRows(session);
  RefuseNothing(session);
  AddRows(session, machine);
  AddFacts(session, machine);
  if (!session.Stopped()) MeasureGpuOverheads(session, machine);
  WatchGpuFor10Seconds(session, machine);
  if (session.Stopped())
    machine.facts["ended_early"] = fmt::format(
        "{} of {} rows were measured in all passes",
        std::ranges::count_if(session.rows,
                              [&](const GpuRowState& state) {
                                return std::ssize(state.passes) == session.effort.passes;
                              }),
        session.rows.size());
  ChooseGpuRoofs(machine.by_threads.at(1).flops);
  AddLevels(session, machine);
  machine.measured_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return machine;
}

}  // namespace dlroof::gpu_ceilings
