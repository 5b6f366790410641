// Compares the built-in suites with what is published about their models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "bench/conv2d/case.h"
#include "bench/suites/suite.h"
#include "tests/test_data.h"

namespace dlroof::suites {
namespace {

std::vector<Layer> AllLayers(const std::string& suite) {
  return SelectSuites({suite}).at(0).layers;
}

// Returns the problems of the layers of one direction and type, with their occurrences.
std::vector<std::pair<std::string, int64_t>> Layers(const std::string& suite,
                                                    const std::string& direction,
                                                    const std::string& type) {
  std::vector<std::pair<std::string, int64_t>> layers;
  for (const auto& layer : AllLayers(suite)) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.direction == direction && name.type == type)
      layers.emplace_back(name.problem, layer.count);
  }
  return layers;
}

// Returns the occurrences of each problem.
std::map<std::string, int64_t> Problems(const std::string& suite, const std::string& direction,
                                        const std::string& type) {
  const auto layers = Layers(suite, direction, type);
  return {layers.begin(), layers.end()};
}

int64_t Calls(const std::string& suite) {
  int64_t calls = 0;
  for (const auto& [problem, count] : Layers(suite, "fwd", "f32")) calls += count;
  return calls;
}

// [1] dense multiply-adds of one image, as papers count them.
double MultiplyAdds(const std::string& suite) {
  double flops = 0, images = 0;
  for (const auto& [text, count] : Layers(suite, "fwd", "f32")) {
    const auto problem = conv2d::ParseConv2d(text);
    images = static_cast<double>(problem.n);
    flops += static_cast<double>(count * conv2d::DenseFlops(problem));
  }
  return flops / 2 / images;
}

TEST(BuiltInSuites, AreReadableAndTheDefaultSetSharesNoName) {
  for (const auto& suite : BuiltInSuites()) {
    EXPECT_GE(SelectSuites({std::string(suite.name)}).at(0).layers.size(), 5U) << suite.name;
    EXPECT_TRUE(suite.text.starts_with("# ")) << suite.name;
  }
  std::set<std::string> names;
  const auto suites = SelectSuites({});
  for (const auto& suite : suites)
    for (const auto& layer : suite.layers)
      EXPECT_TRUE(names.insert(layer.name).second) << layer.name << " is in two suites";
}

// Returns "alexnet cpu 33 33 0x09eb5e8365d19ae8" for a suite on one device: its number of
// benchmarks, the sum of their counts, and the FNV-1a sum of the sorted lines "NAME COUNT\n".
std::string Content(const std::string& suite, const std::string& device) {
  const auto suites = SelectSuites({suite}, {.cpu = device == "cpu", .gpu = device == "gpu"});
  std::set<std::string> lines;
  int64_t calls = 0;
  for (const auto& [name, count] : suites.at(0).layers) {
    lines.insert(fmt::format("{} {}\n", name, count));
    calls += count;
  }
  uint64_t sum = 0xcbf29ce484222325;
  for (const auto& line : lines)
    for (const char c : line) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{} {} {} {} {:#018x}", suite, device, lines.size(), calls, sum);
}

// A suite's benchmarks never change: tests/data/suites.txt has a line for each suite and device.
TEST(BuiltInSuites, SelectWhatTheyAlwaysDid) {
  std::ifstream file(fakes::TestData("suites.txt"));
  std::set<std::string> known;
  std::string suite, device;
  for (std::string line; std::getline(file, line); known.insert(suite)) {
    std::istringstream(line) >> suite >> device;
    EXPECT_EQ(Content(suite, device), line);
  }
  for (const auto& built_in : BuiltInSuites()) {
    const std::string name(built_in.name);
    EXPECT_TRUE(known.contains(name))
        << "tests/data/suites.txt has no line of it; a new suite's is: " << Content(name, "cpu");
  }
}

TEST(PaperSuite, HoldsItsTenConvolutionsWithItsOutputSizes) {
  std::map<std::string, int> outputs;  // names of each problem
  for (const auto& layer : AllLayers("paper")) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.op != "Conv2D") continue;
    const auto problem = conv2d::ParseConv2d(name.problem);
    // SAME padding: ceil(112 / stride) outputs.
    EXPECT_EQ(delta::OutputRows(problem), (112 + problem.stride_h - 1) / problem.stride_h);
    EXPECT_EQ(delta::OutputColumns(problem), delta::OutputRows(problem)) << layer.name;
    ++outputs[conv2d::ToText(problem)];
  }
  EXPECT_EQ(outputs.size(), 10U);
  for (const auto& [problem, count] : outputs) EXPECT_EQ(count, 7) << problem;  // 3 x 2 + int8
}

// Published sizes. Convolutions: counted in each paper's table. GMAC: torchvision's table of
// pre-trained weights (its "GFLOPS" are multiply-adds: ResNet50 4.09, ResNet152 11.51, VGG16 15.47,
// MobileNet_V2 0.30), less the classifier's matrix products, worked by hand from its shapes;
// GoogLeNet: "1.5 billion multiply-adds" in its paper, one digit of precision; AlexNet: the sum of
// its five layers from the paper's figure 2, by hand:
// 96*55*55*363 + 256*27*27*1200 + 384*13*13*2304 + 384*13*13*1728 + 256*13*13*1728 = 665,784,864.
struct Published {
  const char* suite;
  int64_t convolutions;
  double multiply_adds, tolerance;
};
constexpr Published kPublished[] = {
    {"alexnet", 5, 665784864, 0},
    {"vgg16", 13, 15.47e9 - (25088 * 4096 + 4096 * 4096 + 4096 * 1000), 0.005e9},
    {"googlenet", 57, 1.5e9, 0.1e9},
    {"resnet50", 53, 4.09e9 - 2048 * 1000, 0.005e9},
    {"resnet152", 155, 11.51e9 - 2048 * 1000, 0.005e9},
    {"mobilenet_v2", 52, 0.30e9 - 1280 * 1000, 0.005e9},
};

TEST(ModelSuites, HaveThePublishedNumberOfConvolutionsAndMultiplyAdds) {
  for (const auto& model : kPublished) {
    EXPECT_EQ(Calls(model.suite), model.convolutions) << model.suite;
    EXPECT_NEAR(MultiplyAdds(model.suite), model.multiply_adds, model.tolerance) << model.suite;
  }
}

TEST(DeepCam, IsTheNetworkThatWasProfiled) {
  // 3 + 3*7 - 1 entry, 48*2 middle, 7 + 6 exit, 4 + 1 + 1 pooling, 1 + 2 + 3 + 2 decoder.
  EXPECT_EQ(Calls("deepcam"), 2 + 21 + 96 + 13 + 6 + 8);
  // Counted on a V100 by the hierarchical roofline paper's profiles (PyTorch, batch 2, forward,
  // every kernel): 1.185 TFLOP in FP32, where cuDNN takes fast algorithms, and 1.370 TFLOP on
  // Tensor Cores, which pad to their tiles. The dense count lies between.
  const double flops = 2 * 2 * MultiplyAdds("deepcam");
  EXPECT_GT(flops, 1.185e12);
  EXPECT_LT(flops, 1.370e12);
  // All but the four deconvolutions have an int8 form; all but the first a data gradient.
  const auto all = Problems("deepcam", "fwd", "f32");
  EXPECT_EQ(Problems("deepcam", "fwd", "int8").size() + 4, all.size());
  EXPECT_EQ(Problems("deepcam", "bwd_data", "bf16").size() + 1, all.size());
  EXPECT_EQ(Problems("deepcam", "bwd_weights", "f32"), all);
}

TEST(DeepBench, HasItsDistinctShapesAndRows) {
  std::set<std::string> shapes, training, server, images;
  for (const auto& layer : AllLayers("deepbench")) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.op != "Conv2D") continue;
    shapes.insert(name.problem.substr(name.problem.find('c')));  // behind the batch size
    if (name.direction == "bwd_weights") training.insert(name.problem);
    if (name.type == "int8") server.insert(name.problem);
    if (name.direction == "bwd_data") {
      EXPECT_GT(conv2d::ParseConv2d(name.problem).c, 3) << layer.name;
    }
  }
  EXPECT_EQ(shapes.size(), 55U);
  // training_set has 94 rows and inference_server_set 107. Four of each are there twice.
  EXPECT_EQ(training.size(), 90U);
  EXPECT_EQ(server.size(), 103U);
}

}  // namespace
}  // namespace dlroof::suites
