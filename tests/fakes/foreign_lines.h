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

// Expects that each line is one benchmark of the backend ("Softmax/cpu/onednn/"), or has its
// reason.
inline void ExpectBenchmarks(std::span<const ForeignLine> lines, const std::string& backend) {
  for (const auto& [line, expected] : lines) {
    const auto read = suites::ReadBenchdnn(line, "line");
    ASSERT_EQ(read.size(), 1U) << line;
    const std::string text = expected;
    if (text[0] == '!')
      EXPECT_EQ(read[0].reason, text.substr(1)) << line << read[0].name.value_or("");
    else
      EXPECT_EQ(read[0].name, backend + text) << line << ": " << read[0].reason;
  }
}

}  // namespace dlroof::fakes
