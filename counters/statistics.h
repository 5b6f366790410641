// Statistics that make no assumption about the shape of a distribution: timings are skewed and have
// outliers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace dlroof {

// Middle value, or the mean of the two middle ones. `values` must not be empty.
double Median(std::vector<double> values);

// Interval between two order statistics that holds the distribution's median with at least 95 %
// probability (binomial; see David and Nagaraja, Order Statistics, 7.1). Absent below 6 values:
// then even [min, max] holds it with less.
std::optional<std::pair<double, double>> MedianInterval95(std::vector<double> values);

}  // namespace dlroof
