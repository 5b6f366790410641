// benchdnn's driver conv: parses its problems (mb16_g1ic64ih56oc64oh56kh3ph1n"name"), maps them to
// benchmarks, and writes the command line of a benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/benchdnn/options.h"
#include "bench/conv2d/case.h"

namespace dlroof::conv2d {

extern const benchdnn::BenchdnnDriver kConvDriver;

// Sizes of one dimension of the image. A dimension that the descriptor does not mention has the
// default values.
struct BenchdnnAxis {
  int64_t input = 0, output = 0, filter = 0;
  int64_t stride = 1;
  int64_t padding = -1;  // before the first element; negative while unknown
  int64_t dilation = 0;  // gaps between taps (0 is dense), as benchdnn counts them

  bool operator==(const BenchdnnAxis&) const = default;
};

// Returns the padding after the last element with which the image has axis.output outputs [1]. It
// is negative if the outputs do not use the whole image.
int64_t FarPadding(const BenchdnnAxis& axis);

struct BenchdnnConv {
  int64_t groups = 1, images = 2, in_channels = 0, out_channels = 0;
  int dimensions = 2;    // of the image: 1 (w), 2 (h, w) or 3 (d, h, w)
  BenchdnnAxis d, h, w;  // all sizes are known for the dimensions of the image
};

// Parses a problem. The defaults are 2 images, 1 group, stride 1 and no dilation. The output size
// follows from the padding (default 0), or the padding from the output size. w defaults to h, and
// both to d. Throws BenchdnnRefusal for an unknown key, a number above 2^31-1, a missing size, or
// sizes that lead to no output.
BenchdnnConv ReadBenchdnnConv(std::string_view text);

// Returns benchdnn's arguments that time the same call, without benchdnn's defaults: "--conv
// --mode=P --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Returns nothing if benchdnn has
// no such call: bias in inference (FWD_I has none), a type that benchdnn lacks (f64 on the CPU), a
// fused ReLU or scales in a backward pass.
std::optional<std::string> ConvBenchdnn(const Conv2dCase& conv);

}  // namespace dlroof::conv2d
