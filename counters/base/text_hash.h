// A hash of text, the same on every platform. Names files and is stored in them: it must never
// change.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlroof {

// FNV-1a of 64 bits, of `text` behind the text whose hash is `before`.
inline constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325;
std::uint64_t HashOf(std::string_view text, std::uint64_t before = kHashOfNothing);

}  // namespace dlroof
