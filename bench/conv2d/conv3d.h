// Conv3D, the convolution of video models: its problem (shape, text, FLOPs by formula), the parsed
// benchmark name, and the check of results, which all libraries share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/products.h"
#include "counters/base/work.h"

namespace dlroof::conv2d {

// One dimension of the volume [elements].
struct VolumeAxis {
  int64_t size = 1, filter = 1;
  int64_t stride = 1, dilation = 1;
  int64_t pad_before = 0, pad_after = 0;

  bool operator==(const VolumeAxis&) const = default;
};
int64_t Outputs(const VolumeAxis& axis);

// source n x c x depth x height x width, weights k x c/groups x filter, destination n x k x outputs
struct Conv3dProblem {
  int64_t n = 1, c = 1, k = 1, groups = 1;
  std::array<VolumeAxis, 3> axes = {};  // depth (time), height, width

  bool operator==(const Conv3dProblem&) const = default;
};

// Returns "n1c16d8h28w28k16t3r3s3_s1x2x2p2:0x1:1x1:1d2g4". After the underscore: stride, padding,
// dilation and groups, each only if it is not the default. A stride, padding or dilation has one
// value for all axes, or three: depth x height x width. Padding is before:after if these differ.
std::string ToText(const Conv3dProblem& problem);
// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) as ParseConv2d does.
Conv3dProblem ParseConv3d(std::string_view text, int column_offset = 0);

// Returns the useful FLOPs [flop]: 2 per multiply-add of a filter tap inside the volume, the same
// in every direction (counters/filter_axis.h).
int64_t Flops(const Conv3dProblem& problem);
// Returns 2 N K outputs C/groups taps [flop], padding included.
int64_t DenseFlops(const Conv3dProblem& problem);

struct Conv3dCase : workload::ProductCase {
  Conv3dProblem problem;

  bool operator==(const Conv3dCase&) const = default;
};

workload::ProductSizes SizesOf(const Conv3dCase& conv);

// Parse a name of the backends onednn (f32, bf16, f16, int8 and mixes; options training, bias,
// relu, scales, fpmath) and cudnn (f16, bf16; option bias of fwd). Throw BadInput with the column.
Conv3dCase ReadOnednnConv3dCase(const workload::BenchmarkName& name);
Conv3dCase ReadCudnnConv3dCase(const workload::BenchmarkName& name);

// Returns the result of a case for CheckOutput, element by element in double. A sample contains
// every corner; half of the other elements are at a border.
workload::ProductResult ResultOf(const Conv3dCase& conv, const workload::ProductInputs& inputs);

// Returns benchdnn's arguments that time the same call, or nothing, as ConvBenchdnn (case.h).
std::optional<std::string> ConvBenchdnn(const Conv3dCase& conv);

}  // namespace dlroof::conv2d
