// GroupedMatmul, the products of a mixture of experts: C_e = A_e B_e per expert e, where A_e has a
// row per token routed to e. The problem, its text, routing and work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/matmul/case.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::matmul {

// A (m x k) and C (m x n) contain the rows of expert 0, then of expert 1, and so on. Each of the
// `g` experts has a matrix B, stored n x k (outputs x inputs), as models store weights.
struct GroupedProblem {
  int64_t g = 1, m = 1, n = 1, k = 1;
  // If absent, rows are spread evenly. Otherwise each row goes to the expert of rank r with
  // probability proportional to 1 / r (Zipf's law); the seed determines rows and ranks.
  std::optional<int64_t> zipf_seed = {};

  bool operator==(const GroupedProblem&) const = default;
};

// Returns the problem's text, e.g. "g128m8192n768k2048_zipf7".
std::string ToText(const GroupedProblem& problem);
// The inverse of ToText; each problem has one text. Throws BadInput as ParseMatmul does.
GroupedProblem ParseGrouped(std::string_view text, int column_offset = 0);

// Returns the number of rows of each expert; some may be 0. The sum is m.
std::vector<int64_t> RowsOfExperts(const GroupedProblem& problem);

struct GroupedCase : workload::ProductCase {
  GroupedProblem problem;
};

workload::ProductSizes SizesOf(const GroupedCase& grouped);

// Returns the work of one call: 2 m n k FLOPs on `pipe`; a launch per expert with at least one row;
// compulsory bytes of A, C and the weights of these experts, each once.
Work WorkOf(const GroupedCase& grouped, const std::string& pipe);

// Returns the matrix product of an expert that has `rows` rows.
MatmulCase ProductOfExpert(const GroupedCase& grouped, int64_t rows);

// Parse a name of the backend onednn (f32, bf16, f16; option fpmath), cublaslt (f32, tf32, f16,
// bf16) or cudnn (f16, bf16). Throw BadInput with the column.
GroupedCase ReadOnednnGroupedCase(const workload::BenchmarkName& name);
GroupedCase ReadCublasltGroupedCase(const workload::BenchmarkName& name);
GroupedCase ReadCudnnGroupedCase(const workload::BenchmarkName& name);

// Returns the case's correct results for workload::CheckOutput: elements of C in double.
workload::ProductResult ResultOf(const GroupedCase& grouped, const workload::ProductInputs& inputs);

}  // namespace dlroof::matmul
