#include "counters/energy/energy_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "counters/base/keys.h"

namespace dlroof::energy {
namespace {

constexpr std::size_t kWindows = 3;
// The 0.975 quantile of Student's t for 2 degrees of freedom.
constexpr double kStudent = 4.302652729911275;
// [s] A longer call sees an update of every counter: NVML's, the slowest, needs 20 to 100 ms.
constexpr double kSlowestUpdate = 0.1;
// [s] A counter that is not updated for this long counts as broken.
constexpr double kMaxUpdate = 1;
// [s] Maximum window: at 1000 W the counter with the smallest range (AMD, 65 kJ) wraps after 65 s.
constexpr double kMaxWindow = 60;

// Thrown if a measurement fails. The message becomes the reason in the record.
struct NoEnergy : BadInput {
  using BadInput::BadInput;
};

using Joules = std::vector<double>;  // [J] by domain

Joules ReadAll(const EnergyMeter& meter) {
  return VectorOf<double>(meter.domains, [](const auto& domain) { return domain.joules(); });
}

// Returns the energy [J] between two readings. A counter that decreased has wrapped around.
double Spent(const EnergyDomain& domain, double before, double after) {
  if (after >= before) return after - before;
  if (domain.range_joules && before <= *domain.range_joules)
    return after + (*domain.range_joules - before);
  throw NoEnergy("the energy counter of {} went back from {} J to {} J", domain.name, before,
                 after);
}

bool AnyCountedMoved(const EnergyMeter& meter, const Joules& before, const Joules& after) {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (meter.domains[i].counted && before[i] != after[i]) return true;
  return false;
}

struct Reading {
  Joules joules;
  double at = 0;  // [s] time of the reading
};

struct Window {
  Joules joules;  // [J] used in the window
  double seconds = 0;
  double calls = 0;
};

Window Between(const EnergyMeter& meter, const Reading& begin, const Reading& end, double calls) {
  Window window{{}, end.at - begin.at, calls};
  if (window.seconds > kMaxWindow)
    throw NoEnergy(
        "a window of complete calls takes {:.0f} s, and energy counters may wrap around more than "
        "once in over {:.0f} s: measure a smaller problem",
        window.seconds, kMaxWindow);
  for (std::size_t i = 0; i < begin.joules.size(); ++i) {
    const auto& domain = meter.domains[i];
    window.joules.push_back(Spent(domain, begin.joules[i], end.joules[i]));
    if (domain.counted && window.joules.back() <= 0)
      throw NoEnergy("the energy counter of {} did not advance in {:.1f} s of calls", domain.name,
                     window.seconds);
  }
  return window;
}

struct Measured {
  std::array<Window, kWindows> windows;
  std::optional<double> others_cpus;  // [1] mean number of CPUs that other programs used
};

Measured Measure(const EnergyMeter& meter, const std::function<void()>& run,
                 const EnergyWindows& windows) {
  double calls = 0;
  const auto call = [&] {
    if (windows.stopped && windows.stopped()) throw NoEnergy("interrupted");
    run();
    ++calls;
  };
  const auto read = [&] { return Reading{ReadAll(meter), windows.now()}; };
  const auto others = [&] { return windows.others ? windows.others() : std::nullopt; };
  const double start = windows.now();
  call();
  const bool short_calls = windows.now() - start < kSlowestUpdate;
  // Repeats the call until a counter is updated and returns the readings directly after that. If a
  // call is longer than the update period, returns the current readings.
  const auto next_reading = [&] {
    const Reading first = read();
    if (!short_calls) return first;
    while (true) {
      call();
      Reading reading = read();
      if (AnyCountedMoved(meter, first.joules, reading.joules)) return reading;
      if (reading.at - first.at > kMaxUpdate)
        throw NoEnergy("the energy counter of {} did not advance in {:.1f} s of calls",
                       std::ranges::find(meter.domains, true, &EnergyDomain::counted)->name,
                       reading.at - first.at);
    }
  };
  Measured measured;
  Reading begin = next_reading();
  const auto others_before = others();
  const double begun_at = begin.at;
  for (Window& window : measured.windows) {
    calls = 0;
    do call();
    while (windows.now() - begin.at < windows.least_seconds);
    Reading end = next_reading();
    window = Between(meter, begin, end, calls);
    begin = std::move(end);
  }
  if (const auto later = others(); others_before && later)
    measured.others_cpus = std::max(0.0, (*later - *others_before) / (begin.at - begun_at));
  return measured;
}

// Returns the energy [J] of one call in a window, summed over all counted domains.
double PerCall(const EnergyMeter& meter, const Window& window) {
  double joules = 0;
  for (std::size_t i = 0; i < window.joules.size(); ++i)
    if (meter.domains[i].counted) joules += window.joules[i];
  return joules / window.calls;
}

Energy Summarized(const EnergyMeter& meter, const std::array<Window, kWindows>& measured) {
  constexpr double kCount = kWindows;
  Energy energy{.from = meter.from, .covers = meter.covers};
  energy.window_seconds = std::numeric_limits<double>::max();
  double seconds = 0;
  for (const Window& window : measured) {
    seconds += window.seconds;
    energy.joules += PerCall(meter, window) / kCount;
    energy.calls += window.calls;
    energy.window_seconds = std::min(energy.window_seconds, window.seconds);
    for (std::size_t i = 0; i < window.joules.size(); ++i) {
      const auto& domain = meter.domains[i];
      (domain.counted ? energy.domains : energy.beside)[domain.name] +=
          window.joules[i] / window.calls / kCount;
    }
  }
  energy.seconds = seconds / energy.calls;
  double squares = 0;
  for (const Window& window : measured)
    squares += std::pow(PerCall(meter, window) - energy.joules, 2);
  const double half = kStudent * std::sqrt(squares / (kCount - 1) / kCount);
  if (half < energy.joules) energy.ci95 = {energy.joules - half, energy.joules + half};
  std::erase_if(energy.beside, [](const auto& domain) { return domain.second <= 0; });
  return energy;
}

}  // namespace

bool HasOthersEnergy(const Energy& energy) {
  constexpr double kMaxOthersCpus = 0.1;  // [1] CPUs; system daemons use about 0.01
  return energy.others_cpus.value_or(0) > kMaxOthersCpus;
}

EnergyMeter OpenEnergyMeter(const EnergyPlace& place) try {
  return OpenPowercap(place);
} catch (const BadInput& error) {
  return {.unavailable = Reason{fmt::format("powercap: {}", error.what())}};
}

EnergyResult MeasureEnergy(const EnergyMeter& meter, const std::function<void()>& run,
                           const EnergyWindows& windows) {
  if (meter.unavailable) return {.reason = meter.unavailable};
  try {
    const auto measured = Measure(meter, run, windows);
    EnergyResult result{.energy = Summarized(meter, measured.windows)};
    result.energy->others_cpus = measured.others_cpus;
    return result;
  } catch (const BadInput& error) {  // also if a counter cannot be read
    return {.reason = Reason{error.what()}};
  }
}

}  // namespace dlroof::energy
