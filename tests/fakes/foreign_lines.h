// Lines of benchdnn that others wrote, and the benchmarks that they are.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "bench/suites/suite.h"

namespace dlroof::fakes {

struct ForeignLine {
  const char* line;
  const char* expected;  // a benchmark's name behind `backend`, or "!" and the reason without one
};

// Returns the name of the benchmark of a line with one problem, or why there is none.
inline std::string BenchmarkOf(const std::string& line) {
  const auto read = suites::ReadBenchdnn(line, "line");
  EXPECT_EQ(read.size(), 1U) << line;
  return read.at(0).name.value_or(read.at(0).reason);
}

// Expects that each line is one benchmark of the backend ("Softmax/cpu/onednn/"), or has its
// reason.
inline void ExpectBenchmarks(std::span<const ForeignLine> lines, const std::string& backend) {
  for (const auto& [line, expected] : lines)
    EXPECT_EQ(BenchmarkOf(line), *expected == '!' ? expected + 1 : backend + expected) << line;
}

}  // namespace dlroof::fakes
