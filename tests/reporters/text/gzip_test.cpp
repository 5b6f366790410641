#include "reporters/text/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "counters/base/error.h"
#include "tests/fakes/refusal.h"

namespace dlroof::text {
namespace {

std::string Packed(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Lines() {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "line " + std::to_string(i * i) + "\n";
  return text;
}

TEST(Unpack, ReturnsTheTextOfAllMembers) {
  const auto text = Lines();
  EXPECT_EQ(Unpack(Packed(text), "x"), text);
  EXPECT_EQ(Unpack(Packed(text) + Packed("more") + Packed(""), "x"), text + "more");
  EXPECT_EQ(Unpack(Packed(""), "x"), "");
}

TEST(Unpack, RefusesATruncatedFileOfAnyLength) {
  const auto packed = Packed("a log of a few lines, a log of a few lines\n");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const auto refusal = fakes::RefusalOf([&] { Unpack(packed.substr(0, size), "x.gz"); });
    EXPECT_NE(refusal.find("x.gz: the gzip data are cut off after "), std::string::npos)
        << size << ": " << refusal;
  }
}

TEST(Unpack, DetectsEveryDamagedByteOfTheData) {
  const auto packed = Packed("a log of a few lines, a log of a few lines\n");
  for (std::size_t i = 10; i < packed.size(); ++i) {  // after the header
    auto damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    EXPECT_THROW(Unpack(damaged, "x"), BadInput) << i;
  }
}

TEST(Unpack, RefusesTrailingBytesAndTooMuchText) {
  EXPECT_EQ(fakes::RefusalOf([] { Unpack(Packed("a") + "tail", "x"); }),
            "x: 4 bytes that are not gzip data follow the gzip data");
  EXPECT_EQ(fakes::RefusalOf([] { Unpack(Packed(std::string(1 << 20, 'a')), "x", 1 << 19); }),
            "x: unpacks to more than 524288 bytes");
}

}  // namespace
}  // namespace dlroof::text
