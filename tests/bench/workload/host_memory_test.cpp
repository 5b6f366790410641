#include "bench/workload/host_memory.h"

#include <gtest/gtest.h>

#include "bench/workload/workload.h"

namespace dlroof {
namespace {

TEST(HostMemory, WhatCannotFitIsUnsupportedAndNotTried) {
  EXPECT_NO_THROW(RequireHostMemory(1e6, "a small one"));
  EXPECT_THROW(RequireHostMemory(1e18, "a large one"), Unsupported);
  // 2^31 - 1 images of 64 channels, 2.2e15 byte and more in double.
  const auto workload = MakeWorkload("Conv2D/cpu/reference/fwd/f64/n2147483647c64h64w64k64r1s1");
  EXPECT_THROW(workload.prepare({}), Unsupported);
}

}  // namespace
}  // namespace dlroof
