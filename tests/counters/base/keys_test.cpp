#include "counters/base/keys.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

enum class Size { kSmall, kLarge, kNamed };
constexpr KeyRow<Size> kSizes[] = {{Size::kLarge, "large"}, {Size::kSmall, "small"}};

TEST(Keys, EachValueHasItsKeyWhateverTheOrderOfTheTable) {
  EXPECT_EQ(KeyIn(kSizes, Size::kSmall), "small");
  EXPECT_EQ(ValueIn(kSizes, "large"), Size::kLarge);
  EXPECT_EQ(ValuesOf(kSizes), (std::vector{Size::kLarge, Size::kSmall}));
}

TEST(Keys, NoKeyIsGuessed) {
  EXPECT_EQ(ValueIn(kSizes, "Large"), std::nullopt);
  EXPECT_THROW(KeyIn(kSizes, Size::kNamed), std::out_of_range);
}

}  // namespace
}  // namespace dlroof
