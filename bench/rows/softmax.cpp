// Softmax, y = exp(x) / sum of exp(x) over a row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/rows/rows.h"

namespace dlroof::rows {
namespace {

void RunLoops(const RowsCase& softmax, const Tensors<double>& in,
              std::vector<double>& destination) {
  const int64_t n = softmax.rows.n;
  for (int64_t row = 0; row < softmax.rows.m; ++row) {
    const double* const x = in.source.data() + row * n;
    double* const y = destination.data() + row * n;
    double greatest = x[0];
    for (int64_t i = 1; i < n; ++i) greatest = std::max(greatest, x[i]);
    for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - greatest);
    double sum = y[0];
    for (int64_t i = 1; i < n; ++i) sum += y[i];
    for (int64_t i = 0; i < n; ++i) y[i] /= sum;
  }
}

// Compares without subtracting the maximum. The allowed error, relative to an element's value:
// - f64, f32: 2^-53 or 2^-24 x (64 + sqrt(n)). Rounding an exponent of up to 16 in size takes 8 of
//   the 64 units; the rounding errors of a sum of n terms grow like sqrt(n).
// - bf16: as f32, plus 2 x 2^-8, because oneDNN stores the exponentials in the destination's type
//   and so rounds each element twice
// - f16: as f32, plus 2 x 2^-11 and the rounding error of its smallest numbers
double RowError(const RowsCase& /*softmax*/, const Tensors<float>& /*in*/, std::span<const float> x,
                std::span<const double> y, const workload::TypeRounding& rounding) {
  const auto n = static_cast<double>(y.size());
  const double allowed = rounding.sum * (64 + std::sqrt(n)) + 2 * rounding.result;
  double sum = 0, error = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += std::exp(double{x[i]});
  for (size_t i = 0; i < y.size(); ++i) {
    const double right = std::exp(double{x[i]}) / sum;
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed * right + rounding.least));
  }
  return error;
}

// Returns values from -8 to 8. Exponentials in a row then differ by up to e^16, so that it matters
// whether the maximum is subtracted.
Tensors<float> Inputs(const RowsCase& softmax, uint64_t seed) {
  return {SeededRows(softmax, seed, -8, 8)};
}

std::string Auxiliary(const RowsCase& /*softmax*/) { return "alg:softmax_accurate axis:1"; }

constexpr suites::BenchdnnOption kOptions[] = {
    {"dir", "FWD_D", "FWD_I"},
    {"sdt", "f32", "bf16"},
    {"ddt", "f32", "bf16"},
    {"stag", "nchw", suites::kBenchdnnAny, suites::ReadLayout},  // nchw: ReadLayout's name for abx
    {"dtag", "any", suites::kBenchdnnAny, suites::ReadLayout},
    {"alg", "SOFTMAX", "softmax_accurate"},
    {"axis", "1", suites::kBenchdnnAny, suites::ReadCount},
    {"mb", "0", suites::kBenchdnnAny, suites::ReadCount},
    {"attr-post-ops", "", ""},
    {"attr-scales", "", ""},
    {"inplace", "false", "0"},
};

std::optional<Reason> UnsupportedReason(size_t dimensions, const suites::BenchdnnChoice& choice) {
  if (choice["sdt"] != choice["ddt"])
    return Reason{fmt::format("types {}:{}", choice["sdt"], choice["ddt"])};
  for (const auto* tag : {"stag", "dtag"})
    if (auto reason = LayoutReason(choice[tag], dimensions)) return reason;
  if (choice.Count("axis") + 1 != static_cast<int64_t>(dimensions))
    return Reason{fmt::format("axis {} of {} dimensions", choice["axis"], dimensions)};
  return std::nullopt;
}

constexpr std::string_view kKinds[] = {"softmax", "softmax_v2", "logsoftmax"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto algorithm = logs::WordOf(primitive.text.auxiliary, "alg");
  const bool logarithm = primitive.text.kind == "logsoftmax" || algorithm == "softmax_log";
  if (!logarithm && !algorithm.empty() && algorithm != "softmax_accurate") return std::nullopt;
  return fmt::format("--softmax --mode=P {}{}--axis={} {}{}{}", suites::DirArgument(primitive),
                     logarithm ? "--alg=LOGSOFTMAX " : "",
                     logs::WordOf(primitive.text.auxiliary, "axis"),
                     suites::InAndOutArguments(primitive), suites::PostOpsArgument(primitive),
                     primitive.text.problem);
}

const suites::BenchdnnDriver kDriver =
    DriverOf(kSoftmax, {"sdt", UnsupportedReason},
             {.name = "softmax", .options = kOptions, .kinds = kKinds, .line = LineOf});

}  // namespace

const RowsOperator kSoftmax = {"Softmax", {{"training"}}, {},       "softmax",
                               Auxiliary, Inputs,         RunLoops, RowError};

[[maybe_unused]] static const bool softmax_registered =
    Register(kSoftmax, {.words = {"softmax", {}},
                        .flop_convention = "M*(5*N-2): each comparison, subtraction, exponential, "
                                           "addition and division 1",
                        .benchdnn = {&kDriver},
                        .templates = "Softmax/cpu/onednn/fwd/{f32,bf16}/*\n"});

}  // namespace dlroof::rows
