// Results of operators on rows (bench/rows/operator.h), right and wrong.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "bench/rows/operator.h"
#include "bench/workload/memory.h"

namespace dlroof::fakes {

// Returns what a library may leave: the loops' result, rounded to the case's type.
template <class Case>
std::vector<float> RightResult(const Case& one, const rows::Tensors<float>& in) {
  rows::Tensors<double> wide{{in.source.begin(), in.source.end()}};
  for (const auto& from : in.parameters) wide.parameters.emplace_back(from.begin(), from.end());
  std::vector<double> exact(in.source.size());
  RunLoops(one, wide, exact);
  std::vector<float> output(exact.begin(), exact.end());
  if (one.type == "bf16")
    for (float& value : output) value = workload::RoundToBf16(value);
  return output;
}

// Expects that the check takes the right result, and finds a first or last element that is wrong:
// changed by `plant`, or not a number.
template <class Case>
void ExpectCheckFindsOneElement(const Case& one, const std::function<void(float&)>& plant) {
  const auto in = SeededTensors(one, 5);
  const auto right = RightResult(one, in);
  EXPECT_TRUE(rows::Check(one, in, right, 5).ok) << one.type << ToText(one.rows);
  for (const size_t at : {size_t{0}, right.size() - 1}) {
    auto wrong = right;
    plant(wrong[at]);
    EXPECT_FALSE(rows::Check(one, in, wrong, 5).ok) << one.type << ToText(one.rows) << at;
    wrong[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(rows::Check(one, in, wrong, 5).ok) << one.type << ToText(one.rows) << at;
  }
}

}  // namespace dlroof::fakes
