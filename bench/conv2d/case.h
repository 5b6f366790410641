// The Conv2D problem (shape, text, FLOPs) and the parsed name: problem, direction, types, options.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/conv2d/conv3d.h"
#include "bench/suites/benchdnn.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"
#include "counters/delta/model.h"

namespace dlroof::conv2d {

using Conv2dProblem = delta::ConvShape;

// Convert a convolution of images to the equal one of volumes of a single frame, and back.
Conv3dProblem VolumeOf(const Conv2dProblem& problem);
Conv2dProblem ImageOf(const Conv3dProblem& problem);

// Returns "n16c64h112w112k64r3s3_s2p0:1x0:1". Default values are omitted.
std::string ToText(const Conv2dProblem& problem);

// The inverse of ToText; each problem has one text. Throws BadInput as ParseConv3d.
Conv2dProblem ParseConv2d(std::string_view text, int column_offset = 0);

int64_t Flops(const Conv2dProblem& problem);       // useful FLOPs: of VolumeOf(problem)
int64_t DenseFlops(const Conv2dProblem& problem);  // dense FLOPs, including those on padding

// The memory layout of source and destination. kAny: the library chooses.
enum class Conv2dLayout { kAny, kNchw, kNhwc };
enum class Conv2dAlgorithm { kDirect, kAuto, kWinograd };

struct Conv2dCase : workload::ProductCase {
  Conv2dProblem problem;
  Conv2dLayout layout = Conv2dLayout::kAny;
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kDirect;

  bool operator==(const Conv2dCase&) const = default;
};

// Returns the multiply-adds that oneDNN's kernel executes, including idle vector lanes, divided by
// those of the problem [1], at least 1. `implementation`: oneDNN's name, such as
// "brgconv:avx512_core". `isa`: the highest ISA that oneDNN may use. Returns nullopt for AMX tiles
// and for implementations other than jit and brgconv and their variants.
//
// A vector contains channels of the result (of the destination, or of the source for bwd_data) or,
// in depthwise kernels, groups; the last vector computes all its lanes. jit kernels also pad the
// summed channels to whole vectors, unless there are fewer channels than lanes.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

workload::ProductSizes SizesOf(const Conv2dProblem& problem);
inline workload::ProductSizes SizesOf(const Conv2dCase& conv) { return SizesOf(conv.problem); }

// Parses a name. Throws BadInput, with the column in the full name, where ReadProductCase does, for
// an invalid problem, and for an option that does not apply to the direction or type.
Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities);

// Returns the text of the name's problem with this batch size. Throws BadInput if invalid.
template <auto kParse>
std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  auto problem = kParse(name.problem, 0);
  problem.n = batch;
  return ToText(kParse(ToText(problem), 0));
}
// Returns the FLOPs of a problem's text, or nullopt if it does not parse (from other programs).
template <auto kParse>
std::optional<roofline::ProductFlops> ProductFlopsOf(const std::string& text) {
  try {
    const auto problem = kParse(text, 0);
    return roofline::ProductFlops{.useful = static_cast<double>(Flops(problem)),
                                  .dense = static_cast<double>(DenseFlops(problem))};
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

Conv2dCase ReadOnednnConv2dCase(const workload::BenchmarkName& name);

extern const suites::BenchdnnDriver kConvDriver;  // of Conv2D and Conv3D

// Returns the benchdnn arguments that time the same call, without defaults: "--conv --mode=P
// --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Returns nullopt if benchdnn has no such
// call: bias in inference (FWD_I has none), f64 on the CPU, backward fused ReLU or scales.
std::optional<std::string> ConvBenchdnn(const Conv2dCase& conv);

// Returns a GPU benchmark's tensor layout. cuDNN: NHWC unless `options` has "nchw"; other
// libraries: NCHW unless `options` has "nhwc".
delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options);

// Returns the key of a GPU's built-in parameters ("h200" for "NVIDIA H200 NVL"), or nullopt.
std::optional<std::string> BuiltInGpuOf(const std::string& name);

// Returns a model for Op::gpu_traffic. It returns the bytes of a convolution at L2 and DRAM and
// sets `how` to a description; no L1 bytes, because measured L1 bytes include shared memory.
// `algorithm`: the engine with its knobs, followed by the names of the call's kernels if known
// ("engine 45 (...), ..., sm80_xmma_..."); the tile follows from a kernel's name or from the knobs
// of a known engine. If neither shows it, or the model does not cover the convolution, the model
// returns no bytes and sets `how` to the reason. L2 is absent if it is unknown how the kernel's
// loads reach it. The function is empty for a GPU without built-in parameters and for padded calls.
// loads reach it. Empty for a GPU without built-in parameters and for padded calls.
std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu);

}  // namespace dlroof::conv2d
