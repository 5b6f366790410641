// The Matmul problem (shape, text, FLOPs), the matrix product that each direction computes, and the
// parsed benchmark name (problem, direction, types, options).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/benchdnn.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/work.h"

namespace dlroof::matmul {

// C = A B for each of b pairs of matrices: A is m x k, B is k x n, C is m x n. Matrices are stored
// row-major, or column-major if transposed.
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

// Returns the problem's text, e.g. "b12m128n128k64_tB". It omits a batch of 1.
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
// the memory order of its matrix. If A (or B) is transposed, the product is dA^T (or dB^T).
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
  // [1] Consecutive compressed weights of a column that share a scale; 0: weights are not
  // compressed.
  int64_t group = 0;
  bool zero_points = false;
};

// Returns the sizes of the case. The columns of C are its channels.
workload::ProductSizes SizesOf(const MatmulCase& matmul);

// Returns the matrix product of a call; with `ip` B is stored n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

std::string_view TypeOf(const workload::ProductTypes& types, Matrix matrix);

// Parses a name. Throws BadInput with the column in the full name: for the reasons of
// ReadProductCase, for an invalid problem, and for options not of its direction, type or problem.
MatmulCase ReadMatmulCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities);

MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name);

// Compressed weights: a weight is (integer - zero point) x scale. A group of consecutive elements
// of a column shares both. Scales (in the source's type) and zero points (in the weights' type) are
// stored group by group, for all columns of a group.
struct GroupRow {
  std::string_view option;  // e.g. "scales-g128"
  int64_t group;            // [1] elements
};
inline constexpr std::array<GroupRow, 3> kGroups = {
    {{"scales-g32", 32}, {"scales-g64", 64}, {"scales-g128", 128}}};
struct Quantization {
  std::vector<float> scales, zero_points;  // empty if the call has none
};
// Returns the scales and zero points of a case, equal in every call. Scales are powers of two, so
// that a weight is exact in every floating-point type.
Quantization QuantizationOf(const MatmulCase& matmul);
double QuantizationBytes(const MatmulCase& matmul);
// Replaces the integers of B, in its memory order, by the weights that they represent.
void Expand(const MatmulCase& matmul, std::vector<float>& b);

extern const suites::BenchdnnDriver kMatmulDriver, kIpDriver;

// Returns the benchdnn arguments that time the same call, e.g. "--matmul --mode=P --stag=ab
// --wtag=ba --dtag=ab 128x64:64x128" or "--ip --mode=P --dir=FWD_I mb16ic2048oc1000". A gradient by
// the matmul primitive becomes the equivalent forward call. Returns nullopt if benchdnn has no such
// call: ip with bias in inference, scales in a backward pass.
std::optional<std::string> MatmulBenchdnn(const MatmulCase& matmul);

// Parses a name. Types: f32 (without tensor cores), tf32, f16, bf16, s8s8s32, e4m3e4m3bf16,
// e2m1e2m1bf16. Options: bias, relu (fused into fwd), the scales of fp8 and fp4. The type "tf32"
// means f32 matrices with `fpmath` "tf32-truncated": tensor cores ignore the low bits. Throws
// BadInput with the column, counted from the start of the full benchmark name.
MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name);

// A column-major matrix in memory.
struct MatrixSpec {
  Matrix matrix = Matrix::kA;
  std::string type;               // one of "f32 f16 bf16 e4m3 e2m1 s8 s32"
  int64_t rows = 1, columns = 1;  // of the stored matrix
  bool transposed = false;        // the product uses the transpose
};

// `batch` products result = first x second of dense, consecutive, column-major matrices. This is
// the transposed equation of the row-major MatmulProduct, so `first` is its right factor.
struct ProductSpec {
  MatrixSpec first, second, result;
  int64_t batch = 1;
  std::string compute;  // type of the multiply-adds: "f32", "tf32", "s32"
};
ProductSpec ProductSpecOf(const MatmulCase& matmul);

// Returns the pipe on which cuBLASLt computes the type: "fp32.vector" for f32, else tensor cores.
std::string PipeOf(std::string_view type);

// Scales of products of narrow types (fp8, fp4): which elements of a factor share one, and how
// cuBLASLt reads them in memory (cuBLAS 13 documentation, 3.1.4, "Narrow Precision Data Types").

// Returns the options of names that choose the scales.
std::vector<std::string_view> ScalingOptions();
// Returns the scales that an option of the name chooses, or kNone.
Scaling ScalingOf(const workload::BenchmarkName& name);

// Returns why a GPU of this compute capability (90: 9.0) has no such product, or nullopt if it has.
std::optional<Reason> ScalingRefusal(const MatmulCase& matmul, int compute_capability);

// The scales of one factor of a forward product, which multiplies each element by its scale.
// In both factors the elements along the sum's dimension are adjacent in memory.
class FactorScales {
 public:
  // `matrix` is kA or kB. The scales are seeded: 1/2, 1 or 2, which every type of scale can store.
  FactorScales(const MatmulCase& matmul, Matrix matrix, uint64_t seed);

  int64_t count() const { return std::ssize(values_); }  // number of scales
  double Bytes() const;                                  // size of all scales, without padding
  // Returns the scale of element `step` of the sum in row `row` of A, or in column `row` of B.
  float At(int64_t row, int64_t step) const;
  void Apply(std::vector<float>& elements) const;
  // Returns the scales in cuBLASLt's order and type, with its padding.
  std::vector<std::byte> Stored() const;

 private:
  bool is_weights_;
  std::string_view type_;              // of a scale; empty without scales
  bool is_tiled_;                      // stored in tiles of 128 rows and 4 scales along the sum
  bool is_padded_;                     // stored in multiples of 4 along the sum
  int64_t rows_, depth_;               // of the factor
  int64_t block_rows_, block_depth_;   // of the elements that share a scale
  int64_t row_blocks_, depth_blocks_;  // numbers of scales
  std::vector<float> values_;          // row_blocks_ x depth_blocks_
};

// Returns the bytes of both factors' scales, each once.
double ScaleBytes(const MatmulCase& matmul);

}  // namespace dlroof::matmul
