#include "counters/gpu/sm_stamps.h"

#include <cstddef>

namespace dlroof {

std::optional<double> MeanClockHz(const std::vector<SmStamp>& stamps) {
  // The GPU's timer may count in steps of 1 us: below this its quotient is not worth 1 %.
  constexpr unsigned long long kLeastNanoseconds = 200'000;
  const std::size_t sms = stamps.size() / 2;
  double sum = 0;
  int known = 0;
  for (std::size_t sm = 0; sm < sms; ++sm) {
    const auto& before = stamps[sm];
    const auto& after = stamps[sms + sm];
    if (before.nanoseconds == 0 || after.nanoseconds < before.nanoseconds + kLeastNanoseconds ||
        after.cycles <= before.cycles)
      continue;
    sum += 1e9 * static_cast<double>(after.cycles - before.cycles) /
           static_cast<double>(after.nanoseconds - before.nanoseconds);
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum / known;
}

}  // namespace dlroof
