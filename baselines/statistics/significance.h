// Tails and quantiles of the normal and Student's t distribution, and the control of false
// discoveries. Pure.
#pragma once

#include <vector>

namespace dlroof::statistics {

// P(Z > z), Z standard normal.
double NormalTail(double z);
// z with P(Z <= z) = probability, 0 < probability < 1; to 1e-9.
double NormalQuantile(double probability);

// P(|T| > t) of Student's t with `degrees` > 0 degrees of freedom; relative error below 1e-10.
double StudentTwoSided(double t, double degrees);
// t with P(|T| > t) = 0.05. `degrees` are rounded down, to at least 1 and at most 200, which errs
// on the wide side. Costs microseconds.
double StudentQuantile95(double degrees);

// Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289: the adjusted
// p-value of each, in their order. Rejecting those of at most q keeps the expected share of false
// ones among the rejected below q, where the tests are independent or depend positively (Benjamini
// and Yekutieli, Annals of Statistics 29 (2001) 1165), as those of one run do through the state of
// its machine.
std::vector<double> AdjustedPValues(const std::vector<double>& p_values);

}  // namespace dlroof::statistics
