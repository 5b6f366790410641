// The Matmul problem (shape, text, FLOPs), the matrix product that each direction computes, and the
// parsed benchmark name (problem, direction, types, options).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/suites/benchdnn.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::matmul {

// C = A B for each of b pairs of matrices: A is m x k, B is k x n, C is m x n. Row-major;
// transposed matrices are stored column-major.
struct MatmulProblem {
  int64_t b = 1, m = 1, n = 1, k = 1;
  bool transposed_a = false;  // A is stored as a k x m matrix
  bool transposed_b = false;  // B is stored as an n x k matrix

  bool operator==(const MatmulProblem&) const = default;
};

// Return the number of elements of all b matrices.
int64_t CountA(const MatmulProblem& problem);
int64_t CountB(const MatmulProblem& problem);
int64_t CountC(const MatmulProblem& problem);

// Returns "b12m128n128k64_tB". The text omits a batch of 1.
std::string ToText(const MatmulProblem& problem);

// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character, or with the problem's first column if an element
// count, a size in bytes or the FLOPs overflow 64 bits.
MatmulProblem ParseMatmul(std::string_view text, int column_offset = 0);

// Returns 2 b m n k, the FLOPs in every direction.
int64_t Flops(const MatmulProblem& problem);

enum class Matrix { kA, kB, kC };  // the matrix, or its gradient in a backward pass

struct Factor {
  Matrix matrix = Matrix::kA;
  bool transposed = false;  // memory contains the transpose, row-major

  bool operator==(const Factor&) const = default;
};

// `batch` products result = left x right of (rows x depth) and (depth x columns) matrices.
struct MatmulProduct {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  Factor left, right;
  Matrix result = Matrix::kC;  // always row-major

  int64_t LeftIndex(int64_t pair, int64_t row, int64_t step) const {
    return pair * rows * depth + (left.transposed ? step * rows + row : row * depth + step);
  }
  int64_t RightIndex(int64_t pair, int64_t step, int64_t column) const {
    return pair * depth * columns +
           (right.transposed ? column * depth + step : step * columns + column);
  }

  bool operator==(const MatmulProduct&) const = default;
};

// Returns C = A B for fwd, dA = dC B^T for bwd_data and dB = A^T dC for bwd_weights. A gradient has
// the memory order of its matrix; if that is transposed, so is the whole equation.
MatmulProduct ProductOf(const MatmulProblem& problem, ProductDirection direction);

// Which elements of a factor share a scale.
enum class Scaling {
  kNone,
  kTensor,  // all
  kRows,    // a row of A, a column of B
  kBlocks,  // 1 x 128 of A, 128 x 128 of B
  kMx,      // 1 x 32 of both (MXFP8)
  kNv,      // 1 x 16 of both (NVFP4)
};

// A parsed name. A is the source, B are the weights, C is the destination.
struct MatmulCase : workload::ProductCase {
  MatmulProblem problem;
  bool ip = false;   // inner-product primitive; weights are stored n x k
  bool any = false;  // the library chooses the memory layouts (fwd only)
  Scaling scaling = Scaling::kNone;

  bool operator==(const MatmulCase&) const = default;
};

// Returns the sizes of the case. The columns of C are its channels.
workload::ProductSizes SizesOf(const MatmulCase& matmul);

// Returns the matrix product of a call; with `ip` B is stored n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

// Returns the element type of a matrix.
std::string_view TypeOf(const workload::ProductTypes& types, Matrix matrix);

// Parses a name. Throws BadInput with the column, counted from the start of the full benchmark
// name: as ReadProductCase, for an invalid problem, and for an option that does not apply to the
// direction, type or problem.
MatmulCase ReadMatmulCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities);

// Parses a name of Matmul/cpu/onednn.
MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name);

extern const suites::BenchdnnDriver kMatmulDriver, kIpDriver;

// Returns the benchdnn arguments that time the same call: "--matmul --mode=P --stag=ab --wtag=ba
// --dtag=ab 128x64:64x128" or "--ip --mode=P --dir=FWD_I mb16ic2048oc1000". A gradient by the
// matmul primitive becomes the equivalent forward call. Returns nullopt if benchdnn has no such
// call: ip with bias in inference (FWD_I has none), scales in a backward pass.
std::optional<std::string> MatmulBenchdnn(const MatmulCase& matmul);

// Parses a name. Types: f32 (without tensor cores), tf32, f16, bf16, s8s8s32, e4m3e4m3bf16,
// e2m1e2m1bf16. Options: bias, relu (fused into fwd), the scales of fp8 and fp4. The type "tf32"
// means f32 matrices with `fpmath` "tf32-truncated": tensor cores ignore the low bits. Throws
// BadInput with the column, counted from the start of the full benchmark name.
MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name);

// A column-major matrix in memory.
struct MatrixSpec {
  Matrix matrix = Matrix::kA;
  std::string type;               // one of "f32 f16 bf16 s8 s32"
  int64_t rows = 1, columns = 1;  // of the stored matrix
  bool transposed = false;        // the product uses the transpose

  bool operator==(const MatrixSpec&) const = default;
};

// `batch` products result = first x second of dense, consecutive matrices. It is the transposed
// equation of MatmulProduct (row-major), so `first` is the right factor there.
struct ProductSpec {
  MatrixSpec first, second, result;
  int64_t batch = 1;
  std::string compute;  // type of the multiply-adds: "f32", "tf32", "s32"
};
ProductSpec ProductSpecOf(const MatmulCase& matmul);

// Returns the pipe that computes this type of cuBLASLt's: "fp32.vector" for f32, else tensor cores.
std::string PipeOf(std::string_view type);

}  // namespace dlroof::matmul
