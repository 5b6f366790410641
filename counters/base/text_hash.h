// A hash of text, the same on every platform. Names files and is stored in them: it must never
// change.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlroof {

// FNV-1a of 64 bits, of `text` behind the text whose hash is `before`.
inline constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325;
inline std::uint64_t HashOf(std::string_view text, std::uint64_t before = kHashOfNothing) {
  std::uint64_t hash = before;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace dlroof
