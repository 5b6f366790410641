// The primitives that a call executes, as oneDNN logs them.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <dnnl.hpp>
#include <regex>
#include <vector>

#include "bench/workload/workload.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::fakes {

// The log's clock has microseconds: the time 0 of a faster call becomes one, since the reader
// leaves lines with such a time out.
inline std::vector<logs::Primitive> LoggedPrimitives(const workload::PreparedCall& call) {
  testing::internal::CaptureStdout();
  dnnl::set_verbose(1);
  call.run();
  dnnl::set_verbose(0);
  std::fflush(stdout);
  const auto log = logs::ReadVerboseLog(
      std::regex_replace(testing::internal::GetCapturedStdout(), std::regex(",0\n"), ",0.001\n"));
  std::vector<logs::Primitive> primitives;
  for (const auto& execution : log.executions)
    primitives.push_back(logs::ReadPrimitive(log.primitives[execution.primitive]));
  return primitives;
}

struct LoggedWork {
  double flops = 0, bytes = 0;
};
inline LoggedWork WorkOf(const std::vector<logs::Primitive>& primitives) {
  LoggedWork sum;
  for (const auto& primitive : primitives) {
    const auto work = logs::WorkOf(primitive);
    EXPECT_FALSE(work.reason) << work.reason->text << ": " << primitive.text.problem;
    sum.flops += work.matrix.value_or(0) + work.elementwise.value_or(0);
    sum.bytes += work.bytes.value_or(0);
  }
  return sum;
}

}  // namespace dlroof::fakes
