// When a GPU's calls are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof {
namespace {

using testing::Contains;
using testing::HasSubstr;

// CUPTI leaves launches slower behind: no call may be timed after the first was counted.
TEST(RunnerOfGpu, CountsAfterTheLastCallWasTimed) {
  static std::string steps;
  [[maybe_unused]] static const bool registered =
      RegisterCounterSource({"decree", "gpu", Provenance::kMeasured,
                             [] {
                               steps += 'a';
                               return std::string();
                             },
                             [](const CountRequest& request) -> Counted {
                               if (request.name.ends_with("n5"))
                                 throw std::runtime_error("the counter broke");
                               steps += 'c';
                               Counted counted;
                               counted.work.bytes[Level::kDram] = 4711;
                               counted.how = "by decree";
                               counted.kernels = {{"gemm", 2}};
                               return counted;
                             }});
  const auto open = [] {
    auto clock = FakeClock();
    clock.once = [](const Enqueue&) {
      steps += 't';
      return 1e-2;
    };
    return clock;
  };
  steps.clear();
  std::vector<Workload> workloads;
  for (const char* problem : {"n1", "n4", "n5"})
    workloads.push_back(
        FakeWorkload(ParseBenchmarkName(std::string("Fake/gpu/none/fwd/f32/") + problem)));
  const auto records = Records(workloads, {.counters = "decree"}, "all", {open});
  ASSERT_EQ(records.size(), 3);
  EXPECT_GT(steps.find_first_of("ac"), steps.find_last_of('t')) << steps;
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 'c'), 2) << steps;
  EXPECT_EQ(records[0].work.at(Provenance::kMeasured).bytes.at(Level::kDram), 4711);
  EXPECT_EQ(records[1].work.at(Provenance::kMeasured).bytes.at(Level::kDram), 4711);
  EXPECT_EQ(records[1].work.at(Provenance::kModelled).flops.at("fp32.vector"), 1e6);
  EXPECT_EQ(records[1].kernels, (std::vector<LaunchedKernel>{{"gemm", 2}}));
  EXPECT_FALSE(records[2].work.contains(Provenance::kMeasured));
  EXPECT_THAT(records[2].counting,
              Contains(testing::Field(&CountingNote::text, HasSubstr("the counter broke"))));
  EXPECT_EQ(records[2].status, Status::kOk);
}

}  // namespace
}  // namespace dlroof
