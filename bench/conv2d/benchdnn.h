// benchdnn's driver conv: its problems ("mb16_g1ic64ih56oc64oh56kh3ph1n"name""), the benchmarks
// that they are, and the command line of a benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/benchdnn/options.h"
#include "bench/conv2d/case.h"

namespace dlroof::conv2d {

extern const benchdnn::BenchdnnDriver kConvDriver;

// One direction of the image. All zero but stride and padding: the text has nothing about it.
struct BenchdnnAxis {
  int64_t input = 0, output = 0, filter = 0;
  int64_t stride = 1;
  int64_t padding = -1;  // before the first element; below 0 while it is not known
  int64_t dilation = 0;  // 0 = dense

  bool operator==(const BenchdnnAxis&) const = default;
};

// [1] padding behind the last element, as the output asks for: below 0 where it uses less than the
// image has.
int64_t FarPadding(const BenchdnnAxis& axis);

struct BenchdnnConv {
  int64_t groups = 1, images = 2, in_channels = 0, out_channels = 0;
  bool has_groups = false;  // written, even when it is 1
  int dimensions = 2;       // of the image: 1 (w), 2 (h, w) or 3 (d, h, w)
  BenchdnnAxis d, h, w;     // complete where the image has that dimension
};

// Reads a problem. Left out means: 2 images, 1 group, stride 1, dense; the output follows from the
// padding (0 where that is left out, too), or the padding from the output; w is like h, both like
// d. Throws BenchdnnRefusal: a letter that is none, a number above 2^31-1, a size that is missing
// or leads to no output.
BenchdnnConv ReadBenchdnnConv(std::string_view text);

// The problem as benchdnn lists it; without its name.
std::string ToText(const BenchdnnConv& problem);

// benchdnn's arguments that time the same call, without what is its default: "--conv --mode=P
// --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Empty where benchdnn has no such call:
// bias without training forward (its FWD_I has no bias), any type that it does not know (f64 on the
// CPU), a fused ReLU or scales backward.
std::string ConvBenchdnn(const Conv2dCase& conv);

}  // namespace dlroof::conv2d
