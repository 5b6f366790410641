#include "ceilings/cpu_kernels/flops_proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ceilings/machine/ceiling.h"

namespace dlroof::cpu_kernels {
namespace {

// Three instructions on two and three ports are never spread over them perfectly: 0.977 of the
// ports' rate was the best of some hundred orders on Cascade Lake.
double PerCycleTolerance(Issue issue) { return issue == Issue::kThree ? 0.04 : 0.03; }

// [flop/cycle] of one thread that the row meets; absent where it has no clock or meets none.
std::optional<double> MetValue(const FlopsProbe& probe, const machine::CeilingSet& set) {
  const auto row = set.flops.find(probe.key);
  if (row == set.flops.end()) return std::nullopt;
  const auto& proof = row->second.proof;
  if (!proof.per_cycle || !proof.per_cycle_expected) return std::nullopt;
  const double distance = std::abs(*proof.per_cycle / *proof.per_cycle_expected - 1);
  return distance <= PerCycleTolerance(probe.issue) ? proof.per_cycle_expected : std::nullopt;
}

std::optional<double> KnownStepsPerCycle(const FlopsProbe& probe, const CoreRates& core) {
  if (probe.operands != Operands::kFp32 && probe.operands != Operands::kFp64) return std::nullopt;
  const bool wide = probe.vector_bytes == 64;
  if (probe.recurrence == Recurrence::kFusedMultiplyAdd) return wide ? core.fused_512 : core.fused;
  if (probe.issue == Issue::kTwo) return wide ? core.separate_512 : core.separate;
  return std::nullopt;
}

struct KnownCore {
  std::string_view vendor;
  unsigned family, first_model, last_model;
  CoreRates rates;
};

constexpr std::optional<double> kUnknown;
constexpr KnownCore kCores[] = {
    {"AuthenticAMD", 25, 0x10, 0x1f, {2, 1, 2, 1}},           // Genoa
    {"AuthenticAMD", 25, 0x60, 0x7f, {2, 1, 2, 1}},           // Raphael, Phoenix
    {"AuthenticAMD", 25, 0xa0, 0xaf, {2, 1, 2, 1}},           // Bergamo, Siena
    {"AuthenticAMD", 26, 0x00, 0x1f, {2, 2, 2, 2}},           // Turin
    {"GenuineIntel", 6, 85, 85, {2, kUnknown, 1, kUnknown}},  // Skylake-SP to Cooper Lake
    {"GenuineIntel", 6, 143, 143, {2, 2, kUnknown, kUnknown}},
    {"GenuineIntel", 6, 173, 174, {2, 2, kUnknown, kUnknown}},
    {"GenuineIntel", 6, 207, 207, {2, 2, kUnknown, kUnknown}},
};

}  // namespace

CoreRates RatesOf(const cpu::Cpu& cpu) {
  for (const auto& core : kCores)
    if (cpu.vendor == core.vendor && cpu.family == core.family && cpu.model >= core.first_model &&
        cpu.model <= core.last_model)
      return core.rates;
  return {};
}

std::vector<double> AdmissibleStepsPerCycle(const FlopsProbe& probe, const CoreRates& core) {
  if (const auto known = KnownStepsPerCycle(probe, core)) return {*known};
  // By Issue. Two instructions have 2/3, for vpmulld is two operations, with the addition on two
  // ports, and 3/2, where three ports take them.
  static const std::vector<double> kAllowed[] = {{0.5, 1, 2},
                                                 {0.5, 2.0 / 3, 1, 1.5, 2},
                                                 {1.0 / 3, 0.5, 2.0 / 3, 1},
                                                 {1.0 / 32, 1.0 / 16, 1.0 / 8},
                                                 {}};
  return kAllowed[static_cast<std::size_t>(probe.issue)];
}

void JudgePerCycle(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core) {
  auto admissible = AdmissibleStepsPerCycle(probe, core);
  if (!ceiling.proof.per_cycle || admissible.empty()) return;
  const double measured = *ceiling.proof.per_cycle;
  for (auto& each : admissible) each *= FlopsPerStep(probe);
  const auto distance = [&](double value) { return std::abs(measured / value - 1); };
  const double nearest = *std::ranges::min_element(
      admissible, [&](double a, double b) { return distance(a) < distance(b); });
  ceiling.proof.per_cycle_expected = nearest;
  const double tolerance = PerCycleTolerance(probe.issue);
  if (distance(nearest) <= tolerance) return;
  machine::Doubt(ceiling,
        fmt::format("{:.4g} flop per cycle of one thread at {:.4g} GHz, and {} allows {:.4g} "
                    "within {:.0f} %: another program used the core, or the kernel is another",
                    measured, ceiling.clock_hz.value_or(0) / 1e9, probe.instructions,
                    fmt::join(admissible, ", "), 100 * tolerance));
}

bool MeetsItsOwnValue(const FlopsProbe& probe, int threads,
                      const std::map<int, machine::CeilingSet>& by_threads, const CoreRates& core) {
  const auto admissible = AdmissibleStepsPerCycle(probe, core);
  const auto value = MetValue(probe, by_threads.at(threads));
  if (!value || admissible.empty()) return false;
  if (*value == admissible.back() * FlopsPerStep(probe)) return true;
  bool confirmed = false;
  for (const auto& [others, set] : by_threads) {
    const auto theirs = others == threads ? std::nullopt : MetValue(probe, set);
    if (theirs && *theirs > *value) return false;
    confirmed = confirmed || theirs == value;
  }
  return confirmed;
}

}  // namespace dlroof::cpu_kernels
