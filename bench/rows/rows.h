// Common parts of the operators that compute each row of a matrix from the same row of another
// (Softmax, LayerNorm, Eltwise): the problem, the parsed name, benchdnn's problems, the plain loops
// as a benchmark. operator.h makes an operator of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/options.h"
#include "bench/workload/output_check.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"
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

// A parsed name without an operator's own options, for source and destination of the same type.
struct RowsCase {
  Rows rows;
  std::string type = "f32";
  bool training = false;  // forward call of a training step, not of inference

  bool operator==(const RowsCase&) const = default;
};
// Throws BadInput with the column, counted from the start of the benchmark's full name, unless its
// direction is fwd and its type and options are among these. The option `training` sets that
// member.
RowsCase ReadRowsCase(const workload::BenchmarkName& name,
                      const std::vector<std::string_view>& types,
                      const workload::OptionRows& options);

// Throws Unsupported if the machine lacks the memory for the two tensors, each in its type and as
// f32, to fill it or to read it.
void RequireMemory(const RowsCase& one);

// Returns why benchdnn's call, with tensors of so many dimensions, has no benchmark.
using ReasonOfChoice = std::optional<Reason> (*)(size_t dimensions,
                                                 const benchdnn::BenchdnnChoice& choice);
// Returns the benchmark of a call for which there is no such reason.
using NameOfChoice = workload::BenchmarkName (*)(const Rows& rows,
                                                 const benchdnn::BenchdnnChoice& choice);
// Parses a problem of benchdnn of 2 to 5 dimensions, "8x12x128x128". Its last dimension is the row.
benchdnn::BenchdnnProblem ReadRowsProblem(const std::string& text, ReasonOfChoice reason,
                                          NameOfChoice name);
// Returns why a layout of benchdnn ("abx", "any", "ba") is not row by row, or nothing if it is.
std::optional<Reason> LayoutReason(std::string_view tag, size_t dimensions);
// Returns why dlroof has no benchmark with the choice's post-ops, scales, context, or in place.
std::optional<Reason> VariantReason(const benchdnn::BenchdnnChoice& choice);
// Reads the types of source and destination, "bf16:bf16" or "bf16" for both.
std::string ReadTypePair(std::string_view value);
// Returns the name Op/cpu/onednn/fwd/..., with the option `training` before the others for FWD_D.
workload::BenchmarkName NameOf(std::string_view op, std::string_view type, const Rows& rows,
                               const benchdnn::BenchdnnChoice& choice);

// Returns the forward call as oneDNN logs it.
logs::PrimitiveText Logged(const RowsCase& one, std::string_view kind,
                           const std::string& auxiliary);

// Returns the workload of a call that is logged so, with benchdnn's line.
workload::Workload WorkloadOf(const logs::PrimitiveText& logged);

// The inputs of a call.
template <class Number>
struct Tensors {
  std::vector<Number> source;                        // m x n
  std::vector<std::vector<Number>> parameters = {};  // the operator's other inputs, in its order
};

// Returns the source's seeded values between low and high, exact in the case's type (f32 for f64).
std::vector<float> SeededRows(const RowsCase& one, uint64_t seed, float low, float high);

// Returns the largest error of a row y of the result, of which x is the source, divided by the
// allowed error of each element.
using ErrorOfRow = std::function<double(std::span<const float> x, std::span<const double> y,
                                        const workload::TypeRounding& rounding)>;
// Compares an output with the reference of `error_of`, row by row (workload::CheckOutput).
template <class Number>  // float or double
workload::Verification CheckRows(const RowsCase& one, const std::vector<float>& source,
                                 const std::vector<Number>& output, uint64_t seed,
                                 const ErrorOfRow& error_of);

// The plain loops of an operator, in f64.
struct RowsLoops {
  std::function<void(const Tensors<double>& in, std::vector<double>& destination)> run;
  std::function<workload::Verification(const std::vector<double>& destination)> check;
};
// Returns the loops as a prepared call with all members but `levels`.
workload::PreparedCall PreparedLoops(const Tensors<float>& in, Work modelled,
                                     const RowsLoops& loops);

}  // namespace dlroof::rows
