#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cpu_kernels {
namespace {

// Steps of three instructions never keep all of their ports busy: the best of some hundred
// instruction orders reached 0.977 of the ports' rate on Cascade Lake.
double PerCycleTolerance(Issue issue) { return issue == Issue::kThree ? 0.04 : 0.03; }

// Returns per_cycle_expected [flop/cycle] of the row if it reached this value, otherwise nullopt.
std::optional<double> ReachedValue(const FlopsProbe& probe, const machine::Ceiling* row) {
  if (row == nullptr || !row->validation.per_cycle || !row->validation.per_cycle_expected)
    return std::nullopt;
  const auto& validation = row->validation;
  const double distance = std::abs(*validation.per_cycle / *validation.per_cycle_expected - 1);
  return distance <= PerCycleTolerance(probe.issue) ? validation.per_cycle_expected : std::nullopt;
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
constexpr double kGoldenCovePairs = 1.36;  // [1/cycle] 0.907 x 1.5
constexpr KnownCore kCores[] = {
    {"AuthenticAMD", 23, 0x30, 0x7f, {2, kUnknown, 2, kUnknown}},  // Zen 2
    {"AuthenticAMD", 25, 0x00, 0x0f, {2, kUnknown, 2, kUnknown}},  // Milan
    {"AuthenticAMD", 25, 0x20, 0x5f, {2, kUnknown, 2, kUnknown}},  // Vermeer, Cezanne
    {"AuthenticAMD", 25, 0x10, 0x1f, {2, 1, 2, 1}},                // Genoa
    {"AuthenticAMD", 25, 0x60, 0x7f, {2, 1, 2, 1}},                // Raphael, Phoenix
    {"AuthenticAMD", 25, 0xa0, 0xaf, {2, 1, 2, 1}},                // Bergamo, Siena
    {"AuthenticAMD", 26, 0x00, 0x1f, {2, 2, 2, 2}},                // Turin
    {"GenuineIntel", 6, 85, 85, {2, kUnknown, 1, kUnknown}},       // Skylake-SP to Cooper Lake
    {"GenuineIntel", 6, 143, 143, {2, 2, kGoldenCovePairs, kUnknown}},
    {"GenuineIntel", 6, 173, 174, {2, 2, kUnknown, kUnknown}},
    {"GenuineIntel", 6, 207, 207, {2, 2, kGoldenCovePairs, kUnknown}},
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
  // Steps that a core can start per cycle, one list per value of Issue. kTwo: 2/3 if the step's
  // three micro-operations share two ports, 3/2 if its two instructions share three ports.
  static const std::vector<double> kAllowed[] = {{0.5, 1, 2},
                                                 {0.5, 2.0 / 3, 1, 1.5, 2},
                                                 {1.0 / 3, 0.5, 2.0 / 3, 1},
                                                 {1.0 / 32, 1.0 / 16, 1.0 / 8}};
  return kAllowed[static_cast<std::size_t>(probe.issue)];
}

void JudgePerCycle(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core) {
  auto admissible = AdmissibleStepsPerCycle(probe, core);
  if (!ceiling.validation.per_cycle) return;
  const double measured = *ceiling.validation.per_cycle;
  for (auto& each : admissible) each *= FlopsPerStep(probe);
  const auto distance = [&](double value) { return std::abs(measured / value - 1); };
  const double nearest = *std::ranges::min_element(
      admissible, [&](double a, double b) { return distance(a) < distance(b); });
  ceiling.validation.per_cycle_expected = nearest;
  if (!ceiling.visits.empty()) ceiling.visits.back().per_cycle_expected = nearest;
  const double tolerance = PerCycleTolerance(probe.issue);
  if (distance(nearest) <= tolerance) return;
  machine::AddReason(
      ceiling,
      fmt::format("{:.4g} flop per cycle of one thread at {:.4g} GHz, but {} allows {:.4g} within "
                  "{:.0f} %: something held the core's units back, or the clock was another one "
                  "while the kernel ran",
                  measured, ceiling.clock_hz.value_or(0) / 1e9, probe.instructions,
                  fmt::join(admissible, ", "), 100 * tolerance));
}

void ValidateAtTheLimit(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core) {
  const auto admissible = AdmissibleStepsPerCycle(probe, core);
  if (ceiling.IsValidated() || ceiling.unbounded ||
      ReachedValue(probe, &ceiling) != admissible.back() * FlopsPerStep(probe))
    return;
  ceiling.status = machine::CeilingStatus::kValidated;
  ceiling.reasons.clear();
  ceiling.how += "; as many operations per cycle as the core can start";
}

bool IsConfirmedPerCycle(const FlopsProbe& probe, int threads,
                         const std::map<int, machine::CeilingSet>& by_threads,
                         const CoreRates& core) {
  const auto admissible = AdmissibleStepsPerCycle(probe, core);
  const auto reached = [&](const machine::CeilingSet& set) {
    return ReachedValue(probe, FindValue(set.flops, probe.key));
  };
  const auto value = reached(by_threads.at(threads));
  if (!value) return false;
  if (*value == admissible.back() * FlopsPerStep(probe)) return true;
  bool confirmed = false;
  for (const auto& [others, set] : by_threads) {
    const auto theirs = others == threads ? std::nullopt : reached(set);
    if (theirs && *theirs > *value) return false;
    confirmed = confirmed || theirs == value;
  }
  return confirmed;
}

namespace {

// ---- Reference loops of the arithmetic kernels. They are compiled without contraction: only
// std::fma rounds a product and a sum once. ----

using Memory = std::array<std::byte, 4096>;

template <class T>
T Get(const Memory& memory, std::size_t element) {
  T value;
  std::memcpy(&value, memory.data() + element * sizeof value, sizeof value);
  return value;
}

template <class T>
void Put(Memory& memory, std::size_t element, T value) {
  std::memcpy(memory.data() + element * sizeof value, &value, sizeof value);
}

// Whole numbers that are so small that a few products and sums are exact in every type and order.
// Periods of 3 and 5: elements whose distance is a power of two differ in at least one operand.
int WholeFirst(std::size_t element) { return std::array{1, -1, 2}[element % 3]; }
int WholeSecond(std::size_t element) { return static_cast<int>(element % 5) - 2; }
int WholeStart(std::size_t element) { return static_cast<int>(element % 7); }
// int8 operands have the full range; sums of two products still fit in 16 bits.
int Int8First(std::size_t element) { return static_cast<int>(element % 127); }
int Int8Second(std::size_t element) { return static_cast<int>(element * 37 % 255) - 127; }

void PutHalf(FloatFormat format, Memory& memory, std::size_t element, int value) {
  Put(memory, element, static_cast<std::uint16_t>(EncodeFloat(value, format)));
}

void PutOperand(Operands operands, Memory& memory, std::size_t element, int value) {
  if (operands == Operands::kInt8)
    Put(memory, element, static_cast<std::uint8_t>(value));
  else
    PutHalf(operands == Operands::kFp16 ? kFp16Format : kBf16Format, memory, element, value);
}

void PutWhole(const FlopsProbe& probe, Memory& memory, std::size_t element, int value) {
  if (AccumulatorBytes(probe) == 2)
    PutHalf(kFp16Format, memory, element, value);
  else if (probe.operands == Operands::kInt8)
    Put(memory, element, std::int32_t{value});
  else
    Put(memory, element, static_cast<float>(value));
}

// Functions that write operands and accumulators, and the value of an element after `steps` steps.
struct Reference {
  void (*fill)(const FlopsProbe& probe, Workspace& workspace);
  void (*evaluate)(const FlopsProbe& probe, std::size_t element, int steps, Workspace& workspace);
};

// Fills operands and accumulators with values that all differ and use every mantissa bit.
template <class T>
void FillElements(const FlopsProbe& /*probe*/, Workspace& workspace) {
  constexpr std::size_t kElements = kSecondOperand / sizeof(T);
  for (std::size_t e = 0; e < kElements; ++e) {
    const auto n = static_cast<T>(e);
    Put(workspace.operands, e, (n + 1) * 3 / (n + 4));
    Put(workspace.operands, kElements + e, 5 / (n + 3));
  }
  for (std::size_t i = 0; i < workspace.accumulators.size() / sizeof(T); ++i)
    Put(workspace.accumulators, i, 1 / (static_cast<T>(i) + 3));
}

template <class T>
void EvaluateElement(const FlopsProbe& probe, std::size_t element, int steps,
                     Workspace& workspace) {
  const std::size_t lane = element % (probe.vector_bytes / sizeof(T));
  const T x = Get<T>(workspace.operands, kFirstOperand / sizeof(T) + lane);
  const T y = Get<T>(workspace.operands, kSecondOperand / sizeof(T) + lane);
  T a = Get<T>(workspace.accumulators, element);
  for (int step = 0; step < steps; ++step)
    a = probe.recurrence == Recurrence::kFusedMultiplyAdd ? std::fma(a, x, y) : a * x + y;
  Put(workspace.accumulators, element, a);
}

void FillWhole(const FlopsProbe& probe, Workspace& workspace) {
  const std::size_t elements = kSecondOperand / OperandBytes(probe.operands);
  const bool int8 = probe.operands == Operands::kInt8;
  for (std::size_t e = 0; e < elements; ++e) {
    PutOperand(probe.operands, workspace.operands, e, int8 ? Int8First(e) : WholeFirst(e));
    PutOperand(probe.operands, workspace.operands, elements + e,
               int8 ? Int8Second(e) : WholeSecond(e));
  }
  for (std::size_t i = 0; i < workspace.accumulators.size() / AccumulatorBytes(probe); ++i)
    PutWhole(probe, workspace.accumulators, i, WholeStart(i));
}

int Product(Operands operands, std::size_t first, std::size_t second) {
  return operands == Operands::kInt8 ? Int8First(first) * Int8Second(second)
                                     : WholeFirst(first) * WholeSecond(second);
}

int DotOfLane(const FlopsProbe& probe, std::size_t element) {
  const std::size_t group = AccumulatorBytes(probe) / OperandBytes(probe.operands);
  const std::size_t lane = element % (probe.vector_bytes / AccumulatorBytes(probe));
  int sum = 0;
  for (std::size_t e = lane * group; e < (lane + 1) * group; ++e)
    sum += Product(probe.operands, e, e);
  return sum;
}

// Accumulator tile t is the product of x's tile t / 2 and y's tile t % 2. A row of y's tile
// contains `group` rows of the matrix interleaved (Intel SDM volume 2, TDPBUSD).
int DotOfTile(const FlopsProbe& probe, std::size_t element) {
  constexpr std::size_t kSide = 16, kRowBytes = 64;
  const std::size_t in_row = kRowBytes / OperandBytes(probe.operands), group = in_row / kSide;
  const std::size_t tile = element / (kSide * kSide), row = element / kSide % kSide;
  const std::size_t column = element % kSide, in_tile = kSide * in_row;
  int sum = 0;
  for (std::size_t k = 0; k < in_row; ++k)
    sum += Product(probe.operands, tile / 2 * in_tile + row * in_row + k,
                   tile % 2 * in_tile + k / group * in_row + column * group + k % group);
  return sum;
}

void EvaluateWhole(const FlopsProbe& probe, std::size_t element, int steps, Workspace& workspace) {
  int a = WholeStart(element);
  if (probe.recurrence == Recurrence::kDot) {
    a += steps * DotOfLane(probe, element);
  } else if (probe.recurrence == Recurrence::kTile) {
    a += steps * DotOfTile(probe, element);
  } else {
    const std::size_t lane = element % (probe.vector_bytes / OperandBytes(probe.operands));
    for (int step = 0; step < steps; ++step) a = a * WholeFirst(lane) + WholeSecond(lane);
  }
  PutWhole(probe, workspace.accumulators, element, a);
}

Reference ReferenceOf(const FlopsProbe& probe) {
  switch (probe.operands) {
    case Operands::kFp64:
      return {FillElements<double>, EvaluateElement<double>};
    case Operands::kFp32:
      return {FillElements<float>, EvaluateElement<float>};
    default:
      return {FillWhole, EvaluateWhole};
  }
}

std::optional<Reason> Difference(const FlopsProbe& probe, std::size_t elements, int iterations,
                                 const Memory& got, const Memory& expected) {
  const std::size_t bytes = AccumulatorBytes(probe);
  for (std::size_t i = 0; i < got.size() / bytes; ++i)
    if (std::memcmp(got.data() + i * bytes, expected.data() + i * bytes, bytes) != 0)
      return Reason{
          i < elements
              ? fmt::format("after {} iterations element {} of its {} accumulators differs "
                            "from a plain loop",
                            iterations, i, probe.accumulators)
              : fmt::format("it writes beyond the {} accumulators that it counts",
                            probe.accumulators)};
  return std::nullopt;
}

}  // namespace

KernelValidation ValidateFlopsKernel(const FlopsProbe& probe, Workspace& workspace) {
  const auto reference = ReferenceOf(probe);
  const std::size_t elements =
      probe.vector_bytes / AccumulatorBytes(probe) * static_cast<std::size_t>(probe.accumulators);
  if (elements * AccumulatorBytes(probe) > workspace.accumulators.size())
    throw std::logic_error(fmt::format("{}: too little memory for its accumulators", probe.key));
  for (const int iterations : {1, 2, 7}) {
    reference.fill(probe, workspace);
    for (std::size_t i = 0; i < elements; ++i)
      reference.evaluate(probe, i, iterations * probe.sweeps, workspace);
    const auto expected = workspace.accumulators;
    reference.fill(probe, workspace);
    probe.kernel(workspace, iterations);
    if (const auto difference =
            Difference(probe, elements, iterations, workspace.accumulators, expected))
      return {false, difference->text};
  }
  return {true,
          fmt::format("1, 2 and 7 iterations equal plain loops in all {} elements", elements)};
}

namespace {

constexpr double kLonger = 1.04;       // [1] min iteration time with / without the chain
constexpr double kSamePace = 0.015;    // [1] max difference of two chains' Pace
constexpr double kReadSeconds = 8e-5;  // [s] of one reading
constexpr int kTries = 5;
constexpr std::size_t kReadings = 5;
constexpr std::size_t kWidestOnSharedPorts = 32;  // [byte]

double Pace(const ClockTrial& trial) { return trial.seconds / trial.multiplications; }

double FastestIteration(const std::function<double(Kernel kernel, std::int64_t iterations)>& run,
                        Kernel kernel) {
  constexpr double kMin = 1e-12;  // [s]
  std::int64_t iterations = 64;
  double seconds = run(kernel, iterations);
  while (seconds < kReadSeconds / 2 && iterations < std::int64_t{1} << 40) {
    iterations *= 4;
    seconds = run(kernel, iterations);
  }
  for (int i = 1; i < kTries; ++i) seconds = std::min(seconds, run(kernel, iterations));
  return std::max(kMin, seconds / static_cast<double>(iterations));
}

}  // namespace

std::optional<std::size_t> ChooseClock(double kernel_seconds, const std::vector<ClockTrial>& trials,
                                       bool shares_ports) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].seconds < kLonger * kernel_seconds) continue;
    if (!shares_ports) return i;
    const auto longer = trials.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (longer == trials.end()) return std::nullopt;
    const double fastest = Pace(*std::ranges::min_element(longer, trials.end(), {}, Pace));
    if (std::abs(Pace(trials[i]) / fastest - 1) <= kSamePace) return i;
  }
  return std::nullopt;
}

std::optional<LoadClock> FindLoadClock(
    const FlopsProbe& probe,
    const std::function<double(Kernel kernel, std::int64_t iterations)>& run) {
  if (probe.clocks.empty()) return std::nullopt;
  const double alone = FastestIteration(run, probe.kernel);
  std::vector<ClockTrial> trials;
  trials.reserve(probe.clocks.size());
  for (const auto& [multiplications, kernel] : probe.clocks)
    trials.push_back({multiplications, FastestIteration(run, kernel)});
  const auto chosen = ChooseClock(alone, trials, probe.vector_bytes <= kWidestOnSharedPorts);
  if (!chosen) return std::nullopt;
  const auto iterations = std::llround(kReadSeconds / trials[*chosen].seconds);
  return LoadClock{probe.clocks[*chosen], std::max<std::int64_t>(1, iterations)};
}

double MeasureLoadClock(const LoadClock& clock, Workspace& workspace) {
  const double cycles = kCyclesPerMultiplication * clock.clock.multiplications *
                        static_cast<double>(clock.iterations);
  std::array<double, kReadings> seconds{};
  for (auto& each : seconds) {
    const double begin = cpu::WallSeconds();
    clock.clock.kernel(workspace, clock.iterations);
    each = cpu::WallSeconds() - begin;
  }
  std::ranges::nth_element(seconds, seconds.begin() + kReadings / 2);
  return cycles / seconds[kReadings / 2];
}

}  // namespace dlroof::cpu_kernels
