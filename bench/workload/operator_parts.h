// Parts of which operators are made: checks of a name, the work of a call by oneDNN's log, the
// plain loops as a prepared call, the comparison of an output with a reference, and functions of
// one element as oneDNN's primitive and post-op eltwise computes them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/work.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::workload {

// Throw BadInput with the column, counted from the start of the benchmark's full name, unless its
// direction, or its type, is one of these: "expected a type (f32, bf16), got 'int8'".
void RequireDirection(const BenchmarkName& name, const std::vector<std::string_view>& directions);
void RequireType(const BenchmarkName& name, const std::vector<std::string_view>& types);

// Returns the work of one call that oneDNN would log as `text`: FLOPs and compulsory DRAM bytes by
// the closed form in reporters/logs/primitive.h, and one launch. The FLOPs are on fp64.vector for
// f64, else on fp32.vector, because narrower types are widened. Throws std::logic_error for calls
// with matrix products or without closed form.
Work WorkOfLogged(const logs::PrimitiveText& text);

using TensorList = std::vector<const std::vector<double>*>;
// Returns a call of plain loops in f64 on one thread. `run` owns the tensors, and `check` verifies
// what it computed. `weights`: tensors of trained parameters.
PreparedCall PreparedLoops(const std::function<void()>& run,
                           const std::function<Verification()>& check, Work modelled,
                           const TensorList& tensors, const TensorList& weights = {});

// The reference of an output that consists of `units` units of `size` elements each, e.g. single
// elements or rows. The reference is computed unit by unit.
struct OutputReference {
  int64_t units = 0;  // [1]
  int64_t size = 1;   // [1] elements of a unit
  double flops = 0;   // [flop] of the reference of all units
  // [flop] of the reference of one unit, if units are not alike; absent: flops / units
  std::optional<double> unit_flops{};
  // Returns the largest error of a unit's elements, each divided by its allowed error. `output` has
  // the unit's elements. NaN and infinity count as errors.
  std::function<double(int64_t unit, std::span<const double> output)> error;
  // Returns at most `count` units. Empty: CheckOutput takes the first, the last and random units.
  std::function<std::vector<int64_t>(int64_t count, uint64_t seed)> sample{};
};

// Compares `output` with the reference: all elements if the reference costs up to 50 MFLOP,
// otherwise a sample of 64 to 512 units, chosen to take about 0.1 s. Every element must be finite.
// The tolerance is 1. Throws std::logic_error if the number of elements is wrong.
template <class Number>  // float or double
Verification CheckOutput(const OutputReference& reference, const std::vector<Number>& output,
                         uint64_t seed);

// Returns |output - value| / allowed, 0 if both are equal, the largest double if not finite.
double ErrorInUnits(double output, double value, double allowed);

struct TypeRounding {
  double sum = 0;     // [1] unit roundoff within sums, relative to the sum of absolute terms
  double result = 0;  // [1] relative error of rounding a result to the type
  double least = 0;   // [1] absolute rounding error of the type's smallest numbers
};
// Returns the rounding of "f64 f32 bf16 f16 e4m3 e2m1", or nullopt for others. bf16 and f16 are
// summed in f32, e4m3 and e2m1 less exactly, as by tensor cores.
std::optional<TypeRounding> RoundingOf(std::string_view type);

enum class Eltwise { kRelu, kGeluErf, kGeluTanh, kLogistic, kTanh };
inline constexpr std::array kEltwises = {Eltwise::kRelu, Eltwise::kGeluErf, Eltwise::kGeluTanh,
                                         Eltwise::kLogistic, Eltwise::kTanh};

// Returns oneDNN's and benchdnn's name of the algorithm without "eltwise_", e.g. "gelu_erf".
std::string_view Key(Eltwise function);

double Apply(Eltwise function, double x);

}  // namespace dlroof::workload
