#include "baselines/statistics/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

// A larger drift is no noise. A common shift reports it (common_shift.h).
constexpr double kMostDrift = 0.02;
constexpr double kMedianOfChiSquare = 0.454936;  // one degree of freedom

double Centre(const std::vector<Shift>& shifts) {
  std::vector<double> logs;
  logs.reserve(shifts.size());
  for (const auto& shift : shifts) logs.push_back(shift.log_ratio);
  return Median(std::move(logs));
}

bool Explains(double deviation, double centre, const std::vector<Shift>& shifts) {
  const double between = 2 * deviation * deviation;
  std::size_t near = 0;
  for (const auto& shift : shifts) {
    const double distance = shift.log_ratio - centre;
    const double variance = shift.standard_error * shift.standard_error + between;
    near += distance * distance <= kMedianOfChiSquare * variance ? 1 : 0;
  }
  return 2 * near >= shifts.size();
}

// The least deviation between `low` and `high` that explains the shifts; `high` if none does.
double LeastThatExplains(double low, double high, double centre, const std::vector<Shift>& shifts) {
  if (Explains(low, centre, shifts)) return low;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (Explains(middle, centre, shifts) ? high : low) = middle;
  }
  return high;
}

// Half of a symmetrical spread tells all of it: of the slower and of the faster benchmarks the
// smaller deviation, so that changes for the worse alone (or the better) do not count.
double DeviationBothWays(const std::vector<Shift>& shifts) {
  std::vector<Shift> slower, faster;
  for (const auto& shift : shifts) (shift.log_ratio > 0 ? slower : faster).push_back(shift);
  if (2 * std::min(slower.size(), faster.size()) < kLeastShifts) return kMostRunNoise;
  return std::min(LeastThatExplains(kMostRunNoise, kMostNoiseBothWays, 0, slower),
                  LeastThatExplains(kMostRunNoise, kMostNoiseBothWays, 0, faster));
}

}  // namespace

std::optional<double> DeviationBetweenRuns(const std::vector<Shift>& shifts) {
  if (shifts.size() < kLeastShifts) return std::nullopt;
  const double deviation = LeastThatExplains(kLeastRunNoise, kMostRunNoise, Centre(shifts), shifts);
  return deviation < kMostRunNoise ? deviation : DeviationBothWays(shifts);
}

RunNoise EstimateRunNoise(const std::vector<Shift>& stored, const std::vector<Shift>& compared) {
  const auto before = DeviationBetweenRuns(stored), here = DeviationBetweenRuns(compared);
  const double drift = here ? std::min(std::abs(Centre(compared)), kMostDrift) : 0;
  if (!before && !here)
    return {kUsualRunNoise, kLeastShifts, drift,
            fmt::format("assumed: fewer than {} benchmarks to learn it from", kLeastShifts)};
  const bool from_stored = before && (!here || *before >= *here);
  const auto& shifts = from_stored ? stored : compared;
  // A median has about 0.37 of the efficiency of the mean of squares.
  const double deviation = from_stored ? *before : *here;
  auto from = from_stored ? fmt::format("from {} pairs of stored results", shifts.size())
                          : fmt::format("from the spread of {} benchmarks over these two runs",
                                        shifts.size());
  if (deviation > kMostRunNoise)
    from += ", which moved both ways: the machine was not in one state; run --ab compares by turns";
  return {deviation, 0.37 * static_cast<double>(shifts.size()), drift, std::move(from)};
}

}  // namespace dlroof
