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

// Convert a 2-D convolution to the equivalent 3-D one, whose volumes have one frame, and back.
Conv3dProblem VolumeOf(const Conv2dProblem& problem);
Conv2dProblem ImageOf(const Conv3dProblem& problem);

// Returns the problem's text, e.g. "n16c64h112w112k64r3s3_s2p0:1x0:1", without default values.
std::string ToText(const Conv2dProblem& problem);

// The inverse of ToText; each problem has one text. Throws BadInput as ParseConv3d does.
Conv2dProblem ParseConv2d(std::string_view text, int column_offset = 0);

int64_t Flops(const Conv2dProblem& problem);       // useful FLOPs, without those on padding
int64_t DenseFlops(const Conv2dProblem& problem);  // FLOPs including those on padding

// The memory layout of source and destination. kAny: the library chooses.
enum class Conv2dLayout { kAny, kNchw, kNhwc };
enum class Conv2dAlgorithm { kDirect, kAuto, kWinograd };

struct Conv2dCase : workload::ProductCase {
  Conv2dProblem problem;
  Conv2dLayout layout = Conv2dLayout::kAny;
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kDirect;

  bool operator==(const Conv2dCase&) const = default;
};

// Returns the multiply-adds that all lanes of oneDNN's kernel execute, divided by the multiply-adds
// of the problem [1]; at least 1. `implementation`: oneDNN's name, e.g. "brgconv:avx512_core".
// `isa`: the highest ISA that oneDNN may use. Returns nullopt for AMX tiles and for implementations
// whose name begins with neither "jit" nor "br": their padding is not known.
//
// The lanes of a vector are channels of the result (destination, or source for bwd_data); in
// depthwise kernels they are groups. The last vector also computes its unused lanes. jit kernels
// also pad the summed channels to whole vectors if there are at least as many channels as lanes.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

workload::ProductSizes SizesOf(const Conv2dProblem& problem);
inline workload::ProductSizes SizesOf(const Conv2dCase& conv) { return SizesOf(conv.problem); }

// Parses a name. Throws BadInput with the column in the full name: for the reasons of
// ReadProductCase, for an invalid problem, and for an option that the direction does not allow.
Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities);

// Returns the FLOPs of a problem's text, or nullopt if it is not a problem's text.
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

// Returns the benchdnn arguments that time the same call, without defaults, e.g. "--conv --mode=P
// --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Returns nullopt if benchdnn has no such
// call: bias in inference, f64 on the CPU, and ReLU or scales in a backward call.
std::optional<std::string> ConvBenchdnn(const Conv2dCase& conv);

// Returns a GPU benchmark's tensor layout. cuDNN: NHWC unless `options` has "nchw"; other
// libraries: NCHW unless `options` has "nhwc".
delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options);

// Returns the key of the GPU's built-in parameters ("h200" for "NVIDIA H200 NVL"), or nullopt.
std::optional<std::string> BuiltInGpuOf(const std::string& name);

// Returns a model for Op::gpu_traffic, or an empty function for a GPU without built-in parameters
// and for padded calls. The model returns the bytes of a convolution at L2 and DRAM and sets `how`
// to a description. It has no L1 bytes, because measured L1 bytes include shared memory, and no L2
// bytes if the kernel's kind of loads is unknown. `algorithm`: the engine with its knobs, then the
// names of the call's kernels if known, e.g. "engine 45 (...), ..., sm80_xmma_...". If neither a
// kernel's name nor the knobs of a known engine contain the tile size, or if the model does not
// cover the convolution, it returns no bytes and sets `how` to the reason.
std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu);

}  // namespace dlroof::conv2d
