// What the lines of a log say of its steps beside their period: batches, layers, passes, products.
#include "baselines/programs/step_doubts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "baselines/programs/steps.h"

namespace dlroof::programs {
namespace {

using Stream = std::vector<std::uint32_t>;

verbose::PrimitiveText Product(const std::string& problem) {
  return {.engine = "cpu", .kind = "matmul", .prop = "undef", .problem = problem};
}

// A log whose calls take 1 ms; pauses [s] before each.
verbose::VerboseLog LogOf(const std::vector<std::string>& problems, const Stream& stream,
                          const std::vector<double>& pauses) {
  verbose::VerboseLog log;
  for (const auto& problem : problems) log.primitives.push_back(Product(problem));
  log.processes = {{}};
  double now = 100;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    now += pauses.empty() ? 1e-4 : pauses[i];
    log.executions.push_back({stream[i], 1e-3, now});
    now += 1e-3;
  }
  return log;
}

const std::vector<std::string> equal_layer = {"8x32:32x64", "8x64:64x32", "8x32:32x32"};

TEST(StepsOf, LayersAloneAreDoubtful) {
  Stream stream;
  for (int i = 0; i < 40; ++i) stream.insert(stream.end(), {0, 1, 2});
  const auto found = StepsOf(LogOf(equal_layer, stream, {}));
  EXPECT_EQ(found.ranges.size(), 40);
  ASSERT_TRUE(found.doubt);
  EXPECT_TRUE(found.doubt->text.starts_with("40 equal segments"));
}

TEST(StepsOf, LongerPausesTellStepsFromLayers) {
  Stream stream;
  std::vector<double> pauses;
  for (int i = 0; i < 40; ++i)
    for (std::uint32_t one = 0; one < 3; ++one) {
      stream.push_back(one);
      pauses.push_back(one == 0 && i % 4 == 0 ? 5e-3 : 1e-4);
    }
  const auto found = StepsOf(LogOf(equal_layer, stream, pauses));
  EXPECT_EQ(found.ranges.size(), 10);
  EXPECT_EQ(found.total, 10);
  EXPECT_EQ(found.other, 40);
  EXPECT_TRUE(found.doubt);
}

TEST(StepsOf, ADifferentLastResultIsNoLayer) {
  Stream stream;
  for (int i = 0; i < 40; ++i) stream.insert(stream.end(), {0, 1, 2});
  EXPECT_FALSE(StepsOf(LogOf({"8x32:32x64", "8x64:64x32", "8x32:32x10"}, stream, {})).doubt);
}

TEST(StepsOf, TheProgramsOwnCountConfirmsOrDoubts) {
  Stream stream;
  for (int i = 0; i < 40; ++i) stream.insert(stream.end(), {0, 1, 2});
  auto log = LogOf(equal_layer, stream, {});
  log.counts = {{20, 2}, {2, 1}};
  EXPECT_TRUE(StepsOf(log).confirmed);
  EXPECT_FALSE(StepsOf(log).doubt);
  log = LogOf({"8x32:32x64", "8x64:64x32", "8x32:32x10"}, stream, {});
  log.counts = {{50, 1}};
  EXPECT_EQ(StepsOf(log).other, 50);
  EXPECT_TRUE(StepsOf(log).doubt);
  log.counts = {{2, 1}};  // "Epoch 2/2"
  EXPECT_FALSE(StepsOf(log).doubt);
}

verbose::PrimitiveText Convolution(int in, int out, int side) {
  return {.engine = "cpu",
          .kind = "convolution",
          .prop = "forward_inference",
          .problem = fmt::format("mb2_ic{}oc{}_ih{}oh{}kh3sh1dh0ph1_iw{}ow{}kw3sw1dw0pw1", in, out,
                                 side, side, side, side)};
}

TEST(StepsOf, TheSameLayersWithOtherSizesAreDoubtful) {
  Stream stream;
  for (int i = 0; i < 12; ++i) stream.insert(stream.end(), {0, 1, 2, 3});
  auto log = LogOf({"", "", "", ""}, stream, {});
  log.primitives = {Convolution(3, 8, 32), Convolution(8, 16, 32), Convolution(3, 8, 48),
                    Convolution(8, 16, 48)};
  const auto found = StepsOf(log);
  EXPECT_EQ(found.total, 12);
  EXPECT_EQ(found.other, 24);
  ASSERT_TRUE(found.doubt);
  EXPECT_TRUE(found.doubt->text.starts_with("the same layers"));
  // Other channels are other layers.
  log.primitives[2] = Convolution(3, 12, 48);
  log.primitives[3] = Convolution(12, 20, 48);
  EXPECT_FALSE(StepsOf(log).doubt);
}

TEST(StepsOf, LayersOutsideOfStepsAreADoubt) {
  // Half of the times, by chance, the second half is left out.
  std::mt19937 random(5);
  Stream stream;
  for (int i = 0; i < 60; ++i) {
    stream.insert(stream.end(), {0, 1});
    if (random() % 2 == 0) stream.insert(stream.end(), {2, 3, 4, 5});
  }
  const auto found = StepsOf(
      LogOf({"8x32:32x64", "8x64:64x48", "8x48:48x40", "8x40:40x40", "8x40:40x30", "8x30:30x10"},
            stream, {}));
  ASSERT_EQ(found.from, StepsFrom::kFound);
  EXPECT_NE(found.total, 60);
  ASSERT_TRUE(found.doubt);
  EXPECT_NE(found.doubt->text.find("are in no step"), std::string::npos) << found.doubt->text;
}

TEST(StepsOf, OneLayerAloneIsDoubtful) {
  Stream stream;
  for (int i = 0; i < 20; ++i) stream.insert(stream.end(), {0, 1, 2});
  auto log = LogOf({"8x32", "8x32:32x10", "8x10"}, stream, {});
  log.primitives[0].kind = log.primitives[2].kind = "reorder";
  const auto found = StepsOf(log);
  EXPECT_EQ(found.total, 20);
  ASSERT_TRUE(found.doubt);
  EXPECT_TRUE(found.doubt->text.starts_with("20 times the only layer"));
}

// The last batch of a data set has 5 samples instead of 8.
TEST(StepsOf, ASmallerBatchIsAStep) {
  Stream stream;
  for (int epoch = 0; epoch < 4; ++epoch)
    for (int i = 0; i < 6; ++i)
      for (std::uint32_t one = 0; one < 3; ++one) stream.push_back(i == 5 ? one + 3 : one);
  const auto log =
      LogOf({"8x32:32x64", "8x64:64x32", "8x32:32x10", "5x32:32x64", "5x64:64x32", "5x32:32x10"},
            stream, {});
  EXPECT_EQ(StepsOf(log).total, 24);
}

// A log of convolutions.
struct Training {
  verbose::VerboseLog log;
  Stream stream;
  std::vector<std::string> known;

  void Call(const char* prop, int in, int out, int side, int batch = 2) {
    auto text = Convolution(in, out, side);
    text.prop = prop;
    text.problem.replace(0, 3, fmt::format("mb{}", batch));
    Add(text);
  }
  void Product(const std::string& problem) {
    auto text = programs::Product(problem);
    text.kind = "gemm_api";
    Add(text);
  }
  void Add(const verbose::PrimitiveText& text) {
    const auto key = text.kind + text.prop + text.problem;
    auto found = std::ranges::find(known, key);
    if (found == known.end()) {
      known.push_back(key);
      log.primitives.push_back(text);
      found = known.end() - 1;
    }
    stream.push_back(static_cast<std::uint32_t>(found - known.begin()));
  }
  // Layers of 3, 8, 16, ... channels, forward and backward.
  void Network(const std::vector<int>& channels, int side, int batch = 2) {
    const auto layers = static_cast<int>(channels.size()) - 1;
    const auto at = [&](int i) { return channels[static_cast<std::size_t>(i)]; };
    for (int i = 0; i < layers; ++i) Call("forward_training", at(i), at(i + 1), side, batch);
    for (int i = layers; i-- > 0;) {
      if (i > 0) Call("backward_data", at(i), at(i + 1), side, batch);
      Call("backward_weights", at(i), at(i + 1), side, batch);
    }
  }
  Steps Found() {
    log.processes = {{}};
    double now = 100;
    for (const auto one : stream) log.executions.push_back({one, 1e-3, now += 2e-3});
    return StepsOf(log);
  }
};

// Every sixth sequence is shorter: two of the step's eight calls differ.
Training SequencesOfTwoLengths() {
  Training training;
  for (int step = 0; step < 24; ++step) {
    const int side = step % 6 == 5 ? 8 : 32;
    training.Call("forward_training", 3, 8, 64);
    training.Call("forward_training", 8, 16, side);
    training.Call("forward_training", 16, 10, 64);
    training.Call("forward_training", 10, 12, 64);
    training.Call("forward_training", 12, 14, 64);
    training.Call("backward_weights", 12, 14, 64);
    training.Call("backward_weights", 10, 12, 64);
    training.Call("backward_weights", 8, 16, side);
  }
  return training;
}

TEST(StepsOf, LayersOfOtherSizesCountStepsToo) {
  const auto found = SequencesOfTwoLengths().Found();
  EXPECT_LT(found.ranges.size(), 24U);
  EXPECT_EQ(found.total, 24);
  EXPECT_FALSE(found.doubt) << found.doubt->text;
}

TEST(StepsOf, BackwardPassesOfOtherSizesAreADoubt) {
  // Every fifth to eighth step has another image size.
  Training training;
  for (int step = 0; step < 24; ++step) {
    const bool other = step == 5 || step == 11 || step == 18 || step == 20;
    training.Network({3, 8, 16, 10}, other ? 48 : 32);
  }
  for (auto& primitive : training.log.primitives)  // in a form that is not known
    primitive.problem = "?" + primitive.problem;
  const auto found = training.Found();
  EXPECT_EQ(found.total, 20);
  EXPECT_EQ(found.other, 24);
  ASSERT_TRUE(found.doubt);
  EXPECT_NE(found.doubt->text.find("of the backward calls are in no step"), std::string::npos)
      << found.doubt->text;
}

// A step of a multi-layer perceptron, forward and backward, and its forward pass alone.
const std::vector<std::string> perceptron = {"NxA:AxB", "NxB:BxC", "BxN:NxC", "NxC:CxB", "AxN:NxB"};
void AddProducts(int batch, std::size_t calls, std::vector<std::string>& problems, Stream& stream) {
  for (std::size_t i = 0; i < calls; ++i) {
    auto problem = perceptron[i];
    for (const auto& [letter, size] :
         std::initializer_list<std::pair<char, int>>{{'N', batch}, {'A', 24}, {'B', 48}, {'C', 10}})
      for (auto at = problem.find(letter); at != std::string::npos; at = problem.find(letter))
        problem.replace(at, 1, std::to_string(size));
    auto found = std::ranges::find(problems, problem);
    if (found == problems.end()) found = problems.insert(problems.end(), problem);
    stream.push_back(static_cast<std::uint32_t>(found - problems.begin()));
  }
}

TEST(StepsOf, AnotherLoopAfterTheStepsIsADoubt) {
  // A network is trained, then another one on top of it.
  Training training;
  for (int step = 0; step < 40; ++step) training.Network({3, 8, 16, 24, 32, 10}, 32);
  for (int step = 0; step < 12; ++step) training.Network({40, 44}, 16);
  const auto found = training.Found();
  EXPECT_EQ(found.total, 40);
  ASSERT_TRUE(found.doubt);
  EXPECT_GT(found.other, 40);
}

TEST(StepsOf, ProductsOfAnotherLoopAreADoubtAndEvaluationsAreNot) {
  const auto loops = [](bool other) {
    std::vector<std::string> problems;
    Stream stream;
    for (int step = 0; step < 30; ++step) AddProducts(64, 5, problems, stream);
    for (int i = 0; i < 8; ++i) {
      AddProducts(100, 2, problems, stream);
      if (!other) continue;
      for (const char* product : {"100x10:10x7", "7x100:100x10"}) {
        auto found = std::ranges::find(problems, product);
        if (found == problems.end()) found = problems.insert(problems.end(), product);
        stream.push_back(static_cast<std::uint32_t>(found - problems.begin()));
      }
    }
    return StepsOf(LogOf(problems, stream, {}));
  };
  const auto evaluated = loops(false), trained = loops(true);
  EXPECT_EQ(evaluated.total, 30);
  EXPECT_FALSE(evaluated.doubt && evaluated.doubt->text.find("another loop") != std::string::npos);
  EXPECT_EQ(trained.total, 30);
  ASSERT_TRUE(trained.doubt);
  EXPECT_NE(trained.doubt->text.find("another loop"), std::string::npos) << trained.doubt->text;
}

TEST(StepsOf, ALayerThatAloneIsExecutedMoreOftenIsADoubt) {
  // Of a batch of one image oneDNN executes the first layer only.
  Training training;
  for (int request = 0; request < 30; ++request) {
    const bool one = request == 3 || request == 9 || request == 11 || request == 20;
    training.Call("forward_inference", 3, 16, 64, one ? 1 : 8);
    if (one) continue;
    for (int i = 0; i < 4; ++i) training.Call("forward_inference", 16 + i, 24 + i, 32, 8);
    training.Call("forward_inference", 24, 30, 16, 8);
  }
  const auto found = training.Found();
  EXPECT_EQ(found.total, 26);
  EXPECT_EQ(found.other, 30);
  ASSERT_TRUE(found.doubt);
  EXPECT_NE(found.doubt->text.find("1 of their 6 layers"), std::string::npos) << found.doubt->text;
}

TEST(StepsOf, ASmallerLastBatchOfProductsIsAStep) {
  // Each epoch has 13 batches of 64, one of 40 and five of 100 that are evaluated.
  std::vector<std::string> problems;
  Stream stream;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 13; ++i) AddProducts(64, 5, problems, stream);
    AddProducts(40, 5, problems, stream);
    for (int i = 0; i < 5; ++i) AddProducts(100, 2, problems, stream);
  }
  const auto found = StepsOf(LogOf(problems, stream, {}));
  EXPECT_EQ(found.total, 28);
}

TEST(StepsOf, AnInnerLoopWithMostOfTheCallsIsNoStep) {
  // Four equal layers, whose backward passes have a hundred small products each in any order.
  std::mt19937 random(11);
  std::vector<std::string> problems;
  problems.reserve(14);
  for (int i = 0; i < 12; ++i)
    problems.push_back(fmt::format("64x{}:{}x{}", 30 + i, 30 + i, 50 + i));
  const auto inner = static_cast<std::uint32_t>(problems.size());
  problems.insert(problems.end(), {"16x8:8x16", "8x16:16x16"});
  Stream stream;
  for (int step = 0; step < 30; ++step) {
    for (int layer = 0; layer < 4; ++layer) stream.insert(stream.end(), {0, 1, 2});
    stream.insert(stream.end(), {3, 4, 5});
    for (int layer = 0; layer < 4; ++layer) {
      stream.insert(stream.end(), {6, 7, 8});
      Stream products(100, inner);
      for (std::size_t i = 0; i < 40; ++i) products[i] = inner + 1;
      std::shuffle(products.begin(), products.end(), random);
      stream.insert(stream.end(), products.begin(), products.end());
      stream.insert(stream.end(), {9, 10, 11});
    }
  }
  const auto found = StepsOf(LogOf(problems, stream, {}));
  EXPECT_EQ(found.total, 30);
  ASSERT_FALSE(found.ranges.empty());
  EXPECT_EQ(found.ranges[5].end - found.ranges[5].begin, stream.size() / 30);
}

TEST(StepsOf, TwoOrThreeAreADoubt) {
  const auto steps = [](int count) {
    Training training;
    for (int i = 0; i < count; ++i) training.Network({3, 8, 16, 24, 32, 40, 48, 56, 10}, 32);
    return training.Found();
  };
  EXPECT_EQ(steps(3).total, 3);
  ASSERT_TRUE(steps(3).doubt);
  EXPECT_EQ(steps(5).total, 5);
  EXPECT_FALSE(steps(5).doubt);
}

TEST(StepsOf, EachBatchTwiceInARowIsADoubt) {
  // Each batch goes through the network twice (sharpness-aware minimization).
  const auto epochs = [](int passes) {
    Training training;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (int i = 0; i < 5 * passes; ++i) training.Network({3, 8, 16, 10}, 32, 16);
      for (int i = 0; i < passes; ++i) training.Network({3, 8, 16, 10}, 32, 8);
      for (int i = 0; i < 2; ++i) training.Call("forward_training", 3, 8, 32, 16);
    }
    return training.Found();
  };
  const auto twice = epochs(2);
  EXPECT_EQ(twice.total, 36);
  EXPECT_EQ(twice.other, 18);
  ASSERT_TRUE(twice.doubt);
  EXPECT_NE(twice.doubt->text.find("2 times in a row"), std::string::npos) << twice.doubt->text;
  EXPECT_FALSE(epochs(1).doubt) << epochs(1).doubt->text;
}

TEST(StepsOf, StepsThatLackAProductMayBeEvaluations) {
  // A frozen body, of whose backward pass oneDNN executes one product.
  Training training;
  for (const auto& [trained, evaluated] :
       std::initializer_list<std::pair<int, int>>{{6, 2}, {5, 3}, {7, 2}})
    for (int i = 0; i < trained + evaluated; ++i) {
      for (int layer = 0; layer < 30; ++layer)
        training.Call("forward_training", 16 + layer, 24 + 2 * layer, 32, i < trained ? 8 : 4);
      if (i < trained) training.Product("48x8:8x10");
    }
  const auto found = training.Found();
  EXPECT_EQ(found.total, 25);
  EXPECT_EQ(found.other, 18);
  ASSERT_TRUE(found.doubt);
  EXPECT_NE(found.doubt->text.find("as if the others were evaluations"), std::string::npos);
}

TEST(StepsOf, TwoTasksInTurnAreADoubt) {
  // A task of small images and one of large ones share their first layers.
  Training training;
  for (int pair = 0; pair < 10; ++pair) {
    training.Network({3, 12, 16, 24}, 32, 8);
    training.Network({3, 12, 16, 8, 1}, 48, 4);
  }
  const auto found = training.Found();
  EXPECT_EQ(found.total, 10);
  EXPECT_EQ(found.other, 20);
  ASSERT_TRUE(found.doubt);
  EXPECT_NE(found.doubt->text.find("forward and backward again with other sizes"),
            std::string::npos)
      << found.doubt->text;
}

TEST(StepsOf, AHeadOfSeveralScalesIsNoDoubt) {
  // Forward with both sizes, then backward with both.
  Training training;
  for (int step = 0; step < 10; ++step) {
    training.Call("forward_training", 3, 16, 64);
    for (const int side : {64, 32}) training.Call("forward_training", 16, 24, side);
    for (const int side : {32, 64}) {
      training.Call("backward_data", 16, 24, side);
      training.Call("backward_weights", 16, 24, side);
    }
    training.Call("backward_weights", 3, 16, 64);
  }
  const auto found = training.Found();
  EXPECT_EQ(found.total, 10);
  EXPECT_FALSE(found.doubt) << found.doubt->text;
}

// A window of a generator and five critics.
TEST(StepsOf, LayersThatFewerStepsHaveAreADoubt) {
  Training training;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 5; ++i) {
      training.Call("forward_training", 8, 16, 32);  // the generator
      training.Network({3, 8, 12, 14}, 32);
      training.Network({3, 8, 12, 14}, 32);
    }
    training.Call("forward_training", 8, 16, 32);
    training.Network({3, 8, 12, 14}, 32);
    training.Call("backward_data", 3, 8, 32);
    training.Call("backward_weights", 8, 16, 32);
    training.Call("backward_data", 8, 16, 32);
    for (int i = 0; i < 3; ++i) training.Call("backward_weights", 16, 3, 32 + i);
  }
  const auto found = training.Found();
  EXPECT_TRUE(found.total == 6 || found.doubt) << found.total;
}

TEST(StepsOf, AnotherBatchSizeInShortTurnsIsADoubt) {
  const auto windows = [](int whole, int turns) {
    Stream stream;
    for (int turn = 0; turn < turns; ++turn)
      for (int i = 0; i <= whole; ++i)
        for (std::uint32_t one = 0; one < 3; ++one) stream.push_back(i == whole ? one + 3 : one);
    return StepsOf(
        LogOf({"4x32:32x64", "4x64:64x32", "4x32:32x10", "2x32:32x64", "2x64:64x32", "2x32:32x10"},
              stream, {}));
  };
  const auto short_turns = windows(2, 8);
  EXPECT_EQ(short_turns.total, 24);
  EXPECT_EQ(short_turns.other, 8);
  ASSERT_TRUE(short_turns.doubt);
  EXPECT_NE(short_turns.doubt->text.find("one of 3 in turn"), std::string::npos);
  EXPECT_FALSE(windows(6, 3).doubt) << "epochs";
}

}  // namespace
}  // namespace dlroof::programs
