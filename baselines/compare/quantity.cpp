#include "baselines/compare/compare.h"
#include "counters/base/keys.h"

namespace dlroof {
namespace {

constexpr KeyRow<Quantity> kQuantities[] = {{Quantity::kTime, "time"},
                                            {Quantity::kBytes, "bytes"},
                                            {Quantity::kFlops, "flops"},
                                            {Quantity::kFraction, "fraction"},
                                            {Quantity::kResidual, "residual"}};

}  // namespace

std::string_view Key(Quantity quantity) { return KeyIn(kQuantities, quantity); }
std::optional<Quantity> QuantityFromKey(std::string_view key) { return ValueIn(kQuantities, key); }

}  // namespace dlroof
