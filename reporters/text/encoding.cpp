#include "reporters/text/encoding.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "reporters/text/text.h"

namespace dlroof::text {

std::string EscapedBytes(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  constexpr std::size_t kLongest = 4;  // [byte] of a character
  std::string escaped;
  while (!text.empty()) {
    std::size_t length = 1;
    while (length <= kLongest && !IsUtf8(text.substr(0, length))) ++length;
    if (length <= kLongest && length <= text.size()) {
      escaped += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      escaped += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    }
  }
  return escaped;
}

void EscapeBytes(nlohmann::json& json) {
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    if (!IsUtf8(text)) text = EscapedBytes(text);
  } else if (json.is_array()) {
    for (auto& element : json) EscapeBytes(element);
  } else if (json.is_object()) {
    nlohmann::json::object_t escaped;
    for (auto& [key, value] : json.get_ref<nlohmann::json::object_t&>()) {
      EscapeBytes(value);
      escaped[EscapedBytes(key)] = std::move(value);
    }
    json = std::move(escaped);
  }
}

}  // namespace dlroof::text
