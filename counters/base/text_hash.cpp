#include "counters/base/text_hash.h"

namespace dlroof {

std::uint64_t HashOf(std::string_view text, std::uint64_t before) {
  std::uint64_t hash = before;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace dlroof
