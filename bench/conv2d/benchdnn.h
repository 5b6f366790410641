// benchdnn's driver conv: its problems ("mb16_g1ic64ih56oc64oh56kh3ph1n"name""), the benchmarks
// that they are, and the command line of a benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/benchdnn/driver.h"
#include "bench/conv2d/case.h"

namespace dlroof {

extern const BenchdnnDriver kConvDriver;
std::span<const BenchdnnOption> ConvOptions();
// Its configurations: types of source, weights and destination, or one for all.
inline constexpr std::string_view kConvConfigurations =
    "f32 f32_wino f16 f64 bf16bf16bf16 u8s8f32 u8s8f16 u8s8bf16 u8s8s32 u8s8s8 u8s8u8 s8s8f32 "
    "s8s8f16 s8s8bf16 s8s8s32 s8s8s8 s8s8u8 bf16bf16f32 bf16bf16f16 bf16bf16s8 bf16bf16u8 "
    "f32bf16bf16 bf16f32bf16 f32f32s8 f32f32u8 f16f16f32 f16f16s8 f16f16u8 f32f16f16 f16f32f16";

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

// Conv2D/cpu/onednn/... FWD_I is fwd, FWD_D fwd/.../training, FWD_B fwd/.../training/bias, BWD_D
// bwd_data, BWD_W bwd_weights, BWD_WB bwd_weights/.../bias. `scales` stands for scales of source
// (common), weights (per_oc) and, where it is 8 bits wide, destination (common) other than 1, which
// benchdnn does not set. Padding behind the image that gives the same output as the padding before
// it is the same benchmark, written as symmetric.
BenchdnnName ConvName(const BenchdnnConv& problem, const BenchdnnChoice& choice);

// benchdnn's arguments that time the same call, without what is its default: "--conv --mode=P
// --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Empty where benchdnn has no such call:
// bias without training forward (its FWD_I has no bias), any type that it does not know (f64 on the
// CPU), a fused ReLU or scales backward.
std::string ConvBenchdnn(const Conv2dCase& conv);

}  // namespace dlroof
