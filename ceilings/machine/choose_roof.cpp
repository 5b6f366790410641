#include "ceilings/machine/choose_roof.h"

namespace dlroof::machine {

const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows) {
  constexpr double kNoise = 0.03;
  const CeilingRow *highest = nullptr, *proved = nullptr;
  for (const auto* row : rows) {
    const auto higher = [&](const CeilingRow* other) {
      return other == nullptr || row->second.per_second > other->second.per_second;
    };
    if (higher(highest)) highest = row;
    if (row->second.proved && higher(proved)) proved = row;
  }
  if (proved == nullptr) return highest;
  return proved->second.per_second >= (1 - kNoise) * highest->second.per_second ? proved : highest;
}

}  // namespace dlroof::machine
