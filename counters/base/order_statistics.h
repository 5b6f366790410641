// Statistics that assume nothing about the distribution: they rest on the order of the values only.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace dlroof {

// Mean of the two middle values when there is an even number. Throws std::invalid_argument when
// there is none.
double Median(std::vector<double> values);
double MedianOfSorted(const std::vector<double>& rising);

// The narrowest pair of order statistics, symmetric in rank, that covers the median with at least
// 95 % (binomial; e.g. David and Nagaraja, Order Statistics, 7.1). Absent below 6 values: even
// minimum and maximum of 5 cover it with 93.75 % only.
std::optional<std::pair<double, double>> MedianInterval95(std::vector<double> values);
std::optional<std::pair<double, double>> MedianInterval95OfSorted(
    const std::vector<double>& rising);

}  // namespace dlroof
