// A parsed Matmul benchmark name: problem, direction, types, options.
#pragma once

#include <string_view>

#include "bench/matmul/problem.h"
#include "bench/matmul/product.h"
#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"

namespace dlroof::matmul {

// A is the source, B the weights, C the destination.
struct MatmulCase : products::ProductCase {
  MatmulProblem problem;
  bool ip = false;   // by the library's inner product, which has n x k weights
  bool any = false;  // fwd: the library chooses the order of every matrix

  bool operator==(const MatmulCase&) const = default;
};

// A column is a channel of C.
products::ProductSizes SizesOf(const MatmulCase& matmul);

// The product that a call computes. With `ip` the weights lie in memory as n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

// The element type of a matrix.
std::string_view TypeOf(const products::ProductTypes& types, Matrix matrix);

// The options that exist, in the order of a name; a cell offers all or some of these rows.
const workload::OptionRows& MatmulOptions();

// Throws BadInput with the column within the whole name for what ReadProductCase refuses, a bad
// problem, or an option that the direction, the type or the problem cannot have.
MatmulCase ReadMatmulCase(const workload::BenchmarkName& name, const products::ProductOffer& offer);

// Reads a name of Matmul/cpu/onednn.
MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name);

}  // namespace dlroof::matmul
