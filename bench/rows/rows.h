// Operators that compute each row of a matrix from the same row of the input: Softmax, LayerNorm,
// RmsNorm, Eltwise, and SwiGlu (two inputs of equal shape). This file has what they share: problem,
// parsed name, benchdnn's problems, check, backends. The operators' own parts: softmax.cpp, ...
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/benchdnn.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/workload.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::rows {

// m consecutive rows of n elements. n is the last dimension of a tensor with more dimensions.
struct Rows {
  int64_t m = 1, n = 1;

  bool operator==(const Rows&) const = default;
};

std::string ToText(const Rows& rows);  // e.g. "m1024n768"
// The inverse of ToText. Throws BadInput with the column (from 1, plus `column_offset`) of the
// first bad character, or of the problem's start if its size in bytes overflows 64 bits.
Rows ParseRows(std::string_view text, int column_offset = 0);

struct RowsOperator;

// A parsed name. Source and destination have the same type.
struct RowsCase {
  const RowsOperator* op = nullptr;
  Rows rows;
  std::string type = "f32";
  bool training = false;              // forward pass of training, not of inference
  bool scale = false, shift = false;  // scale: LayerNorm and RmsNorm; shift: LayerNorm only
  workload::Eltwise function = workload::Eltwise::kRelu;  // Eltwise only
  bool backward = false;  // gradients of source, scale and shift; normalizations only
  bool residual = false;  // RmsNorm only: normalizes x + residual, and writes this sum too

  bool operator==(const RowsCase&) const = default;
};

// The inputs of a call.
template <class Number>
struct Tensors {
  std::vector<Number> source;                        // m x n
  std::vector<std::vector<Number>> parameters = {};  // further inputs, in the operator's order
};

// Properties and functions that differ between the operators.
struct RowsOperator {
  std::string_view name;                // e.g. "Softmax"
  workload::OptionRows onednn_options;  // options of the backends onednn and cudnn
  workload::OptionRows loops_options;   // options of the backend reference
  // oneDNN's primitive kind, and its log's auxiliary field, e.g. "alg:softmax_accurate axis:1".
  std::string_view kind;
  std::string (*auxiliary)(const RowsCase& request);
  // Returns seeded inputs, exactly representable in their types (f64: in f32).
  Tensors<float> (*inputs)(const RowsCase& request, uint64_t seed);
  // The reference loops. `destination` must have ResultSize elements.
  void (*run)(const RowsCase& request, const Tensors<double>& in, std::vector<double>& destination);
  // Compares result row y of source row x with the operator's definition, evaluated in double.
  // Returns the largest error of an element, divided by its allowed error.
  double (*error)(const RowsCase& request, const Tensors<float>& in, std::span<const float> x,
                  std::span<const double> y, const workload::TypeRounding& rounding);
};
extern const RowsOperator kSoftmax, kLayerNorm, kRmsNorm, kEltwise, kSwiGlu;

inline constexpr float kLayerNormEpsilon = 1e-5F;  // PyTorch's default

// Indices in Tensors::parameters of LayerNorm and RmsNorm (which has no shift). Scale and shift
// have one number per column, or none if unused. The others are inputs of backward calls: the
// gradient of the result (m x n), and the mean (0 for RmsNorm) and variance of each row.
enum LayerNormParameter : size_t { kScale, kShift, kGradient, kMean, kVariance };
inline constexpr size_t kResidual = 2;  // index of a forward RmsNorm's residual (m x n)
inline constexpr size_t kUp = 0;        // index of SwiGlu's second factor (m x n)

// Parse a name of the backend onednn (f32, bf16) or cudnn (f32, f16, bf16). Throw BadInput with the
// column, counted from the start of the full benchmark name.
RowsCase ReadOnednnCase(const RowsOperator& op, const workload::BenchmarkName& name);
RowsCase ReadCudnnCase(const RowsOperator& op, const workload::BenchmarkName& name);

// Throws Unsupported if memory does not suffice for the tensors, each in its type and as f32.
void RequireMemory(const RowsCase& request);

// Returns the call as oneDNN's verbose log describes it. Work and benchdnn's line derive from it.
logs::PrimitiveText Logged(const RowsCase& request);
// Returns a call's work. RmsNorm is LayerNorm without mean, plus the addition of a residual.
Work WorkOf(const RowsCase& request);

// Returns the number of elements of a call's result. A forward call has y (m x n) and, with a
// residual, then the sums (m x n); a backward call has dx (m x n), dscale (n) and dshift (n).
size_t ResultSize(const RowsCase& request);

// Returns the error of a normalization's dscale[column] or, for a column from n to 2 n - 1, of
// dshift[column - n], divided by the allowed error (layernorm.cpp).
double NormColumnError(const RowsCase& norm, const Tensors<float>& in, int64_t column, double found,
                       const workload::TypeRounding& rounding);

// Returns seeded source values between low and high, exactly representable in the case's type.
std::vector<float> SeededRows(const RowsCase& request, uint64_t seed, float low, float high);

// Compares a result (float or double elements in the order of ResultSize) with the operator's
// definition: rows of y, sums and dx; columns of dscale and dshift if the call has scale and shift.
template <class Number>
workload::Verification Check(const RowsCase& request, const Tensors<float>& in,
                             const std::vector<Number>& output, uint64_t seed);

// What differs between the operators' benchdnn drivers. Their problems have 2 to 5 dimensions, e.g.
// "8x12x128x128"; the last is n.
struct RowsBenchdnn {
  std::string_view type_option;  // option with the source's type, e.g. "sdt"
  // Returns why a benchdnn call with this number of dimensions has no benchmark, or nullopt.
  std::optional<Reason> (*reason)(size_t dimensions, const suites::BenchdnnChoice& choice);
  // Returns the options of the benchmark's name that follow `training`; null: none.
  std::vector<std::string> (*name_options)(const suites::BenchdnnChoice& choice) = nullptr;
};
// Returns `driver` with the functions that read a problem and compute its work.
suites::BenchdnnDriver DriverOf(const RowsOperator& op, const RowsBenchdnn& benchdnn,
                                suites::BenchdnnDriver driver);
// Returns why a benchdnn layout does not store row by row, or nullopt if it does ("any", "abx").
std::optional<Reason> LayoutReason(std::string_view tag, size_t dimensions);

// Registers the operator, its reference loops, and the names of the backends onednn and cudnn. Sets
// the name, the sweep parameters and the directions in `row`. Returns true.
bool Register(const RowsOperator& op, workload::Op row);

}  // namespace dlroof::rows
