// Random problems of operators.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "bench/conv2d/case.h"
#include "bench/lstm/case.h"
#include "counters/base/error.h"

namespace dlroof::fakes {

inline int64_t Between(std::mt19937& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

// Changes bytes of random problems' texts, often to one of `letters`. `rewritten(text)` parses a
// text and returns the text of the problem: the same one, or the parser refuses it with the column.
template <class RandomText, class Rewritten>
void ExpectOneTextEach(std::string_view letters, RandomText random_text, Rewritten rewritten) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string text = random_text(random);
    for (int64_t change = Between(random, 1, 3); change > 0 && !text.empty(); --change) {
      const auto at = static_cast<size_t>(Between(random, 0, std::ssize(text) - 1));
      const auto byte =
          random() % 2 == 0 ? letters[random() % letters.size()] : static_cast<char>(random());
      const auto kind = random() % 3;
      if (kind == 0) text[at] = byte;
      if (kind == 1) text.erase(at, 1);
      if (kind == 2) text.insert(at, 1, byte);
    }
    try {
      ASSERT_EQ(rewritten(text), text);
    } catch (const BadInput& error) {
      ASSERT_THAT(error.what(), testing::StartsWith("column "));
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 9900);
}

// The most that a random convolution has: channels and filters per group, taps of a filter and its
// places in the image without padding along one direction, steps of a stride or a dilation.
struct ConvLimits {
  int64_t groups, images, channels, taps, places, steps, padding;
};

// The filter fits. Every other option has its default, every other padding is symmetric.
inline conv2d::Conv2dProblem RandomConv2d(std::mt19937& random, const ConvLimits& most) {
  const auto optional = [&](int64_t usual, int64_t most_of_it) {
    return random() % 2 == 0 ? usual : Between(random, usual, most_of_it);
  };
  conv2d::Conv2dProblem p;
  p.groups = optional(1, most.groups);
  p.n = Between(random, 1, most.images);
  p.c = p.groups * Between(random, 1, most.channels);
  p.k = p.groups * Between(random, 1, most.channels);
  p.r = Between(random, 1, most.taps);
  p.s = random() % 2 == 0 ? p.r : Between(random, 1, most.taps);
  for (int64_t* step : {&p.stride_h, &p.stride_w, &p.dilation_h, &p.dilation_w})
    *step = optional(1, most.steps);
  for (int64_t* end : {&p.pad_top, &p.pad_bottom, &p.pad_left, &p.pad_right})
    *end = optional(0, most.padding);
  if (random() % 2 == 0) p.pad_bottom = p.pad_top, p.pad_right = p.pad_left;
  p.h = (p.r - 1) * p.dilation_h + Between(random, 1, most.places);
  p.w = (p.s - 1) * p.dilation_w + Between(random, 1, most.places);
  return p;
}

// Sizes up to `most`; no peephole.
inline lstm::LstmProblem RandomLstm(std::mt19937& random, int64_t most) {
  const auto size = [&] { return Between(random, 1, most); };
  return {.t = size(),
          .n = size(),
          .i = size(),
          .h = size(),
          .l = random() % 2 == 0 ? 1 : size(),
          .p = random() % 2 == 0 ? 0 : size(),
          .passes = static_cast<lstm::LstmPasses>(random() % 3)};
}

}  // namespace dlroof::fakes
