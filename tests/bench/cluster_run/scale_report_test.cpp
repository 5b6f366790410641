#include "bench/cluster_run/scale_report.h"

#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::cluster_run {
namespace {

record::Record RecordNamed(const std::string& name) {
  record::Record record{.name = name};
  record::SplitName(record);
  return record;
}

TEST(ShapeOfRecord, TellsBatchParametersAndLayer) {
  const auto conv =
      ShapeOfRecord(RecordNamed("Conv2D/cpu/onednn/fwd/f32/n16c64h56w56k128r3s3_p1/bias"));
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->batch, 16);
  EXPECT_EQ(conv->parameters, 128 * 64 * 9 + 128);
  EXPECT_EQ(conv->problem,
            ShapeOfRecord(RecordNamed("Conv2D/gpu/cudnn/bwd/f16/n1c64h56w56k128r3s3_p1"))->problem);
  // Four gates of 16 units, each sees 32 inputs and 16 states, and has a bias.
  const auto lstm = ShapeOfRecord(RecordNamed("LSTM/cpu/onednn/bwd/f32/t16n8i32h16"));
  ASSERT_TRUE(lstm);
  EXPECT_EQ(lstm->batch, 8);
  EXPECT_EQ(lstm->parameters, 4 * 16 * (32 + 16) + 4 * 16);
  const auto full = ShapeOfRecord(RecordNamed("Matmul/cpu/onednn/fwd/f32/m8n100k50_tB/bias/ip"));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->batch, 8);
  EXPECT_EQ(full->parameters, 100 * 50 + 100);
}

TEST(ShapeOfRecord, IsAbsentWhereNothingIsTrainedOrTheNameIsForeign) {
  EXPECT_FALSE(ShapeOfRecord(RecordNamed("Matmul/cpu/onednn/fwd/f32/m8n100k50")));
  EXPECT_FALSE(ShapeOfRecord(RecordNamed("Conv2D/cpu/onednn/fwd/f32/large")));
  EXPECT_FALSE(ShapeOfRecord(RecordNamed("gemm_kernel")));
}

// torchvision's ResNet-50 has 25,557,032 parameters: 2,049,000 of the fully connected layer, 53,120
// of batch normalisation, the rest of convolutions.
TEST(ModelsOfSuites, Resnet50HasTheConvolutionsOfTorchvision) {
  const cluster::VersusCluster none;
  const auto models = ModelsOfSuites({"resnet50"}, none, none);
  ASSERT_EQ(models.size(), 1);
  double parameters = 0;
  for (const auto& layer : models[0].layers) {
    record::Record record{.op = layer.op, .problem = layer.problem, .options = layer.options};
    parameters += layer.count * static_cast<double>(ShapeOfRecord(record)->parameters);
  }
  EXPECT_EQ(parameters, 25557032 - 2049000 - 53120);
}

TEST(ReadNodeCounts, ListsAndRanges) {
  EXPECT_EQ(ReadNodeCounts("4,1,2"), (std::vector{1, 2, 4}));
  EXPECT_EQ(ReadNodeCounts("3:20"), (std::vector{3, 4, 8, 16, 20}));
  for (const char* bad : {"", "0", "1:", "4:2", "1:2:3", "1,x", "1e3", "70000"})
    EXPECT_NE(fakes::RefusalOf([&] { ReadNodeCounts(bad); }), "accepted") << bad;
}

}  // namespace
}  // namespace dlroof::cluster_run
