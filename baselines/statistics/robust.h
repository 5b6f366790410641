// Robust estimates that several benchmarks share: a location with its standard error, the scatter
// beyond known errors, and variances moderated by those of other benchmarks. Pure.
#pragma once

#include <optional>
#include <vector>

namespace dlroof::statistics {

// A value with its squared standard error.
struct Estimate {
  double value = 0;
  double variance = 0;  // of `value`
};

// Returns Tukey's biweight location of the values (cut at 4 standard errors, weighted by
// 1 / (variance + 2 between^2), from the median on), and its variance. Up to about a third of the
// values may belong to something else. Returns nothing for no values; of fewer than four values it
// is the median, with the variance of the weighted mean.
std::optional<Estimate> BiweightLocation(const std::vector<Estimate>& values, double between);

// Returns the deviation `between` for which the values within 2.5 standard errors (of variance +
// 2 between^2) of `centre` scatter as much as a normal distribution that is truncated there, so
// that changed benchmarks, which are mostly beyond, have no influence (Efron's central matching,
// JASA 99 (2004) 96). Returns nothing if fewer than 70 % of the values are within.
std::optional<double> CentralDeviation(const std::vector<Estimate>& values, double centre);

// A sample variance and its degrees of freedom.
struct Spread {
  double variance = 0, degrees = 0;
};

// The distribution of the benchmarks' true variances: scaled inverse chi-square.
struct SpreadPrior {
  double variance = 0, degrees = 0;

  // Returns the posterior mean of the variance and its degrees of freedom.
  Spread Moderated(const Spread& own) const {
    const double all = own.degrees + degrees;
    return {all > 0 ? (own.degrees * own.variance + degrees * variance) / all : 0, all};
  }
};

// Estimates the prior by the moments of log(variance) (Smyth, Statistical Applications in Genetics
// and Molecular Biology 3 (2004) 3, section 6.2). Few samples are completed by an assumed scatter.
SpreadPrior PriorOfSpreads(const std::vector<Spread>& spreads);

}  // namespace dlroof::statistics
