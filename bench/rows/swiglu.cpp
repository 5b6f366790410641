// SwiGlu, the gated unit of current feed-forward layers (Shazeer: GLU Variants Improve Transformer,
// arXiv 2002.05202): y = x / (1 + exp(-x)) * u for two tensors x and u.
#include <algorithm>
#include <cmath>

#include "bench/rows/rows.h"
#include "bench/workload/memory.h"

namespace dlroof::rows {
namespace {

void RunLoops(const RowsCase& /*gated*/, const Tensors<double>& in,
              std::vector<double>& destination) {
  for (size_t i = 0; i < destination.size(); ++i)
    destination[i] = in.source[i] / (1 + std::exp(-in.source[i])) * in.parameters[kUp][i];
}

// Computes y by another formula than the loops. The allowed error is |x u| x 64 x 2^-24 (f64:
// 2^-53), as libraries approximate the logistic function with an absolute error; bf16: + 2^-8 |y|.
double RowError(const RowsCase& /*gated*/, const Tensors<float>& in, std::span<const float> x,
                std::span<const double> y, const workload::TypeRounding& rounding) {
  const float* const up = in.parameters[kUp].data() + (x.data() - in.source.data());
  double error = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double product = double{x[i]} * double{up[i]};
    const double right = product * (0.5 + 0.5 * std::tanh(0.5 * double{x[i]}));
    const double allowed = 64 * rounding.sum * std::fabs(product) +
                           rounding.result * std::fabs(right) + rounding.least;
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed));
  }
  return error;
}

// Returns x from -8 to 8, so that both saturated ends of the function occur, and u from -1 to 1.
Tensors<float> Inputs(const RowsCase& gated, uint64_t seed) {
  return {SeededRows(gated, 2 * seed, -8, 8), {SeededRows(gated, 2 * seed + 1, -1, 1)}};
}

std::string Auxiliary(const RowsCase& /*gated*/) { return "alg:eltwise_swish alpha:1 beta:0"; }

}  // namespace

const RowsOperator kSwiGlu = {"SwiGlu", {}, {}, "eltwise", Auxiliary, Inputs, RunLoops, RowError};

[[maybe_unused]] static const bool swiglu_registered =
    Register(kSwiGlu, {.words = {"gated unit", {}},
                       .flop_convention = "4*M*N: logistic 1, its argument and product 2, gate 1",
                       .templates = "SwiGlu/cpu/onednn/fwd/{f32,bf16}/*\n"});

}  // namespace dlroof::rows
