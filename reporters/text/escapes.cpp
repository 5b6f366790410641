#include "reporters/text/escapes.h"

namespace dlroof::text {

std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      plain += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '[') {
      for (at += 2; at < text.size() && text[at] >= 0x20 && text[at] < 0x40;) ++at;
    }
  }
  return plain;
}

}  // namespace dlroof::text
