// Layer normalization: y = (x - mean) / sqrt(variance + epsilon) per row, times a scale and plus a
// shift per column. RMS normalization: the same with a mean of 0 and without a shift.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/rows/rows.h"
#include "bench/workload/memory.h"

namespace dlroof::rows {
namespace {

// Gradients of the normalizations (Ba et al., arXiv 1607.06450; Zhang and Sennrich, arXiv
// 1910.07467). With a normalized row h = (x - mean) / sqrt(variance + epsilon) and g = dy * scale:
// dx = (g - mean(g) - h * mean(g h)) / sqrt(variance + epsilon), without mean(g) for RmsNorm;
// dscale and dshift are the sums of dy h and of dy over all rows.

template <class Number>
struct Row {
  Row(const RowsCase& norm, const Tensors<Number>& in, int64_t row)
      : n(static_cast<size_t>(norm.rows.n)),
        x(in.source.data() + row * norm.rows.n),
        dy(in.parameters[kGradient].data() + row * norm.rows.n),
        scales(in.parameters[kScale].empty() ? nullptr : in.parameters[kScale].data()),
        mean(norm.op == &kRmsNorm ? 0 : in.parameters[kMean][static_cast<size_t>(row)]),
        factor(1 / std::sqrt(double{in.parameters[kVariance][static_cast<size_t>(row)]} +
                             double{kLayerNormEpsilon})),
        centred(norm.op != &kRmsNorm) {}

  double Normalized(size_t i) const { return (double{x[i]} - mean) * factor; }
  double Gradient(size_t i) const { return dy[i] * (scales == nullptr ? 1.0 : double{scales[i]}); }
  // Returns Normalized with absolute values, to which rounding errors are proportional.
  double NormalizedSize(size_t i) const {
    return (std::fabs(double{x[i]}) + std::fabs(mean)) * factor;
  }

  size_t n;
  const Number *x, *dy, *scales;
  double mean, factor;
  bool centred;
};

// The two means in the formula of dx: mean(g) and mean(g h).
struct Means {
  double of_gradient = 0, with_normalized = 0;
};
template <class Number>
Means MeansOf(const Row<Number>& row) {
  Means means;
  for (size_t i = 0; i < row.n; ++i) {
    if (row.centred) means.of_gradient += row.Gradient(i) / static_cast<double>(row.n);
    means.with_normalized += row.Gradient(i) * row.Normalized(i) / static_cast<double>(row.n);
  }
  return means;
}

// Appends kGradient, kMean and kVariance to in.parameters, which has scale and shift. Mean and
// variance are those of each row of in.source.
void AddGradientInputs(const RowsCase& norm, uint64_t seed, Tensors<float>& in) {
  in.parameters.push_back(SeededRows(norm, seed, -1, 1));
  std::vector<float> means, variances;
  const auto n = static_cast<double>(norm.rows.n);
  for (int64_t row = 0; row < norm.rows.m; ++row) {
    const float* const x = in.source.data() + row * norm.rows.n;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < norm.rows.n && norm.op != &kRmsNorm; ++i) mean += double{x[i]} / n;
    for (int64_t i = 0; i < norm.rows.n; ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
    means.push_back(static_cast<float>(mean));
    variances.push_back(static_cast<float>(variance));
  }
  in.parameters.push_back(std::move(means));
  in.parameters.push_back(std::move(variances));
}

void RunNormBackward(const RowsCase& norm, const Tensors<double>& in,
                     std::vector<double>& destination) {
  const auto n = static_cast<size_t>(norm.rows.n);
  double* const scale = destination.data() + norm.rows.m * norm.rows.n;
  std::fill_n(scale, 2 * n, 0.0);
  for (int64_t m = 0; m < norm.rows.m; ++m) {
    const Row row(norm, in, m);
    const auto means = MeansOf(row);
    for (size_t i = 0; i < n; ++i) {
      destination[static_cast<size_t>(m) * n + i] =
          (row.Gradient(i) - means.of_gradient - row.Normalized(i) * means.with_normalized) *
          row.factor;
      scale[i] += row.dy[i] * row.Normalized(i);
      scale[n + i] += row.dy[i];
    }
  }
}

// Returns the largest error of a row of dx, divided by the allowed error: 2^-24 (f64: 2^-53) x (64
// + sqrt(n)) x the formula of dx with absolute values; bf16 adds 2^-8 of the result.
double NormRowError(const RowsCase& norm, const Tensors<float>& in, std::span<const float> x,
                    std::span<const double> dx, const workload::TypeRounding& rounding) {
  const Row row(norm, in, (x.data() - in.source.data()) / norm.rows.n);
  const auto means = MeansOf(row);
  Means sizes;
  for (size_t i = 0; i < row.n; ++i) {
    const double gradient = std::fabs(row.Gradient(i)) / static_cast<double>(row.n);
    if (row.centred) sizes.of_gradient += gradient;
    sizes.with_normalized += gradient * row.NormalizedSize(i);
  }
  double error = 0;
  for (size_t i = 0; i < row.n; ++i) {
    const double right =
        (row.Gradient(i) - means.of_gradient - row.Normalized(i) * means.with_normalized) *
        row.factor;
    const double size = (std::fabs(row.Gradient(i)) + sizes.of_gradient +
                         row.NormalizedSize(i) * sizes.with_normalized) *
                        row.factor;
    const double allowed = rounding.sum * (64 + std::sqrt(static_cast<double>(row.n))) * size +
                           rounding.result * std::fabs(right) + rounding.least;
    error = std::max(error, workload::ErrorInUnits(dx[i], right, allowed));
  }
  return error;
}

void RunLoops(const RowsCase& norm, const Tensors<double>& in, std::vector<double>& destination) {
  if (norm.backward) return RunNormBackward(norm, in, destination);
  const auto& scale = in.parameters[kScale];
  const auto& shift = in.parameters[kShift];
  const auto n = static_cast<size_t>(norm.rows.n);
  if (norm.residual)
    for (size_t i = 0; i < in.source.size(); ++i)
      destination[in.source.size() + i] = in.source[i] + in.parameters[kResidual][i];
  for (int64_t row = 0; row < norm.rows.m; ++row) {
    const double* const x =
        (norm.residual ? &destination[in.source.size()] : in.source.data()) + row * norm.rows.n;
    double* const y = destination.data() + row * norm.rows.n;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) sum += x[i];
    const double mean = norm.op == &kRmsNorm ? 0 : sum / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double factor =
        1 / std::sqrt(squares / static_cast<double>(n) + double{kLayerNormEpsilon});
    for (size_t i = 0; i < n; ++i) {
      y[i] = (x[i] - mean) * factor;
      if (!scale.empty()) y[i] *= scale[i];
      if (!shift.empty()) y[i] += shift[i];
    }
  }
}

// The allowed error is 2^-24 (f64: 2^-53) x (64 + sqrt(n)) x ((|x| + |mean|) x scale /
// sqrt(variance + epsilon) + |shift|), because a sum's rounding errors grow like the square root of
// its length and the mean is subtracted. bf16 adds 2^-8 of the result; with a residual twice that,
// because the sum x + residual may be rounded before it is normalized.
double RowError(const RowsCase& norm, const Tensors<float>& in, std::span<const float> source,
                std::span<const double> y, const workload::TypeRounding& rounding) {
  if (norm.backward) return NormRowError(norm, in, source, y, rounding);
  std::vector<double> x(source.begin(), source.end());
  for (size_t i = 0; norm.residual && i < x.size(); ++i)
    x[i] += in.parameters[kResidual][static_cast<size_t>(&source[i] - in.source.data())];
  const auto& scales = in.parameters[kScale];
  const auto& shifts = in.parameters[kShift];
  const auto n = static_cast<double>(y.size());
  double mean = 0, variance = 0, error = 0;
  if (norm.op != &kRmsNorm)
    for (size_t i = 0; i < y.size(); ++i) mean += double{x[i]} / n;
  for (size_t i = 0; i < y.size(); ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
  const double root = std::sqrt(variance + double{kLayerNormEpsilon});
  for (size_t i = 0; i < y.size(); ++i) {
    const double scale = scales.empty() ? 1.0 : scales[i];
    const double shift = shifts.empty() ? 0.0 : shifts[i];
    const double right = (x[i] - mean) / root * scale + shift;
    const double size = (std::fabs(x[i]) + std::fabs(mean)) * scale / root + std::fabs(shift);
    const double allowed = rounding.sum * (64 + std::sqrt(n)) * size +
                           rounding.result * (norm.residual ? 2 : 1) * std::fabs(right) +
                           rounding.least;
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed));
  }
  return error;
}

// Returns source and residual between -1 and 3, so that the mean matters; scale from 0.5 to 1.5, in
// f32 or, with a residual, in the type of the rows; shift between -1 and 1, in f32.
Tensors<float> Inputs(const RowsCase& norm, uint64_t seed) {
  const std::string type = norm.residual ? norm.type : "f32";
  const auto column = [&](bool used, uint64_t which, float low, float high) {
    return workload::SeededValues(used ? norm.rows.n : 0, 3 * seed + which, type, low, high);
  };
  Tensors<float> in = {SeededRows(norm, 3 * seed, -1, 3),
                       {column(norm.scale, 1, 0.5, 1.5), column(norm.shift, 2, -1, 1)}};
  if (norm.backward) AddGradientInputs(norm, 3 * seed + 3, in);
  if (norm.residual) in.parameters.push_back(SeededRows(norm, 3 * seed + 4, -1, 3));
  return in;
}

std::string Auxiliary(const RowsCase& norm) {
  return fmt::format("flags:{}{}", norm.scale ? "C" : "", norm.shift ? "H" : "");
}

constexpr suites::BenchdnnOption kOptions[] = {
    {"dir", "FWD_D", "FWD_I BWD_DW"},
    {"dt", "f32", "f32:f32 bf16 bf16:bf16"},  // for both tensors, or "source:destination"
    {"tag", "tnc", suites::kBenchdnnAny},     // for both tensors, or "abx:any"
    {"stat-tag", "tn", suites::kBenchdnnAny},
    {"flags", "", "C H CH HC"},  // C: scale, H: shift; no benchmark has G (mean as input)
    {"attr-scales", "", ""},
    {"inplace", "false", "0"},
};

std::optional<Reason> UnsupportedReason(size_t dimensions, const suites::BenchdnnChoice& choice) {
  for (const auto tag : logs::SplitText(choice["tag"], ':'))
    if (tag != "tnc")
      if (auto reason = LayoutReason(suites::ReadLayout(tag), dimensions)) return reason;
  return std::nullopt;
}

std::vector<std::string> NameOptions(const suites::BenchdnnChoice& choice) {
  std::vector<std::string> options;
  if (choice["flags"].find('C') != std::string_view::npos) options.emplace_back("scale");
  if (choice["flags"].find('H') != std::string_view::npos) options.emplace_back("shift");
  return options;
}

constexpr std::string_view kKinds[] = {"layer_normalization", "layer_normalization_v2"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto tag = suites::LayoutArgument(primitive, suites::SourceRole(primitive), "tag");
  std::string flags(logs::WordOf(primitive.text.auxiliary, "flags"));
  // In oneDNN 2 "S" means scale and shift in one tensor.
  if (const auto at = flags.find('S'); at != std::string::npos) flags.replace(at, 1, "CH");
  return fmt::format("--lnorm --mode=P {}--dt={} {}{}{}", suites::DirArgument(primitive),
                     suites::TypePair(primitive), tag.empty() ? "--tag=any " : tag,
                     flags.empty() ? "" : fmt::format("--flags={} ", flags),
                     primitive.text.problem);
}

const suites::BenchdnnDriver kDriver =
    DriverOf(kLayerNorm, {"dt", UnsupportedReason, NameOptions},
             {.name = "lnorm", .options = kOptions, .kinds = kKinds, .line = LineOf});

const workload::OptionRows kNameOptions = {{"training"}, {"scale"}, {"shift"}};

}  // namespace

const RowsOperator kLayerNorm = {"LayerNorm", kNameOptions, kNameOptions, "layer_normalization",
                                 Auxiliary,   Inputs,       RunLoops,     RowError};

[[maybe_unused]] static const bool layernorm_registered = Register(
    kLayerNorm, {.words = {"layer normalization", {}},
                 .flop_convention = "M*(6*N+3): mean N, variance 3*N, inverse root 3, "
                                    "normalization 2*N; scale and shift 1 per element each",
                 .benchdnn = {&kDriver},
                 .templates = "LayerNorm/cpu/onednn/fwd/{f32,bf16}/*/scale/shift\n"});

const RowsOperator kRmsNorm = {"RmsNorm",
                               {{"training", "residual"}, {"scale"}},
                               {{"training", "residual"}, {"scale"}},
                               "layer_normalization",
                               Auxiliary,
                               Inputs,
                               RunLoops,
                               RowError};

[[maybe_unused]] static const bool rmsnorm_registered =
    Register(kRmsNorm, {.words = {"RMS normalization", {}},
                        .flop_convention = "M*(3*N+3): mean square 2*N, inverse root 3, "
                                           "normalization N; scale and residual 1 per element each",
                        .templates = "RmsNorm/cpu/onednn/fwd/{f32,bf16}/*/scale\n"});

size_t ResultSize(const RowsCase& request) {
  const auto elements = static_cast<size_t>(request.rows.m * request.rows.n);
  return elements + (request.backward   ? 2 * static_cast<size_t>(request.rows.n)
                     : request.residual ? elements
                                        : 0);
}

double NormColumnError(const RowsCase& norm, const Tensors<float>& in, int64_t column, double found,
                       const workload::TypeRounding& rounding) {
  const bool is_shift = column >= norm.rows.n;
  const auto i = static_cast<size_t>(column % norm.rows.n);
  double right = 0, size = 0;
  for (int64_t m = 0; m < norm.rows.m; ++m) {
    const Row row(norm, in, m);
    right += row.dy[i] * (is_shift ? 1 : row.Normalized(i));
    size += std::fabs(double{row.dy[i]}) * (is_shift ? 1 : row.NormalizedSize(i));
  }
  const double units = 64 + std::sqrt(static_cast<double>(norm.rows.m));
  return workload::ErrorInUnits(found, right, rounding.sum * units * size + rounding.least);
}

}  // namespace dlroof::rows
