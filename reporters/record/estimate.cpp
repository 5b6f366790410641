#include "reporters/record/estimate.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/text/text.h"

namespace dlroof::record {

std::optional<double> FastestMeasured(const std::vector<Repetition>& repetitions,
                                      const Timing& timing) {
  constexpr double kRounding = 1e-5;  // [1] times in files have six digits
  if (!timing.noisy || repetitions.empty()) return std::nullopt;
  const double fastest = std::ranges::min_element(repetitions, {}, &Repetition::seconds)->seconds;
  return timing.median < fastest * (1 - kRounding) ? std::optional(fastest) : std::nullopt;
}

std::string EstimateText(const std::vector<Repetition>& repetitions, const Timing& timing) {
  const auto fastest = FastestMeasured(repetitions, timing);
  if (!fastest) return "";
  return fmt::format(
      "{} is the CPU time of its only thread, which waited for a CPU the rest of the time (both "
      "add up to the time that passed); the fastest repetition took {}",
      text::WithPrefix(timing.median, "s"), text::WithPrefix(*fastest, "s"));
}

}  // namespace dlroof::record
