#include "baselines/formats/xml_text.h"

#include <fmt/format.h>

namespace dlroof {

std::string XmlText(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (text.compare(at, 2, "\xEF\xBF") == 0 && at + 2 < text.size() &&
        static_cast<unsigned char>(text[at + 2]) >= 0xBE) {
      escaped += static_cast<unsigned char>(text[at + 2]) == 0xBE ? "\\uFFFE" : "\\uFFFF";
      at += 2;
    } else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' || c == '\n' ||
               c == '\t' || c == '\r') {
      escaped += fmt::format("&#{};", static_cast<int>(c));
    } else if (byte < 0x20 || byte == 0x7F) {
      escaped += fmt::format("\\u{:04X}", static_cast<int>(byte));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace dlroof
