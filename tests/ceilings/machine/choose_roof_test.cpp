#include "ceilings/machine/choose_roof.h"

#include <gtest/gtest.h>

#include <map>

namespace dlroof::machine {
namespace {

Ceiling Of(double per_second, bool proved) { return {.per_second = per_second, .proved = proved}; }

std::string Chosen(const std::map<std::string, Ceiling>& ceilings) {
  std::vector<const CeilingRow*> rows;
  for (const auto& row : ceilings) rows.push_back(&row);
  const auto* chosen = ChooseRoof(rows);
  return chosen == nullptr ? "none" : chosen->first;
}

// A core that multiplies and adds beside each other reaches the same with and without FMA: a proved
// row within the noise of an unproved one is the roof. One far above the others stays it.
TEST(ChooseRoof, IsTheHighestOrAProvedRowWithinTheNoise) {
  EXPECT_EQ(Chosen({{"a", Of(2, true)}, {"b", Of(3, true)}, {"c", Of(1, true)}}), "b");
  EXPECT_EQ(Chosen({{"fma", Of(97, true)}, {"nofma", Of(100, false)}, {"old", Of(50, true)}}),
            "fma");
  EXPECT_EQ(Chosen({{"fma", Of(96, true)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({{"fma", Of(99, false)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({}), "none");
}

}  // namespace
}  // namespace dlroof::machine
