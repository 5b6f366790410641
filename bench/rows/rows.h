// Operators that compute each row of a matrix from the same row of another: Softmax, LayerNorm,
// RmsNorm, Eltwise and SwiGlu, whose second tensor has the same shape. A file per operator
// (softmax.cpp, ...) has what differs between them; here is what they share: the problem, the
// parsed name, benchdnn's problems, the check, the plain loops.
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

// m consecutive rows of n elements: of a tensor with more dimensions, n is the last one.
struct Rows {
  int64_t m = 1, n = 1;

  bool operator==(const Rows&) const = default;
};

std::string ToText(const Rows& rows);  // "m1024n768"
// The inverse of ToText. Throws BadInput with the column (from 1, plus `column_offset`) of the
// first bad character, or of the problem if its bytes overflow 64 bits.
Rows ParseRows(std::string_view text, int column_offset = 0);

struct RowsOperator;

// A parsed name. Source and destination have the same type.
struct RowsCase {
  const RowsOperator* op = nullptr;
  Rows rows;
  std::string type = "f32";
  bool training = false;              // forward call of a training step, not of inference
  bool scale = false, shift = false;  // LayerNorm's
  workload::Eltwise function = workload::Eltwise::kRelu;  // Eltwise's

  bool operator==(const RowsCase&) const = default;
};

// The inputs of a call.
template <class Number>
struct Tensors {
  std::vector<Number> source;                        // m x n
  std::vector<std::vector<Number>> parameters = {};  // the operator's other inputs, in its order
};

// What differs between the operators.
struct RowsOperator {
  std::string_view name;                // "Softmax"
  workload::OptionRows onednn_options;  // of names of the backends onednn and cudnn
  workload::OptionRows loops_options;   // of names of the backend reference
  // oneDNN's kind of primitive, and the auxiliary text of its log: "alg:softmax_accurate axis:1".
  std::string_view kind;
  std::string (*auxiliary)(const RowsCase& request);
  // Returns seeded inputs, exact in their types (f32 for f64).
  Tensors<float> (*inputs)(const RowsCase& request, uint64_t seed);
  // The plain loops. `destination` has as many elements as the source.
  void (*run)(const RowsCase& request, const Tensors<double>& in, std::vector<double>& destination);
  // Returns the largest error of a row y of the result, of which x is the source, divided by the
  // allowed error of each element. Compares with the definition in double.
  double (*error)(const RowsCase& request, const Tensors<float>& in, std::span<const float> x,
                  std::span<const double> y, const workload::TypeRounding& rounding);
};
extern const RowsOperator kSoftmax, kLayerNorm, kRmsNorm, kEltwise, kSwiGlu;

inline constexpr float kLayerNormEpsilon = 1e-5F;  // PyTorch's default

// Indices of the parameters of LayerNorm, and of RmsNorm, which has no shift: a number per column,
// or none.
enum LayerNormParameter : size_t { kScale, kShift };
inline constexpr size_t kUp = 0;  // of SwiGlu: the second factor, m x n, in the case's type

// Parse a name of the backend onednn (f32, bf16) or cudnn (f32, f16, bf16). Throw BadInput with the
// column, counted from the start of the benchmark's full name.
RowsCase ReadOnednnCase(const RowsOperator& op, const workload::BenchmarkName& name);
RowsCase ReadCudnnCase(const RowsOperator& op, const workload::BenchmarkName& name);

// Throws Unsupported if the machine lacks the memory for the tensors, each in its type and as f32,
// to fill it or to read it.
void RequireMemory(const RowsCase& request);

// Returns the forward call as oneDNN logs it. Its work and benchdnn's line follow from this text.
logs::PrimitiveText Logged(const RowsCase& request);
// Returns the work of one call. That of RmsNorm, which oneDNN 3.2 lacks, is a layer normalization's
// without mean.
Work WorkOf(const RowsCase& request);

// Returns the source's seeded values between low and high, exact in the case's type (f32 for f64).
std::vector<float> SeededRows(const RowsCase& request, uint64_t seed, float low, float high);

// Compares an output, of elements float or double, with the operator's definition, row by row.
template <class Number>
workload::Verification Check(const RowsCase& request, const Tensors<float>& in,
                             const std::vector<Number>& output, uint64_t seed);

// An operator's driver of benchdnn. Problems have 2 to 5 dimensions ("8x12x128x128"), of which the
// last one is the row.
struct RowsBenchdnn {
  std::string_view driver;  // "softmax"
  std::span<const suites::BenchdnnOption> options;
  std::string_view type_option;  // the option with the source's type: "sdt"
  // Returns why benchdnn's call, with tensors of so many dimensions, has no benchmark.
  std::optional<Reason> (*reason)(size_t dimensions, const suites::BenchdnnChoice& choice);
  // Returns the name's options after `training`.
  std::vector<std::string> (*name_options)(const suites::BenchdnnChoice& choice);
  std::span<const std::string_view> kinds;  // as BenchdnnDriver::kinds and ::line
  std::optional<std::string> (*line)(const logs::Primitive& primitive);
};
suites::BenchdnnDriver DriverOf(const RowsOperator& op, const RowsBenchdnn& benchdnn);
// Returns why a layout of benchdnn ("abx", "any", "ba") is not row by row, or nothing if it is.
std::optional<Reason> LayoutReason(std::string_view tag, size_t dimensions);

// Registers the operator, its plain loops, and the names of the backends cudnn and, `by_onednn`,
// onednn. `row` lacks what all operators on rows have: name, sweep parameters and directions.
// Returns true.
bool Register(const RowsOperator& op, workload::Op row, bool by_onednn = true);

}  // namespace dlroof::rows
