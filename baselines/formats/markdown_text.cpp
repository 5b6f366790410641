#include "baselines/formats/markdown_text.h"

#include <fmt/format.h>

#include <string_view>

namespace dlroof {

std::string MarkdownText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       static_cast<unsigned char>(c) >= 0x80 ||
                       std::string_view(" /.,:;-+()%=").find(c) != std::string_view::npos;
    if (plain)
      escaped += c;
    else
      escaped += fmt::format("&#{};", static_cast<int>(c));
  }
  return escaped;
}

}  // namespace dlroof
