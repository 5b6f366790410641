// A parsed Conv2D benchmark name: problem, direction, types of the tensors, variant of the call.
#pragma once

#include "bench/conv2d/problem.h"
#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"

namespace dlroof::conv2d {

// The layout of source and destination in memory; `any` is the library's choice.
enum class Conv2dLayout { kAny, kNchw, kNhwc };
enum class Conv2dAlgorithm { kDirect, kAuto, kWinograd };

struct Conv2dCase : products::ProductCase {
  Conv2dProblem problem;
  Conv2dLayout layout = Conv2dLayout::kAny;
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kDirect;

  bool operator==(const Conv2dCase&) const = default;
};

// A filter is a channel of the destination.
products::ProductSizes SizesOf(const Conv2dCase& conv);

// The options that exist, in the order of a name; a cell offers all or some of these rows.
const workload::OptionRows& Conv2dOptions();

// Throws BadInput with the column within the whole name for what ReadProductCase refuses, a bad
// problem, or an option that the direction or the type cannot have.
Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name, const products::ProductOffer& offer);

// Reads a name of Conv2D/cpu/onednn.
Conv2dCase ReadOnednnConv2dCase(const workload::BenchmarkName& name);

}  // namespace dlroof::conv2d
