// The Conv2D problem (its shape, its text, and its FLOPs by formula) and the parsed benchmark name:
// problem, direction, types of the tensors, options of the call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/benchdnn.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"
#include "counters/delta/gemm.h"
#include "counters/delta/model.h"

namespace dlroof::conv2d {

using Conv2dProblem = delta::ConvShape;

// Return the number of elements of a tensor [1], not counting padding.
int64_t SourceCount(const Conv2dProblem& problem);
int64_t WeightsCount(const Conv2dProblem& problem);
int64_t DestinationCount(const Conv2dProblem& problem);

// Returns "n16c64h112w112k64r3s3_s2p0:1x0:1". Sizes with their default values are left out.
std::string ToText(const Conv2dProblem& problem);

// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character, or at the problem's first column for an invalid
// shape: a filter larger than the padded image, channels or filters that the groups do not divide,
// or counts, bytes or FLOPs beyond 64 bits.
Conv2dProblem ParseConv2d(std::string_view text, int column_offset = 0);

// Returns the useful FLOPs [flop]: 2 per multiply-add of a filter tap inside the image, the same in
// every direction (counters/filter_axis.h).
int64_t Flops(const Conv2dProblem& problem);
// Returns 2 N K P Q (C/groups) R S [flop], padding included.
int64_t DenseFlops(const Conv2dProblem& problem);

// Returns the most multiply-adds for one element of the direction's result [1].
int64_t TapsPerOutput(const Conv2dProblem& problem, ProductDirection direction);

// The memory layout of source and destination. For kAny the library chooses it.
enum class Conv2dLayout { kAny, kNchw, kNhwc };
enum class Conv2dAlgorithm { kDirect, kAuto, kWinograd };

struct Conv2dCase : workload::ProductCase {
  Conv2dProblem problem;
  Conv2dLayout layout = Conv2dLayout::kAny;
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kDirect;

  bool operator==(const Conv2dCase&) const = default;
};

// Returns the multiply-adds that oneDNN's kernel executes, including idle vector lanes, divided by
// the multiply-adds of the problem ([1], at least 1). `implementation` is the library's name of its
// implementation ("brgconv:avx512_core"), `isa` the ISA that the library may use. Returns nothing
// for implementations other than jit, brgconv and their relatives, and for AMX tiles.
//
// A vector contains channels of the result (the destination, or the source for bwd_data), and the
// last vector computes all its lanes. In depthwise kernels a vector contains groups. jit kernels
// also sum over whole vectors of the channels that they read, unless there are fewer channels than
// lanes.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

// Returns the sizes of the case. Each filter is a channel of the destination.
workload::ProductSizes SizesOf(const Conv2dCase& conv);

// Parses a name. Throws BadInput with the column, counted from the start of the benchmark's full
// name, if ReadProductCase does, for an invalid problem, or for an option that the direction or the
// type excludes.
Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities);

// Throws BadInput, with the column, unless the problem's text is the canonical one.
void RequireCanonical(std::string_view canonical, std::string_view text, int column_offset);
// Throws BadInput for an option that the direction of a convolution excludes.
void CheckVariant(const workload::BenchmarkName& name, const workload::ProductCase& conv);

// Returns the name's problem with this batch size. Throws BadInput if it is invalid.
template <auto kParse>
std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  auto problem = kParse(name.problem, 0);
  problem.n = batch;
  return ToText(kParse(ToText(problem), 0));
}
// Returns the FLOPs of a problem's text, or nothing if it is from another program's file.
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

// Parses a name of Conv2D/cpu/onednn.
Conv2dCase ReadOnednnConv2dCase(const workload::BenchmarkName& name);

extern const suites::BenchdnnDriver kConvDriver;  // also of Conv3D

// Returns benchdnn's arguments that time the same call, without benchdnn's defaults: "--conv
// --mode=P --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Returns nothing if benchdnn has
// no such call: bias in inference (FWD_I has none), a type that benchdnn lacks (f64 on the CPU), a
// fused ReLU or scales in a backward pass.
std::optional<std::string> ConvBenchdnn(const Conv2dCase& conv);

// Returns the tensor layout of a benchmark on a GPU: for cuDNN NHWC unless there is the option
// "nchw", for other libraries NCHW unless there is the option "nhwc".
delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options);

// Returns which built-in GPU the driver calls `name`: "h200" for "NVIDIA H200 NVL". Returns nothing
// if there is no such GPU.
std::optional<std::string> BuiltInGpuOf(const std::string& name);

// Returns a model for Op::gpu_traffic: the bytes of a convolution at L2 and DRAM, and in `how` a
// description. L1 is left out, because a record's L1 has the bytes of shared memory too.
// `algorithm` names the engine with its knobs; append the names of the call's kernels where they
// are known
// ("engine 45 (...), ..., sm80_xmma_..."). The tile follows from a kernel's name or from the knobs
// of a known engine. If neither says it, or if the model does not cover the convolution, the model
// returns no bytes and stores the reason in `how`; L2 is absent alone where it is not known how the
// kernel's loads reach it. DeltaModel returns an empty function if the GPU's parameters are not
// known.
std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu);

}  // namespace dlroof::conv2d
