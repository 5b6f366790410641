#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr double kAbove = 1.02;    // [1] max rate / peak rate; the clock has an error of 2 %
constexpr double kScaling = 0.03;  // [1] allowed difference of Validation::scaling from 1
constexpr double kMinL2 = 16;      // [1] min DRAM arrays / L2: L2 has at most 6 % of the arrays
constexpr double kNear = 0.03;     // [1] min gain in rate over the next farther level

machine::Rate InCycles(const machine::Rate& rate, const machine::RatePolicy& policy) {
  machine::RateEvidence cycles = rate.evidence;
  for (auto* repetitions : {&cycles.single, &cycles.doubled}) {
    for (auto& repetition : *repetitions) {
      if (repetition.time.clock_hz)
        repetition.time.seconds *= *repetition.time.clock_hz;
      else
        repetition.time.wait_fraction = 1;  // marks a repetition without a clock as noisy
    }
  }
  return machine::JudgeRate(cycles, policy);
}

// Returns the share [1] of the peak that the kernel must reach, or nullopt if it need not.
std::optional<double> LeastShare(const GpuRow& row, int compute_capability) {
  if (row.unit == GpuUnit::kChain) return 0.95;
  if (row.unit == GpuUnit::kWgmma || IsMemory(row)) return 0.9;
  return row.unit == GpuUnit::kMma && compute_capability < 90 ? std::optional(0.9) : std::nullopt;
}

// Returns why too few repetitions are clean (interference, no time), or nullopt if enough are.
std::optional<Reason> TooFewReason(const machine::Rate& rate, const std::vector<GpuPass>& passes,
                                   const machine::RatePolicy& policy) {
  const auto clean = [&](const std::vector<machine::RateRepetition>& repetitions) {
    return std::ranges::count_if(repetitions,
                                 [&](const auto& each) { return machine::IsClean(each, policy); });
  };
  if (clean(rate.evidence.single) >= policy.repetitions &&
      clean(rate.evidence.doubled) >= policy.doubled)
    return std::nullopt;
  for (const auto& pass : passes)
    if (pass.interference)
      return Reason{fmt::format("in {} of {} repetitions {}", rate.total - rate.clean, rate.total,
                                pass.interference->text)};
  return Reason{fmt::format("there was time for only {} of the {} needed repetitions", rate.total,
                            policy.repetitions + policy.doubled)};
}

}  // namespace

bool RunsBySmClock(const GpuRow& row) { return !IsMemory(row) || row.level == Level::kL1; }

std::optional<Reason> GpuInterference(const GpuTime& time, std::optional<double> default_clock_hz) {
  const auto throttle = time.health.throttle.value_or(0);
  if (const auto slowdown = gpu::GpuSlowdown(throttle))
    return Reason{fmt::format("the driver reports {}", *slowdown)};
  const auto clock = time.clock_hz ? time.clock_hz : time.health.sm_clock_hz;
  if (!gpu::IsClockTooLow(clock, default_clock_hz, throttle)) return std::nullopt;
  return Reason{fmt::format("the SMs ran at {:.0f} MHz, below 75 % of their default {:.0f} MHz",
                            *clock / 1e6, *default_clock_hz / 1e6)};
}

GpuPass MeasureGpuRate(const GpuRun& run, const machine::RatePolicy& policy,
                       std::optional<double> default_clock_hz) {
  GpuPass pass;
  std::uint64_t throttle = 0;
  pass.rate = machine::MeasureRate(
      [&](std::int64_t iterations) {
        auto time = run(iterations);
        throttle = gpu::KeepPowerLimit(throttle, time.health.throttle.value_or(0));
        time.health.throttle = time.health.throttle.value_or(0) | throttle;
        const auto interference = GpuInterference(time, default_clock_hz);
        if (interference) pass.interference = interference;
        return machine::TeamTime{time.seconds, interference ? 1.0 : 0.0, time.clock_hz};
      },
      policy);
  return pass;
}

GpuRate MergeGpuPasses(const std::vector<GpuPass>& passes, const machine::RatePolicy& policy,
                       double pass_tolerance, bool by_clock) {
  std::vector<machine::Rate> rates, in_cycles;
  for (const auto& pass : passes) {
    rates.push_back(pass.rate);
    in_cycles.push_back(InCycles(pass.rate, policy));
  }
  GpuRate merged{.rate = machine::MergePasses(rates, policy, pass_tolerance)};
  if (merged.rate.IsValidated()) return merged;
  if (const auto reason = TooFewReason(merged.rate, passes, policy)) {
    merged.rate.reason = reason;
    return merged;
  }
  if (!by_clock) return merged;
  const auto cycles = machine::MergePasses(in_cycles, policy, pass_tolerance);
  if (!cycles.IsValidated()) return merged;
  merged.clock_moved = true;
  merged.rate.reason.reset();
  merged.rate.doubling = cycles.doubling;
  merged.rate.spread = cycles.spread;
  return merged;
}

void JudgeGpuPerCycle(const GpuRow& row, int compute_capability, machine::Ceiling& ceiling) {
  const auto key = IsMemory(row) ? std::string("l1") : machine::PlainPipe(row.key);
  const auto* peak = FindGpuPeak(compute_capability, key);
  if (peak == nullptr || !ceiling.validation.per_cycle) return;
  const double measured = *ceiling.validation.per_cycle;
  const auto least = LeastShare(row, compute_capability);
  const char* unit = IsMemory(row) ? "byte" : "flop";
  const auto& values = peak->per_cycle;
  ceiling.validation.per_cycle_expected = values.back();
  if (measured > kAbove * values.back())
    return machine::AddUnboundedReason(
        ceiling, fmt::format("{:.4g} {} per cycle of an SM at {:.4g} GHz, but an SM can do {:g}: "
                             "part of the work was not done, or the clock is wrong",
                             measured, unit, ceiling.clock_hz.value_or(0) / 1e9, values.back()));
  for (const double value : values)
    if (measured >= least.value_or(0) * value && measured <= kAbove * value) {
      ceiling.validation.per_cycle_expected = value;
      if (least) return;
    }
  if (least)
    machine::AddUnboundedReason(
        ceiling, fmt::format("{:.4g} {} per cycle of an SM at {:.4g} GHz, but this kernel reaches "
                             "{:.0f} % of {:g} on a quiet GPU",
                             measured, unit, ceiling.clock_hz.value_or(0) / 1e9, 100 * *least,
                             *ceiling.validation.per_cycle_expected));
}

void JudgeGpuScaling(const HalfRate& half, machine::Ceiling& ceiling) {
  const bool in_cycles = half.clock_hz && ceiling.clock_hz;
  const double clocks = in_cycles ? *ceiling.clock_hz / *half.clock_hz : 1;
  const double scaling = ceiling.per_second / clocks / (half.per_second / half.share);
  ceiling.validation.scaling = scaling;
  if (std::abs(scaling - 1) > kScaling)
    machine::AddUnboundedReason(
        ceiling,
        fmt::format(
            "{:.0f} % of the SMs do {:.1f} % of the work{}: some SMs have none, or less work "
            "is done than counted",
            100 * half.share, 100 * half.share / scaling, in_cycles ? " per cycle" : ""));
}

std::optional<double> PinBandwidth(int bus_bits, std::optional<double> memory_clock_hz) {
  constexpr double kEdges = 2, kBits = 8;
  if (bus_bits <= 0 || !memory_clock_hz) return std::nullopt;
  return bus_bits / kBits * kEdges * *memory_clock_hz;
}

void JudgeGpuLevels(const GpuMemoryFacts& facts, std::map<Level, machine::Ceiling>& best) {
  auto *l1 = FindValue(best, Level::kL1), *l2 = FindValue(best, Level::kL2),
       *dram = FindValue(best, Level::kDram);
  if (dram != nullptr && facts.dram_set_bytes < kMinL2 * facts.l2_bytes)
    machine::AddUnboundedReason(
        *dram,
        fmt::format("the set of {:.0f} MiB is only {:.1f} times the L2, {:.0f} times are "
                    "needed: part of the set stays in L2",
                    facts.dram_set_bytes / 1048576, facts.dram_set_bytes / facts.l2_bytes, kMinL2));
  if (dram != nullptr && facts.pins && dram->per_second > kAbove * *facts.pins)
    machine::AddUnboundedReason(
        *dram,
        fmt::format(
            "faster than the memory's pins ({:.4g} GB/s): part of the traffic was not DRAM's",
            *facts.pins / 1e9));
  if (l2 != nullptr && dram != nullptr && l2->per_second <= (1 + kNear) * dram->per_second)
    machine::AddUnboundedReason(*l2, "not faster than DRAM: the set did not stay in L2");
  if (l1 != nullptr && l2 != nullptr && l1->per_second <= (1 + kNear) * l2->per_second)
    machine::AddUnboundedReason(*l1, "not faster than L2: the set did not stay in L1");
}

}  // namespace dlroof::gpu_ceilings
