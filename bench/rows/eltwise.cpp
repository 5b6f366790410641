// Eltwise: a function applied to each element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/rows/rows.h"

namespace dlroof::rows {
namespace {

using workload::Eltwise;

// Returns the correct value by formulas that differ from those of the loops.
double Right(Eltwise function, double x) {
  const auto logistic = [](double at) { return std::exp(at) / (1 + std::exp(at)); };
  switch (function) {
    case Eltwise::kRelu:
      return std::max(x, 0.0);
    case Eltwise::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Eltwise::kGeluTanh:
      return x * logistic(std::sqrt(8 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x));
    case Eltwise::kLogistic:
      return logistic(x);
    case Eltwise::kTanh:
      return std::expm1(2 * x) / (std::exp(2 * x) + 1);
  }
  return x;
}

void RunLoops(const RowsCase& eltwise, const Tensors<double>& in,
              std::vector<double>& destination) {
  for (size_t i = 0; i < destination.size(); ++i)
    destination[i] = Apply(eltwise.function, in.source[i]);
}

// The allowed error is 64 x 2^-24 (f64: 2^-53) x |result|. For both GELUs it is a multiple of |x|
// instead, as libraries approximate erf and tanh with an absolute error. bf16 adds 2^-8 |result|.
double RowError(const RowsCase& eltwise, const Tensors<float>& /*in*/, std::span<const float> x,
                std::span<const double> y, const workload::TypeRounding& rounding) {
  const bool gelu = eltwise.function == Eltwise::kGeluErf || eltwise.function == Eltwise::kGeluTanh;
  double error = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double right = Right(eltwise.function, x[i]);
    const double size = std::fabs(gelu ? double{x[i]} : right);
    const double allowed = 64 * rounding.sum * size + rounding.result * std::fabs(right);
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed));
  }
  return error;
}

// Returns values between -8 and 8, so that both saturated ends of each function occur.
Tensors<float> Inputs(const RowsCase& eltwise, uint64_t seed) {
  return {SeededRows(eltwise, seed, -8, 8)};
}

std::string Auxiliary(const RowsCase& eltwise) {
  return fmt::format("alg:eltwise_{} alpha:0 beta:0", Key(eltwise.function));
}

constexpr suites::BenchdnnOption kOptions[] = {
    {"dir", "FWD_D", "FWD_I"},
    {"dt", "f32", "bf16"},
    {"tag", "nchw", suites::kBenchdnnAny, suites::ReadLayout},  // nchw: ReadLayout's name for abx
    {"alg", "relu", "gelu_erf gelu_tanh logistic tanh", suites::ReadPostOps},
    {"alpha", "0", suites::kBenchdnnAny},
    {"beta", "0", suites::kBenchdnnAny},
    {"mb", "0", suites::kBenchdnnAny, suites::ReadCount},
    {"attr-post-ops", "", ""},
    {"inplace", "false", "0"},
};

std::optional<Reason> UnsupportedReason(size_t /*dimensions*/,
                                        const suites::BenchdnnChoice& choice) {
  if (choice["alg"] == "relu" && choice["alpha"].find_first_not_of("0.") != std::string_view::npos)
    return Reason{"relu with a slope"};
  // Any order of dimensions is fine. Blocked layouts, e.g. "nChw16c", are not: they may be padded.
  if (choice["tag"].find_first_of("0123456789") != std::string_view::npos)
    return Reason{fmt::format("layout {}", choice["tag"])};
  return std::nullopt;
}

std::vector<std::string> NameOptions(const suites::BenchdnnChoice& choice) {
  if (choice["alg"] == Key(RowsCase().function)) return {};
  return {std::string(choice["alg"])};
}

constexpr std::string_view kKinds[] = {"eltwise"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto& auxiliary = primitive.text.auxiliary;
  auto algorithm = logs::WordOf(auxiliary, "alg");
  if (algorithm.starts_with("eltwise_")) algorithm.remove_prefix(8);
  if (algorithm.empty()) return std::nullopt;
  const auto source = suites::SourceRole(primitive);
  const auto type = suites::TypeOf(primitive, source);
  std::string text = "--eltwise --mode=P " + suites::DirArgument(primitive);
  if (type != "f32") text += fmt::format("--dt={} ", type);
  text += suites::LayoutArgument(primitive, source, "tag");
  text += fmt::format("--alg={} ", algorithm);
  for (const auto* name : {"alpha", "beta"})
    if (const auto value = logs::WordOf(auxiliary, name); !value.empty() && value != "0")
      text += fmt::format("--{}={} ", name, value);
  return text + suites::PostOpsArgument(primitive) + primitive.text.problem;
}

const suites::BenchdnnDriver kDriver =
    DriverOf(kEltwise, {"dt", UnsupportedReason, NameOptions},
             {.name = "eltwise", .options = kOptions, .kinds = kKinds, .line = LineOf});

const workload::OptionRows kNameOptions = {{"training"},
                                           {"gelu_erf", "gelu_tanh", "logistic", "tanh"}};

}  // namespace

const RowsOperator kEltwise = {"Eltwise", kNameOptions, kNameOptions, "eltwise",
                               Auxiliary, Inputs,       RunLoops,     RowError};

[[maybe_unused]] static const bool eltwise_registered = Register(
    kEltwise, {.words = {"elementwise function", {}},
               .flop_convention = "M*N times: relu, logistic and tanh 1, gelu_erf 5, gelu_tanh 9",
               .benchdnn = {&kDriver},
               .templates = "Eltwise/cpu/onednn/fwd/{f32,bf16}/*\n"});

}  // namespace dlroof::rows
