#include "bench/workload/operator_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "reporters/logs/primitive.h"

namespace dlroof::workload {
namespace {

void RequirePart(const BenchmarkName& name, int part, std::string_view what,
                 const std::string& value, const std::vector<std::string_view>& allowed) {
  if (std::ranges::find(allowed, value) == allowed.end())
    throw BadInput({.column = ColumnOfPart(name, part)}, "expected a {} ({}), got '{}'", what,
                   fmt::join(allowed, ", "), value);
}

}  // namespace

void RequireDirection(const BenchmarkName& name, const std::vector<std::string_view>& directions) {
  RequirePart(name, 3, "direction", name.direction, directions);
}

void RequireType(const BenchmarkName& name, const std::vector<std::string_view>& types) {
  RequirePart(name, 4, "type", name.type, types);
}

Work WorkOfLogged(const logs::PrimitiveText& text) {
  const auto primitive = logs::ReadPrimitive(text);
  const auto found = logs::WorkOf(primitive);
  if (found.matrix != 0.0 || !found.elementwise || !found.bytes)
    throw std::logic_error(fmt::format("{} {}: {}", text.kind, text.problem,
                                       found.reason ? found.reason->text : "has matrix products"));
  const bool wide = logs::ComputeTypeOf(primitive) == "f64";
  Work work;
  work.flops[wide ? "fp64.vector" : "fp32.vector"] = *found.elementwise;
  work.parts["elementwise"] = *found.elementwise;
  work.bytes[Level::kDram] = *found.bytes;
  work.launches = 1;
  return work;
}

PreparedCall PreparedLoops(const std::function<void()>& run,
                           const std::function<Verification()>& check, Work modelled,
                           const TensorList& tensors, const TensorList& weights) {
  PreparedCall call{.run = run};
  call.verify = [run, check] {
    run();
    return check();
  };
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = std::move(modelled);
  for (const auto* list : {&tensors, &weights})
    for (const auto* tensor : *list)
      if (!tensor->empty())
        call.memory.push_back({tensor->data(), tensor->size() * sizeof(double), list == &weights});
  return call;
}

namespace {

constexpr double kAllBelowFlops = 50e6;
// [flop] Limits the cost of a sampled check, so that it takes about 0.1 s.
constexpr double kSampledFlops = 120e6;
constexpr int64_t kMinSamples = 64;
constexpr int64_t kMaxSamples = 512;

// Tensor cores sum fp8 products with fewer bits than f32: about 14 on compute capability 9.0
// (DeepSeek-V3's technical report, 3.3.2). 64 units are 2^-13 of the sum; the same for fp4.
constexpr std::array<std::pair<std::string_view, TypeRounding>, 6> kRoundings = {
    {{"f64", {0x1p-53, 0, 0}},
     {"f32", {0x1p-24, 0, 0}},
     {"bf16", {0x1p-24, 0x1p-8, 0}},
     {"f16", {0x1p-24, 0x1p-11, 0x1p-25}},
     {"e4m3", {0x1p-19, 0x1p-4, 0x1p-10}},
     {"e2m1", {0x1p-19, 0x1p-2, 0x1p-2}}}};

std::vector<int64_t> Sample(int64_t units, int64_t count, uint64_t seed) {
  auto sample = SeededIndices(std::max<int64_t>(count - 2, 0), seed, units);
  sample.push_back(0);
  sample.push_back(units - 1);
  return sample;
}

std::vector<int64_t> Compared(const OutputReference& reference, uint64_t seed) {
  if (reference.flops > kAllBelowFlops) {
    const double of_unit =
        reference.unit_flops.value_or(reference.flops / static_cast<double>(reference.units));
    const double affordable = kSampledFlops / std::max(of_unit, 1.0);
    const auto count = static_cast<int64_t>(
        std::clamp(affordable, static_cast<double>(kMinSamples), static_cast<double>(kMaxSamples)));
    auto sample =
        reference.sample ? reference.sample(count, seed) : Sample(reference.units, count, seed);
    std::ranges::sort(sample);
    sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
    return sample;
  }
  std::vector<int64_t> all(static_cast<size_t>(reference.units));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

double ErrorInUnits(double output, double value, double allowed) {
  const double error = std::fabs(output - value);
  if (error == 0) return 0;
  const double units = error / allowed;
  return allowed > 0 && std::isfinite(units) ? units : std::numeric_limits<double>::max();
}

std::optional<TypeRounding> RoundingOf(std::string_view type) {
  for (const auto& [name, rounding] : kRoundings)
    if (name == type) return rounding;
  return std::nullopt;
}

template <class Number>
Verification CheckOutput(const OutputReference& reference, const std::vector<Number>& output,
                         uint64_t seed) {
  const auto count = static_cast<int64_t>(output.size());
  if (count != reference.units * reference.size)
    throw std::logic_error(
        fmt::format("{} outputs of {} x {}", count, reference.units, reference.size));
  const auto compared = Compared(reference, seed);
  Verification found{.tolerance = 1};
  std::vector<double> unit;
  for (const int64_t index : compared) {
    const auto begin = output.begin() + index * reference.size;
    unit.assign(begin, begin + reference.size);
    const double error = reference.error(index, unit);
    found.max_error = std::max(found.max_error,
                               std::isfinite(error) ? error : std::numeric_limits<double>::max());
  }
  const int64_t elements = static_cast<int64_t>(compared.size()) * reference.size;
  found.how = elements == count ? fmt::format("all {} outputs", count)
                                : fmt::format("{} sampled outputs of {}", elements, count);
  found.ok = found.max_error <= found.tolerance;
  const auto lost =
      std::ranges::count_if(output, [](Number value) { return !std::isfinite(value); });
  if (lost > 0) {
    found.ok = false;
    found.how += fmt::format("; {} of {} are not finite", lost, count);
  }
  return found;
}

template Verification CheckOutput(const OutputReference&, const std::vector<float>&, uint64_t);
template Verification CheckOutput(const OutputReference&, const std::vector<double>&, uint64_t);

std::string_view Key(Eltwise function) {
  constexpr std::string_view kKeys[] = {"relu", "gelu_erf", "gelu_tanh", "logistic", "tanh"};
  return kKeys[static_cast<size_t>(function)];
}

double Apply(Eltwise function, double x) {
  switch (function) {
    case Eltwise::kRelu:
      return x > 0 ? x : 0;
    case Eltwise::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Eltwise::kGeluTanh: {
      constexpr double kScale = 0.79788456080286536;  // sqrt(2 / pi)
      return 0.5 * x * (1 + std::tanh(kScale * x * (1 + 0.044715 * x * x)));
    }
    case Eltwise::kLogistic:
      return 1 / (1 + std::exp(-x));
    case Eltwise::kTanh:
      return std::tanh(x);
  }
  return x;
}

}  // namespace dlroof::workload
