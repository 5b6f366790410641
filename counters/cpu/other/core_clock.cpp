#include "counters/cpu/core_clock.h"

namespace dlroof {

std::optional<double> MeasureCoreClock() { return std::nullopt; }

}  // namespace dlroof
