#include "baselines/scale/measured_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/small_run.h"

namespace dlroof::scaling {
namespace {

using testing::ElementsAre;

// Problems of the tests: "n4x", a batch of 4 of the layer "x", which has 10 parameters.
std::optional<LayerShape> FakeShape(const record::Record& record) {
  if (record.op != "Conv2D" || record.problem.size() < 3) return std::nullopt;
  return LayerShape{record.problem[1] - '0', 10, record.problem.substr(2)};
}

record::Record Call(const std::string& direction, const std::string& problem, double seconds,
            const std::string& type = "f32") {
  auto record = fakes::Measured("x", seconds);
  record.name = fmt::format("Conv2D/cpu/onednn/{}/{}/{}", direction, type, problem);
  record.options.clear();
  record::SplitName(record);
  record.repetitions.assign(9, {.seconds = seconds, .iterations = 3});
  return record;
}

cluster::Model ModelOf(const std::vector<std::pair<std::string, double>>& names) {
  return cluster::ModelFromNames("m", names, {});
}

std::vector<MeasuredSteps> Steps(const std::vector<record::Record>& records, const cluster::Model& model) {
  return StepsOf(roofline::PlaceRun(fakes::RunOf("r", records).file), model, FakeShape, {}, 4);
}

TEST(StepsOf, AddsUpPassesAndRepeatsLayers) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 2},
                              {"Conv2D/cpu/onednn/bwd_data/f32/n4x", 2},
                              {"Conv2D/cpu/onednn/bwd_weights/f32/n4x", 2},
                              {"Conv2D/cpu/onednn/fwd/f32/n4y", 1},
                              {"Conv2D/cpu/onednn/bwd_weights/f32/n4y", 1}});
  const auto all =
      Steps({Call("fwd", "n4x", 1), Call("bwd_data", "n4x", 2), Call("bwd_weights", "n4x", 3),
             Call("fwd", "n4y", 4), Call("bwd_weights", "n4y", 5)},
            model);
  ASSERT_EQ(all.size(), 1);
  const auto& layers = all[0].at.at(4);
  ASSERT_EQ(layers.size(), 3);
  EXPECT_EQ(layers[1].forward_seconds, 1);
  EXPECT_EQ(layers[1].backward_seconds, 5);
  EXPECT_EQ(layers[1].gradient_bytes, 40);
  EXPECT_EQ(layers[2].backward_seconds, 5);  // the model's first layer has no data gradient
  EXPECT_EQ(all[0].layers, 3);
  EXPECT_EQ(all[0].timed, 3);
}

TEST(StepsOf, BothGradientsMayBeOneCall) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 1},
                              {"Conv2D/cpu/onednn/bwd_data/f32/n4x", 1},
                              {"Conv2D/cpu/onednn/bwd_weights/f32/n4x", 1}});
  const auto all = Steps({Call("fwd", "n4x", 1), Call("bwd", "n4x", 7)}, model);
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].at.at(4)[0].backward_seconds, 7);
}

TEST(StepsOf, KeepsBatchesThatHaveTheSameLayersAndNamesTheMissing) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 1},
                              {"Conv2D/cpu/onednn/fwd/f32/n4y", 1},
                              {"Conv2D/cpu/onednn/fwd/f32/n4z", 3}});
  std::vector<record::Record> records;
  for (const char* problem : {"n2x", "n2y", "n4x", "n8x", "n8y"})
    for (const char* direction : {"fwd", "bwd"}) records.push_back(Call(direction, problem, 1));
  records.push_back(Call("fwd", "n2z", 1));          // no gradients
  records.push_back(Call("fwd", "n2x", 1, "bf16"));  // none at all of this type
  const auto all = Steps(records, model);
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].least_batch(), 2);
  EXPECT_EQ(all[0].most_batch(), 8);
  EXPECT_EQ(all[0].at.size(), 2);  // 4 lacks y
  EXPECT_EQ(all[0].timed, 2);
  EXPECT_EQ(all[0].layers, 5);
  EXPECT_THAT(all[0].missing, ElementsAre("n4z"));
}

TEST(StepsOf, WithoutGradientsThereIsNone) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 1}});
  EXPECT_TRUE(Steps({Call("fwd", "n4x", 1)}, model).empty());
}

}  // namespace
}  // namespace dlroof::scaling
