// The Conv2D problem (its shape, its text, and its FLOPs by formula) and the parsed benchmark name:
// problem, direction, types of the tensors, options of the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"
#include "counters/delta/gemm.h"

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

struct Conv2dCase : products::ProductCase {
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
products::ProductSizes SizesOf(const Conv2dCase& conv);

// Returns all options in the order of names. A backend accepts all or some of these rows.
const workload::OptionRows& Conv2dOptions();

// Parses a name. Throws BadInput with the column, counted from the start of the benchmark's full
// name, if ReadProductCase does, for an invalid problem, or for an option that the direction or the
// type excludes.
Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name,
                          const products::ProductCapabilities& capabilities);

// Parses a name of Conv2D/cpu/onednn.
Conv2dCase ReadOnednnConv2dCase(const workload::BenchmarkName& name);

}  // namespace dlroof::conv2d
