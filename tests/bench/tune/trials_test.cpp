#include "bench/tune/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "bench/tune/space.h"

namespace dlroof::tune {
namespace {

roofline::Breakdown BreakdownOf(roofline::ComponentKind largest) {
  return {{{roofline::ComponentKind::kRoof, 5, Provenance::kModelled, ""},
           {largest, 3, Provenance::kMeasured, ""},
           {roofline::ComponentKind::kCall, 1, Provenance::kMeasured, ""}},
          9,
          1,
          std::nullopt};
}

TEST(ProposalOf, IsOneThreadWhereThreadsCostTheMost) {
  for (const auto kind : {roofline::ComponentKind::kForkJoin, roofline::ComponentKind::kImbalance,
                          roofline::ComponentKind::kSerial, roofline::ComponentKind::kSharing,
                          roofline::ComponentKind::kStolen}) {
    const auto proposal = ProposalOf(BreakdownOf(kind), 2);
    ASSERT_TRUE(proposal) << roofline::Key(kind);
    EXPECT_EQ(proposal->setting, (settings::Setting{{"threads", "1"}}));
  }
}

TEST(ProposalOf, IsAbsentWhereNoSettingHelps) {
  EXPECT_FALSE(ProposalOf(BreakdownOf(roofline::ComponentKind::kForkJoin), 1));
  for (const auto kind : {roofline::ComponentKind::kFunctions, roofline::ComponentKind::kProducts,
                          roofline::ComponentKind::kLevels, roofline::ComponentKind::kUnexplained,
                          roofline::ComponentKind::kCall})
    EXPECT_FALSE(ProposalOf(BreakdownOf(kind), 2)) << roofline::Key(kind);
}

}  // namespace
namespace {

record::Repetition OnGpu(double seconds, std::optional<double> in_graph) {
  record::Repetition repetition{.seconds = seconds};
  repetition.gpu = std::make_shared<record::GpuSample>(
      record::GpuSample{.throughput_seconds = 2, .graph_seconds = in_graph, .call_seconds = 4});
  return repetition;
}

TEST(DeviceSeconds, AreAQueuedCallOrAGraph) {
  EXPECT_EQ(DeviceSeconds(OnGpu(3, 1), false), 3);
  EXPECT_EQ(DeviceSeconds(OnGpu(3, 1), true), 1);
  EXPECT_EQ(DeviceSeconds(OnGpu(3, {}), true), std::nullopt);
  EXPECT_EQ(DeviceSeconds({.seconds = 3}, true), std::nullopt);
}

std::vector<std::string> ProposedFor(const std::string& name) {
  std::vector<std::string> texts;
  for (const auto& proposal : GpuProposals(workload::ParseBenchmarkName(name))) {
    texts.push_back(proposal.text);
    UnderSetting(workload::ParseBenchmarkName(name), proposal.setting);
  }
  return texts;
}

TEST(GpuProposals, AreTheOtherOptionsOfTheName) {
  using testing::ElementsAre;
  EXPECT_THAT(ProposedFor("Conv2D/gpu/cudnn/bwd_data/f32/n2c8h8w8k8r3s3_s2p0:1x0:1/nchw"),
              ElementsAre("without nchw", "best", "padded"));
  EXPECT_THAT(ProposedFor("Conv2D/gpu/cudnn/fwd/f16/n2c8h8w8k8r3s3"), ElementsAre("nchw", "best"));
  EXPECT_THAT(ProposedFor("LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8"),
              ElementsAre("persist-static", "persist-small-h", "persist-dynamic"));
}

record::Record GpuRecord(const std::vector<double>& queued) {
  record::Record record{.algorithm = "engine 1"};
  for (const double seconds : queued) record.repetitions.push_back(OnGpu(seconds, {}));
  return record;
}

TEST(ComparedText, SaysTheDevicesTimesAndWhetherTheyDiffer) {
  const Proposal proposal{{{"padding", "padded"}}, "padded"};
  const auto before = GpuRecord({14.4e-3, 14.3e-3, 14.5e-3});
  EXPECT_EQ(ComparedText(proposal, before, GpuRecord({225e-6, 226e-6, 224e-6})),
            "tried padded: 225 µs on the device instead of 14.4 ms, 64.00x as fast; engine 1");
  EXPECT_EQ(ComparedText(proposal, before, GpuRecord({14.3e-3, 14.2e-3, 14.4e-3})),
            "tried padded: 14.3 ms on the device instead of 14.4 ms, no difference beyond the "
            "noise; engine 1");
  auto refused = GpuRecord({});
  refused.status = record::Status::kUnsupported;
  refused.reason = "no engine";
  EXPECT_EQ(ComparedText(proposal, before, refused), "tried padded: unsupported: no engine");
  EXPECT_EQ(ComparedText(proposal, refused, before),
            "tried padded: the default is unsupported: no engine");
}

}  // namespace
}  // namespace dlroof::tune
