// Functions of one element, as oneDNN's primitive and post-op eltwise computes them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace dlroof::workload {

enum class Eltwise { kRelu, kGeluErf, kGeluTanh, kLogistic, kTanh };
inline constexpr std::array kEltwises = {Eltwise::kRelu, Eltwise::kGeluErf, Eltwise::kGeluTanh,
                                         Eltwise::kLogistic, Eltwise::kTanh};

// Returns oneDNN's and benchdnn's name of the algorithm, without "eltwise_": "gelu_erf".
std::string_view Key(Eltwise function);
std::optional<Eltwise> EltwiseFromKey(std::string_view key);

// Returns the function's value at x.
double Apply(Eltwise function, double x);

}  // namespace dlroof::workload
