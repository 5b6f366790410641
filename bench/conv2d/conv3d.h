// Conv3D, of video models: the problem (shape, text, FLOPs), the parsed name, the check of results.
// Conv2D uses the same code: its problems are volumes with one frame (VolumeOf in case.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::conv2d {

// Sizes along one dimension of the volume [elements].
struct VolumeAxis {
  int64_t size = 1, filter = 1;
  int64_t stride = 1, dilation = 1;
  int64_t pad_before = 0, pad_after = 0;

  bool operator==(const VolumeAxis&) const = default;
};
int64_t Outputs(const VolumeAxis& axis);

// Source: n x c x d x h x w; weights: k x c/groups x filter; destination: n x k x outputs.
struct Conv3dProblem {
  int64_t n = 1, c = 1, k = 1, groups = 1;
  std::array<VolumeAxis, 3> axes = {};  // depth (time), height, width

  bool operator==(const Conv3dProblem&) const = default;
};

// Returns the problem's text, e.g. "n1c16d8h28w28k16t3r3s3_s1x2x2p2:0x1:1x1:1d2g4". After the
// underscore are stride, padding, dilation and groups, without default values. One value holds for
// all axes; three values are depth x height x width. Padding is before:after if these differ.
std::string ToText(const Conv3dProblem& problem);
// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character, or of the problem's start for an invalid shape: a
// filter larger than the padded volume, channels or filters not divisible by the groups, or element
// counts, bytes or FLOPs beyond 64 bits.
Conv3dProblem ParseConv3d(std::string_view text, int column_offset = 0);
// ToText and ParseConv3d for the problems of Conv2D, whose texts omit the depth.
std::string ImageText(const Conv3dProblem& problem);
Conv3dProblem ParseImage(std::string_view text, int column_offset);

// Returns the useful FLOPs: 2 per multiply-add of a tap inside the volume; equal in all directions.
int64_t Flops(const Conv3dProblem& problem);
// Returns the dense FLOPs, including those on padding: 2 N K outputs C/groups taps.
int64_t DenseFlops(const Conv3dProblem& problem);

// Returns the sizes of a problem with this text. `channels` is the number of filters.
workload::ProductSizes SizesOf(const Conv3dProblem& problem, const std::string& text);

// Throws BadInput for an option of the name that the convolution's direction does not allow.
void CheckVariant(const workload::BenchmarkName& name, const workload::ProductCase& conv);

struct Conv3dCase : workload::ProductCase {
  Conv3dProblem problem;
};

workload::ProductSizes SizesOf(const Conv3dCase& conv);

// Parse a name of the backend onednn (f32, bf16, f16, int8 and mixes; options training, bias, relu,
// scales, fpmath) or cudnn (f16, bf16; option bias for fwd). Throw BadInput with the column.
Conv3dCase ReadOnednnConv3dCase(const workload::BenchmarkName& name);
Conv3dCase ReadCudnnConv3dCase(const workload::BenchmarkName& name);

// Returns the correct results for workload::CheckOutput, which refer to `inputs`. Each element is a
// sum in double that skips the padding. Samples contain all corners, and half of the other elements
// are at a border. `named_axes`: 3 for volumes, 2 for images.
workload::ProductResult ResultOf(const Conv3dProblem& problem, ProductDirection direction,
                                 const workload::ProductInputs& inputs, size_t named_axes = 3);
inline workload::ProductResult ResultOf(const Conv3dCase& conv,
                                        const workload::ProductInputs& inputs) {
  return ResultOf(conv.problem, conv.direction, inputs);
}

std::optional<std::string> ConvBenchdnn(const Conv3dCase& conv);

}  // namespace dlroof::conv2d
