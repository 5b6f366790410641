#include "counters/direction.h"

#include "counters/base/keys.h"

namespace dlroof {
namespace {

constexpr KeyRow<ProductDirection> kDirections[] = {
    {ProductDirection::kForward, "fwd"},
    {ProductDirection::kBackwardData, "bwd_data"},
    {ProductDirection::kBackwardWeights, "bwd_weights"}};

}  // namespace

std::string_view Key(ProductDirection direction) { return KeyIn(kDirections, direction); }

std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key) {
  return ValueIn(kDirections, key);
}

}  // namespace dlroof
