// The three products of a trained layer: its result, and the gradients of its two factors.
#pragma once

#include <optional>
#include <string_view>

namespace dlroof {

enum class ProductDirection { kForward, kBackwardData, kBackwardWeights };
std::string_view Key(ProductDirection direction);  // "fwd", "bwd_data", "bwd_weights"
std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key);

}  // namespace dlroof
