#include "counters/base/text_hash.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

// FNV-1a, 64 bit, of the reference implementation's test vectors.
TEST(HashOf, IsFnv1a) {
  EXPECT_EQ(HashOf(""), 0xcbf29ce484222325U);
  EXPECT_EQ(HashOf("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(HashOf("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(HashOf("bar", HashOf("foo")), HashOf("foobar"));
}

}  // namespace
}  // namespace dlroof
