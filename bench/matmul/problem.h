// The matmul problem: its shape, its text, and its FLOPs by closed form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlroof::matmul {

// C = A B for each of b pairs of matrices: A is m x k, B is k x n, C is m x n. All sizes in
// elements. A matrix lies in memory row by row; a transposed one lies there column by column.
struct MatmulProblem {
  int64_t b = 1, m = 1, n = 1, k = 1;
  bool transposed_a = false;  // memory has the k x m matrix
  bool transposed_b = false;  // memory has the n x k matrix

  bool operator==(const MatmulProblem&) const = default;
};

// [1] elements of all b matrices.
int64_t CountA(const MatmulProblem& problem);
int64_t CountB(const MatmulProblem& problem);
int64_t CountC(const MatmulProblem& problem);

// Returns "b12m128n128k64_tB". A batch of 1 and matrices that are not transposed are left out.
std::string ToText(const MatmulProblem& problem);

// The inverse of ToText: each problem has one text. Throws BadInput with the column of the first
// bad character, counted from 1 + `column_offset`. Throws BadInput with the problem's first column
// where counts, bytes or FLOPs leave 64 bits.
MatmulProblem ParseMatmul(std::string_view text, int column_offset = 0);

// [flop] 2 b m n k in every direction.
int64_t DenseFlops(const MatmulProblem& problem);

}  // namespace dlroof::matmul
