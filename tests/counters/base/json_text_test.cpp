#include "counters/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dlroof {
namespace {

TEST(EscapedUtf8, EscapesOnlyInvalidBytes) {
  EXPECT_EQ(EscapedUtf8("Größe µ 漢 😀"), "Größe µ 漢 😀");
  EXPECT_EQ(EscapedUtf8("Messung_\xE4.csv"), "Messung_\\xE4.csv");
  EXPECT_EQ(EscapedUtf8("\xC0\xAF"), "\\xC0\\xAF") << "an overlong form";
  EXPECT_EQ(EscapedUtf8("\xED\xA0\x80"), "\\xED\\xA0\\x80") << "a surrogate";
  EXPECT_EQ(EscapedUtf8("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(EscapedUtf8("\xE2\x82"), "\\xE2\\x82") << "cut off";
}

TEST(JsonText, WritesNamesThatAreNotUtf8) {
  const nlohmann::json json = {{"comm\xE4nd", {"a", "b\xFF", 1}}, {"x", 0.5}};
  EXPECT_EQ(JsonText(json), R"({"comm\\xE4nd":["a","b\\xFF",1],"x":0.5})");
  EXPECT_EQ(JsonText({{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

}  // namespace
}  // namespace dlroof
