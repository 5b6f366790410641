// Faults that libraries shipped, planted into right results: each check finds its own. Sources:
// pytorch issues 163539 (3-D convolutions in bf16), 193893 (attention on one generation of GPUs),
// 187095 (grouped products), TransformerEngine issue 2765 (experts without rows).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bench/attention/attention.h"
#include "bench/conv2d/conv3d.h"
#include "bench/matmul/case.h"
#include "bench/matmul/grouped.h"
#include "bench/rows/rows.h"
#include "bench/workload/memory.h"

namespace dlroof::workload {
namespace {

constexpr uint64_t kSeed = 5;

// The largest errors [1, of the allowed error] of the right result and of the planted one.
struct Errors {
  double right = 0, planted = 0;
};

// The planted result is that of `loops`, a problem with the same tensors, on inputs that `spoil`
// changed. Both are rounded to the type, as a library's are.
Errors OfAttention(const std::string& text, const std::string& loops,
                   const std::function<void(attention::Tensors&)>& spoil = {}) {
  constexpr std::string_view type = "bf16";
  const auto problem = attention::ParseAttention(text);
  const auto in = attention::SeededInputs(problem, type, kSeed);
  auto spoilt = in;
  if (spoil) spoil(spoilt);
  const auto error = [&](const attention::AttentionProblem& computed,
                         const attention::Tensors& tensors) {
    std::vector<double> o(in.q.size());
    attention::RunLoops(computed, tensors, o);
    for (auto& value : o) value = RoundToBf16(static_cast<float>(value));
    return attention::Check(problem, type, in, o, kSeed).max_error;
  };
  return {error(problem, in), error(attention::ParseAttention(loops), spoilt)};
}

// `spoil` changes the right result, in row-major order.
template <class Case>
Errors OfProduct(const Case& product,
                 const std::function<void(std::vector<float>&, const ProductInputs&)>& spoil) {
  const auto in = SeededInputs(product, kSeed);
  const auto right = ResultOf(product, in);
  std::vector<float> output;
  for (int64_t i = 0; i < right.count; ++i)
    output.push_back(RoundToBf16(static_cast<float>(right.element(i).value)));
  const auto error = [&] {
    return CheckOutput(product, in, ProductOutput<float>{output}, kSeed).max_error;
  };
  const double before = error();
  spoil(output, in);
  return {before, error()};
}

conv2d::Conv3dCase Convolution(const std::string& problem) {
  return conv2d::ReadOnednnConv3dCase(ParseBenchmarkName("Conv3D/cpu/onednn/fwd/bf16/" + problem));
}
matmul::GroupedCase Experts(const std::string& problem) {
  return matmul::ReadOnednnGroupedCase(
      ParseBenchmarkName("GroupedMatmul/cpu/onednn/fwd/bf16/" + problem));
}

// Returns the result of a convolution with other padding or taps on the same inputs.
Errors OfOtherConvolution(const std::string& problem, const std::string& computed) {
  return OfProduct(Convolution(problem), [&](auto& output, const auto& in) {
    const auto wrong = Convolution(computed);
    const auto result = ResultOf(wrong, in);
    for (size_t i = 0; i < output.size(); ++i)
      output[i] = static_cast<float>(result.element(static_cast<int64_t>(i)).value);
  });
}

// The frames of a filter, one after another, in a sum that is rounded to bf16 after each.
Errors OfNarrowSums() {
  constexpr int64_t kFrames = 5, kChannels = 32;
  const auto conv = Convolution("n1c32d9h3w3k4t5r1s1");
  return OfProduct(conv, [&](auto& output, const ProductInputs& in) {
    constexpr int64_t kPixels = 9, kDepth = 9, kOut = kDepth - kFrames + 1;
    for (int64_t i = 0; i < std::ssize(output); ++i) {
      const int64_t k = i / (kOut * kPixels), d = i / kPixels % kOut, pixel = i % kPixels;
      float sum = 0;
      for (int64_t t = 0; t < kFrames; ++t) {
        for (int64_t c = 0; c < kChannels; ++c)
          sum += in.source.at(static_cast<size_t>((c * kDepth + d + t) * kPixels + pixel)) *
                 in.weights.at(static_cast<size_t>((k * kChannels + c) * kFrames + t));
        sum = RoundToBf16(sum);
      }
      output[static_cast<size_t>(i)] = sum;
    }
  });
}

// Rows of softmax whose maximum is not subtracted, in f16's range: large ones become infinite.
Errors OfSoftmaxWithoutMaximum() {
  const auto request =
      rows::ReadCudnnCase(rows::kSoftmax, ParseBenchmarkName("Softmax/gpu/cudnn/fwd/f16/m3n40"));
  auto in = rows::kSoftmax.inputs(request, kSeed);
  in.source[7] = 12;
  std::vector<double> right(in.source.size()), wrong;
  rows::kSoftmax.run(request, {{in.source.begin(), in.source.end()}}, right);
  constexpr double kMax = 65504;  // of f16
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0;
    const auto exponential = [&](size_t column) {
      const double value = std::exp(in.source[row * 40 + column]);
      return value > kMax ? std::numeric_limits<double>::infinity() : value;
    };
    for (size_t column = 0; column < 40; ++column) sum += exponential(column);
    for (size_t column = 0; column < 40; ++column) wrong.push_back(exponential(column) / sum);
  }
  for (auto& value : right) value = RoundToF16(static_cast<float>(value));
  return {rows::Check(request, in, right, kSeed).max_error,
          rows::Check(request, in, wrong, kSeed).max_error};
}

TEST(PublishedFaults, TwelveOfTwelveAreFound) {
  const std::vector<std::pair<std::string, Errors>> planted = {
      {"a causal mask from the wrong corner", OfAttention("b1h2q20k50d16_br", "b1h2q20k50d16_tl")},
      {"a window of one key too many", OfAttention("b1h2q40k40d16_w8tl", "b1h2q40k40d16_w9tl")},
      {"padding that is attended to", OfAttention("b2h1q9k40d16_l33:40", "b2h1q9k40d16")},
      {"the last incomplete tile of keys left out",
       OfAttention("b1h1q4k70d16", "b1h1q4k70d16_l64")},
      {"key-value heads dealt out in turn", OfAttention("b1h4q8k24d16_kv2", "b1h4q8k24d16_kv2",
                                                        [](auto& in) {
                                                          // Heads 1 and 2 exchange their queries.
                                                          const auto head = in.q.begin() + 8 * 16;
                                                          std::swap_ranges(head, head + 8 * 16,
                                                                           head + 8 * 16);
                                                        })},
      {"scores that are not scaled", OfAttention("b1h1q8k24d16", "b1h1q8k24d16",
                                                 [](auto& in) {
                                                   for (auto& value : in.q) value *= 4;
                                                 })},
      {"sums of a 3-D convolution in bf16", OfNarrowSums()},
      {"the last frame of a filter left out",
       OfOtherConvolution("n1c8d6h4w4k4t3r1s1_p2:0x0:0x0:0", "n1c8d6h4w4k4t3r1s1_p0:2x0:0x0:0")},
      {"a dilation that is ignored",
       OfOtherConvolution("n1c8d8h4w4k4t3r1s1_p2x0x0d2x1x1", "n1c8d8h4w4k4t3r1s1_p1x0x0")},
      {"an expert's rows with the weights of the one before, which has none",
       OfProduct(Experts("g4m9n16k16_zipf2"),
                 [](auto& output, const auto& in) {
                   auto shifted = in;  // rows 7 and 8 are the last expert's, the third has none
                   std::copy_n(in.weights.begin() + 2 * 256, 256,
                               shifted.weights.begin() + 3 * 256);
                   const auto experts = Experts("g4m9n16k16_zipf2");
                   const auto wrong = ResultOf(experts, shifted);
                   for (size_t i = 7 * 16; i < output.size(); ++i)
                     output[i] = static_cast<float>(wrong.element(static_cast<int64_t>(i)).value);
                 })},
      {"rows beyond an expert's capacity that are not written",
       OfProduct(Experts("g2m40n16k16_zipf1"),
                 [](auto& output, const auto&) { std::fill_n(output.end() - 16, 16, 0.0F); })},
      {"a softmax that overflows", OfSoftmaxWithoutMaximum()}};
  EXPECT_EQ(planted.size(), 12U);
  for (const auto& [fault, errors] : planted) {
    EXPECT_LE(errors.right, 1) << fault;
    EXPECT_GT(errors.planted, 1) << fault;
  }
}

}  // namespace
}  // namespace dlroof::workload
