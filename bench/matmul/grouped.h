// GroupedMatmul, the products of a mixture of experts: C_e = A_e B_e for each expert e, whose rows
// of A are the tokens that were routed to it. The problem, its text, its routing and its work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/matmul/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/products.h"
#include "counters/base/work.h"

namespace dlroof::matmul {

// `m` rows of A (m x k) and C (m x n), the rows of an expert one after another; of each of the `g`
// experts a matrix B, stored as n x k (outputs x inputs), as models store weights.
struct GroupedProblem {
  int64_t g = 1, m = 1, n = 1, k = 1;
  // Without it the rows are spread evenly. With it each row goes to the expert of rank r with a
  // probability proportional to 1 / r (Zipf's law); the seed decides rows and ranks.
  std::optional<int64_t> zipf_seed = {};

  bool operator==(const GroupedProblem&) const = default;
};

// Returns "g128m8192n768k2048_zipf7".
std::string ToText(const GroupedProblem& problem);
// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) as ParseMatmul does.
GroupedProblem ParseGrouped(std::string_view text, int column_offset = 0);

// Returns the number of rows of each expert [1]; an expert may have 0. They add up to m.
std::vector<int64_t> RowsOfExperts(const GroupedProblem& problem);

struct GroupedCase : workload::ProductCase {
  GroupedProblem problem;

  bool operator==(const GroupedCase&) const = default;
};

workload::ProductSizes SizesOf(const GroupedCase& grouped);

// Returns the work of one call: 2 m n k FLOPs on `pipe`, and the compulsory bytes: A, C and the
// weights of the experts that have rows, each once.
Work WorkOf(const GroupedCase& grouped, const std::string& pipe);

// Returns the matrix product that one expert computes for `rows` rows.
MatmulCase ProductOfExpert(const GroupedCase& grouped, int64_t rows);

// Parse a name of the backends onednn (f32, bf16, f16; option fpmath) and cublaslt (f32, tf32, f16,
// bf16). Throw BadInput with the column.
GroupedCase ReadOnednnGroupedCase(const workload::BenchmarkName& name);
GroupedCase ReadCublasltGroupedCase(const workload::BenchmarkName& name);

// Returns the result of a case for CheckOutput: elements of C in double.
workload::ProductResult ResultOf(const GroupedCase& grouped, const workload::ProductInputs& inputs);

}  // namespace dlroof::matmul
