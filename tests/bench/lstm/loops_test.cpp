#include "bench/lstm/loops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string_view>

#include "tests/bench/random_problems.h"
#include "tests/fakes/outcome.h"

namespace dlroof::lstm {
namespace {

// A number that counts its own operations by part. It also has a value, so that the loops work.
struct Tally {
  int64_t matrix = 0, elementwise = 0;
};
Tally& Counted() {
  static thread_local Tally tally;
  return tally;
}
struct CountingNumber {
  double value = 0;
  CountingNumber() = default;
  explicit CountingNumber(double v) : value(v) {}
};
CountingNumber Once(double value) {
  ++Counted().elementwise;
  return CountingNumber(value);
}
CountingNumber operator+(CountingNumber a, CountingNumber b) { return Once(a.value + b.value); }
CountingNumber operator-(CountingNumber a, CountingNumber b) { return Once(a.value - b.value); }
CountingNumber operator*(CountingNumber a, CountingNumber b) { return Once(a.value * b.value); }
CountingNumber Sigmoid(CountingNumber a) { return Once(lstm_reference::Sigmoid(a.value)); }
CountingNumber Tanh(CountingNumber a) { return Once(lstm_reference::Tanh(a.value)); }
// The same two operations as in the loops, counted in the matrix part.
void MultiplyAdd(CountingNumber& sum, const CountingNumber& a, const CountingNumber& b) {
  const int64_t before = Counted().elementwise;
  sum = sum + a * b;
  Counted().matrix += Counted().elementwise - before;
  Counted().elementwise = before;
}

LstmInput<CountingNumber> Counting(const LstmInput<float>& from) {
  LstmInput<CountingNumber> to;
  to.layers.resize(from.layers.size());
  ForEachInput([](const auto& a, auto& b) { b = std::vector<CountingNumber>(a.begin(), a.end()); },
               from, to);
  return to;
}

TEST(LstmReference, DoesTheOperationsOfTheClosedFormsAndOneCellWorkedByHand) {
  std::mt19937 random(3);
  for (int k = 0; k < 600; ++k) {
    LstmProblem problem = fakes::RandomLstm(random, 4);
    problem.peephole = k % 2 == 0;
    const auto input = Counting(SeededLstmInput(problem, 1, "f32"));
    LstmForwardResult<CountingNumber> forward;
    Counted() = {};
    LstmForward(problem, input, forward);
    const auto expected = Flops(problem, LstmDirection::kForwardTraining);
    ASSERT_EQ(Counted().matrix, expected.matrix) << ToText(problem);
    ASSERT_EQ(Counted().elementwise, expected.elementwise) << ToText(problem);

    LstmOutput<CountingNumber> d_output;
    ForEachOutput([](const auto& a, auto& b) { b.assign(a.begin(), a.end()); }, forward.outputs,
                  d_output);
    LstmInput<CountingNumber> d_input;
    Counted() = {};
    LstmBackward(problem, input, forward, d_output, d_input);
    const auto backward = Flops(problem, LstmDirection::kBackward);
    ASSERT_EQ(Counted().matrix, backward.matrix) << ToText(problem);
    ASSERT_EQ(Counted().elementwise, backward.elementwise) << ToText(problem);
  }
  // One unit, one step, all weights 0, gate sums = bias: i = 0.75, f = 0.5, g = 0.6, o = 0.9.
  const auto problem = ParseLstmProblem("t1n1i1h1");
  const auto logit = [](double s) { return std::log(s / (1 - s)); };
  LstmInput<double> input{{3}, {5}, {0.2}, {{{0, 0, 0, 0}, {0, 0, 0, 0}, {}, {}, {}}}};
  input.layers[0].bias = {logit(0.75), logit(0.5), std::atanh(0.6), logit(0.9)};
  LstmForwardResult<double> forward;
  LstmForward(problem, input, forward);
  // c = 0.5 * 0.2 + 0.75 * 0.6 = 0.55
  EXPECT_NEAR(forward.outputs.final_cell[0], 0.55, 1e-15);
  EXPECT_NEAR(forward.outputs.final_hidden[0], 0.9 * std::tanh(0.55), 1e-15);
  EXPECT_NEAR(forward.outputs.output[0], 0.9 * std::tanh(0.55), 1e-15);
  // Weights enter gate by gate: W_i = log 3 with x = 1 moves i from 1/2 to 3/4, nothing else.
  input = {{1}, {1}, {0.2}, {{{std::log(3.0), 0, 0, 0}, {0, 0, 1, 0}, {}, {0, 0, 0, 0}, {}}}};
  LstmForward(problem, input, forward);
  EXPECT_NEAR(forward.outputs.final_cell[0], 0.5 * 0.2 + 0.75 * std::tanh(1.0), 1e-15);
}

// All weights and biases except the peepholes are 0, and log 3 turns a gate of 1/2 into 3/4: i and
// f read the cell state 1 before the step, o reads the one after it.
TEST(LstmReference, PeepholesSeeTheCellStateAndTheSecondPassWalksTheStepsBackwards) {
  auto problem = ParseLstmProblem("t1n1i1h1");
  problem.peephole = true;
  LstmInput<double> input{{1}, {1}, {1}, {{{0, 0, 1, 0}, {0, 0, 0, 0}, {}, {0, 0, 0, 0}, {}}}};
  const auto run = [&](std::vector<double> peephole) {
    input.layers[0].peephole = std::move(peephole);
    LstmForwardResult<double> forward;
    LstmForward(problem, input, forward);
    return forward.outputs;
  };
  const double g = std::tanh(1.0), log3 = std::log(3.0);
  EXPECT_NEAR(run({0, 0, 0}).final_cell[0], 0.5 + 0.5 * g, 1e-15);
  EXPECT_NEAR(run({log3, 0, 0}).final_cell[0], 0.5 + 0.75 * g, 1e-15);
  EXPECT_NEAR(run({0, log3, 0}).final_cell[0], 0.75 + 0.5 * g, 1e-15);
  const double c = 0.5 + 0.5 * g;
  EXPECT_NEAR(run({0, 0, log3 / c}).final_cell[0], c, 1e-15);
  EXPECT_NEAR(run({0, 0, log3 / c}).final_hidden[0], 0.75 * std::tanh(c), 1e-15);
  // A second pass over the reversed input is the first pass over the input.
  const auto forward_only = ParseLstmProblem("t3n2i4h5");
  auto two = forward_only;
  two.passes = LstmPasses::kConcatenated;
  const auto both = ToDouble(SeededLstmInput(two, 5, "f32"));
  LstmForwardResult<double> forward_both;
  LstmForward(two, both, forward_both);
  LstmInput<double> second;
  second.layers.resize(1);
  const auto half = [](const auto& from, auto& to) {
    to.assign(from.begin() + static_cast<int64_t>(from.size()) / 2, from.end());
  };
  ForEachInput(half, both, second);
  second.source.clear();
  for (int64_t t = 2; t >= 0; --t)
    second.source.insert(second.source.end(), both.source.begin() + t * 8,
                         both.source.begin() + (t + 1) * 8);
  LstmForwardResult<double> forward;
  LstmForward(forward_only, second, forward);
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t k = 0; k < 5; ++k)
        EXPECT_EQ(forward_both.outputs.output[(t * 2 + n) * 10 + 5 + k],
                  forward.outputs.output[((2 - t) * 2 + n) * 5 + k]);
}

// "t3n2i3h2" or "t3n2i3h2/peephole".
LstmProblem ProblemOf(std::string_view text) {
  const auto end = text.find('/');
  auto problem = ParseLstmProblem(text.substr(0, end));
  problem.peephole = end != std::string_view::npos;
  return problem;
}

double LossOf(const LstmProblem& problem, const LstmInput<double>& input,
              const LstmOutput<double>& d_output) {
  LstmForwardResult<double> forward;
  LstmForward(problem, input, forward);
  double loss = 0;
  ForEachOutput(
      [&](const auto& a, const auto& b) {
        for (size_t k = 0; k < a.size(); ++k) loss += a[k] * b[k];
      },
      forward.outputs, d_output);
  return loss;
}

TEST(LstmReference, EveryGradientIsTheCentralDifference) {
  for (const auto* text :
       {"t3n2i3h2", "t2n2i3h3l2", "t2n1i3h2l2bi", "t2n2i2h3l2bisum", "t3n2i2h3l2p2bi", "t2n1i3h4p1",
        "t3n2i3h2/peephole", "t3n2i2h3l2p2bi/peephole"}) {
    const auto problem = ProblemOf(text);
    auto input = ToDouble(SeededLstmInput(problem, 2, "f32"));
    const auto d_output = ToDouble(SeededLstmGradient(problem, 2));
    LstmForwardResult<double> forward;
    LstmInput<double> d_input;
    LstmForward(problem, input, forward);
    LstmBackward(problem, input, forward, d_output, d_input);
    ForEachInput(
        [&](auto& value, const auto& gradient) {
          ASSERT_EQ(value.size(), gradient.size());
          for (size_t k = 0; k < value.size(); ++k) {
            constexpr double kStep = 1e-5;
            const double original = value[k];
            value[k] = original + kStep;
            const double above = LossOf(problem, input, d_output);
            value[k] = original - kStep;
            const double below = LossOf(problem, input, d_output);
            value[k] = original;
            ASSERT_NEAR(gradient[k], (above - below) / (2 * kStep), 1e-8) << text;
          }
        },
        input, d_input);
  }
}

struct Prepared {
  LstmProblem problem;
  LstmInput<double> input;
  LstmOutput<double> d_output;
  LstmForwardResult<double> forward;
  LstmInput<double> d_input;
};
Prepared RunLoops(const std::string& text) {
  Prepared p;
  p.problem = ProblemOf(text);
  p.input = ToDouble(SeededLstmInput(p.problem, 4, "f32"));
  p.d_output = ToDouble(SeededLstmGradient(p.problem, 4));
  LstmForward(p.problem, p.input, p.forward);
  LstmBackward(p.problem, p.input, p.forward, p.d_output, p.d_input);
  return p;
}

TEST(LstmCheck, AcceptsTheLoopsAndRefusesOneWrongValue) {
  for (const auto* text : {"t4n3i5h6", "t3n2i4h5l3bi", "t1n2i4h5l2bisum", "t4n2i8h6l2p3bi",
                           "t3n2i8h6l2p3bi/peephole"}) {
    Prepared p = RunLoops(text);
    const auto forward = CheckLastSteps(p.problem, p.input, p.forward);
    EXPECT_TRUE(forward.ok) << text << ' ' << forward.max_error;
    const auto gradient = CheckGradient(p.problem, p.input, p.d_output, p.d_input);
    EXPECT_TRUE(gradient.ok) << text << ' ' << gradient.max_error;

    ForEachOutput(
        [&](auto& values) {
          const double original = values.back();
          values.back() += 1e-6;
          EXPECT_FALSE(CheckLastSteps(p.problem, p.input, p.forward).ok) << text;
          values.back() = std::nan("");
          EXPECT_FALSE(CheckLastSteps(p.problem, p.input, p.forward).ok) << text;
          values.back() = original;
        },
        p.forward.outputs);
    ForEachInput(
        [&](auto& values) {
          if (values.empty()) return;
          const double original = values.front();
          values.front() = original + 0.1;
          EXPECT_FALSE(CheckGradient(p.problem, p.input, p.d_output, p.d_input).ok) << text;
          values.front() = original;
        },
        p.d_input);
  }
}

TEST(LstmTensors, DifferenceIsRelativeToTheLargestOfTheTensor) {
  const LstmOutput<double> expected{{1, -4}, {0}, {8}};
  EXPECT_EQ(Difference({{1, -4}, {0}, {8}}, expected).max_error, 0);
  EXPECT_EQ(Difference({{1, -4}, {0}, {8}}, expected).count, 4);
  EXPECT_EQ(Difference({{2, -4}, {0}, {8}}, expected).max_error, 0.25);
  EXPECT_EQ(Difference({{1, -4}, {0}, {9}}, expected).max_error, 0.125);
  EXPECT_EQ(Difference({{1, -4}, {0.5F}, {8}}, expected).max_error, 0.5);
  EXPECT_GT(Difference({{1, std::nanf("")}, {0}, {8}}, expected).max_error, 1e300);
  EXPECT_GT(Difference({{1}, {0}, {8}}, expected).max_error, 1e300);
}

// A call whose results are those of the loops on these inputs.
struct LoopsCall {
  LstmProblem problem;
  LstmInput<float> input;
  LstmOutput<float> d_output;

  void Run() const {}
  LstmForwardResult<double> Forward() const {
    LstmForwardResult<double> forward;
    LstmForward(problem, ToDouble(input), forward);
    return forward;
  }
  LstmOutput<float> Outputs() const {
    const auto forward = Forward();
    LstmOutput<float> narrow;
    ForEachOutput([](const auto& from, auto& to) { to.assign(from.begin(), from.end()); },
                  forward.outputs, narrow);
    return narrow;
  }
  LstmInput<float> Gradients() const {
    LstmInput<double> d_input;
    LstmBackward(problem, ToDouble(input), Forward(), ToDouble(d_output), d_input);
    LstmInput<float> narrow;
    narrow.layers.resize(d_input.layers.size());
    ForEachInput([](const auto& from, auto& to) { to.assign(from.begin(), from.end()); }, d_input,
                 narrow);
    return narrow;
  }
};

// Plants one wrong number at a time in the results of a call. The check must find every one.
TEST(LstmCheck, OfALibrarysCallFindsEachPlantedError) {
  const auto problem = ProblemOf("t3n2i5h8l2p4bi/peephole");
  const auto input = SeededLstmInput(problem, 3, "f32");
  const auto d_output = SeededLstmGradient(problem, 3);
  for (const auto direction : {LstmDirection::kForwardInference, LstmDirection::kBackward}) {
    LoopsCall call{problem, input, d_output};
    const auto is_right = [&] {
      return CompareWithLoops(call, problem, direction, input, d_output, 1e-5).ok;
    };
    EXPECT_TRUE(is_right());
    ForEachInput(
        [&](auto& values) {
          const float original = values.back();
          values.back() += 0.01F;
          EXPECT_FALSE(is_right()) << Key(direction);
          values.back() = original;
        },
        call.input);
  }
}

TEST(LstmReferenceBackend, RunsAndVerifiesEveryDirectionAndListsItsMemory) {
  for (const auto* direction : {"fwd_inference", "fwd_training", "bwd"})
    for (const auto* problem : {"t4n2i5h6l2p3bi", "t4n2i5h6l2p3bi/peephole"}) {
      const auto workload =
          workload::MakeWorkload(fmt::format("LSTM/cpu/reference/{}/f64/{}", direction, problem));
      const workload::PreparedCall call = workload.prepare({});
      call.run();
      const workload::Verification verification = call.verify();
      EXPECT_TRUE(verification.ok) << direction << ' ' << verification.max_error;
      EXPECT_GT(verification.tolerance, 0);
      EXPECT_EQ(call.modelled.flops.count("fp64.vector"), 1U);
      EXPECT_EQ(call.modelled.launches, 1);
      EXPECT_FALSE(workload.repro);
    }
  const auto prepare = [](const std::string& rest) {
    return workload::MakeWorkload("LSTM/cpu/reference/" + rest).prepare({});
  };
  // weights 12 x 28, bias 28, peepholes 21
  constexpr size_t kWeights = 336 + 28 + 21;
  // 30 in, hidden and cell states 21 each, in and out; output 42, stored again in its layer;
  // stored: gates 6 x 28, cell, exposed and hidden 42 each
  constexpr size_t kForward = 30 + 84 + 84 + 168 + 126;
  const auto forward = prepare("fwd_training/f64/t2n3i5h7/peephole");
  EXPECT_EQ(fakes::BytesOf(forward), (fakes::ListedBytes{8 * kWeights, 8 * kForward}));
  // gradients: as many as inputs (30 + 42 and the weights) and outputs (42 + 42), no weights
  EXPECT_EQ(fakes::BytesOf(prepare("bwd/f64/t2n3i5h7/peephole")),
            (fakes::ListedBytes{8 * kWeights, 8 * (kWeights + kForward + 30 + 126)}));
}

// The list is made before calls are timed, so calls must use the memory in the list.
TEST(LstmReferenceBackend, WorksOnTheListedMemoryInEveryCall) {
  const auto call = workload::MakeWorkload("LSTM/cpu/reference/bwd/f64/t2n3i5h7l2bi").prepare({});
  call.run();
  call.verify();
  std::vector<std::vector<char>> before;
  const auto bytes = [](const workload::MemoryRegion& region) {
    const auto* begin = static_cast<const char*>(region.begin);
    return std::vector<char>(begin, begin + region.bytes);
  };
  for (const auto& region : call.memory) before.push_back(bytes(region));
  // The last nine before the weights are the gradients by source, states and both layers' input,
  // state and bias.
  const auto weights = std::ranges::find(call.memory, true, &workload::MemoryRegion::weights);
  for (auto region = weights - 9; region != weights; ++region)
    std::memset(const_cast<void*>(region->begin), 0x55, region->bytes);
  call.run();
  for (size_t k = 0; k < before.size(); ++k) EXPECT_EQ(bytes(call.memory[k]), before[k]) << k;
}

// Denormal numbers are slow, and saturated gates would hide errors.
TEST(LstmTensors, SeededDataNeitherSaturateGatesNorUnderflow) {
  for (const auto* text : {"t200n2i16h16", "t8n4i64h64l3bi", "t8n4i64h64p16/peephole"}) {
    const Prepared p = RunLoops(text);
    int64_t gates = 0, shut = 0, denormal = 0;
    const auto count = [&](const std::vector<double>& values) {
      for (const double value : values)
        if (value != 0 && std::abs(value) < std::numeric_limits<float>::min()) ++denormal;
    };
    for (const auto& layer : p.forward.stored)
      for (const auto& pass : layer.passes) {
        count(pass.cell);
        count(pass.hidden);
        gates += static_cast<int64_t>(pass.gates.size());
        for (const double gate : pass.gates)  // candidates lie within 1, gates between 0 and 1
          if (std::abs(gate) > 0.99) ++shut;
      }
    ForEachInput([&](const auto& values) { count(values); }, p.d_input);
    EXPECT_EQ(denormal, 0) << text;
    EXPECT_LT(static_cast<double>(shut), 0.01 * static_cast<double>(gates)) << text;
  }
}

}  // namespace
}  // namespace dlroof::lstm
