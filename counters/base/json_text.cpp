#include "counters/base/json_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dlroof {
namespace {

using nlohmann::json;

// The character at the beginning of a text: its length [byte] and its code, or one byte and -1 if
// the text does not begin with UTF-8 (RFC 3629).
struct Character {
  std::size_t length = 1;
  utf8proc_int32_t code = -1;
};
Character FirstOf(std::string_view text) {
  Character first;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &first.code);
  if (length > 0) first.length = static_cast<std::size_t>(length);
  return first;
}

// Returns whether a terminal executes the character, or lets it change the order of others.
bool Controls(utf8proc_int32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
         code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

json Escaped(const json& value) {
  if (value.is_string()) return EscapedUtf8(value.get_ref<const std::string&>());
  if (!value.is_structured()) return value;
  json escaped = value.is_array() ? json::array() : json::object();
  for (const auto& item : value.items()) {
    if (value.is_array())
      escaped.push_back(Escaped(item.value()));
    else
      escaped[EscapedUtf8(item.key())] = Escaped(item.value());
  }
  return escaped;
}

}  // namespace

std::string EscapedUtf8(std::string_view text, std::string_view prefix) {
  const bool ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  std::string escaped;
  while (!text.empty()) {
    const auto [length, code] = FirstOf(text);
    if (code < 0)
      escaped += fmt::format("{}{:02X}", prefix, static_cast<unsigned char>(text.front()));
    else
      escaped += text.substr(0, length);
    text.remove_prefix(length);
  }
  return escaped;
}

std::string Printable(std::string_view text, std::string_view kept) {
  // Fast path: a comparison of 10^5 benchmarks prints 10^6 texts.
  if (std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; }))
    return std::string(text);
  std::string printable;
  while (!text.empty()) {
    const auto [length, code] = FirstOf(text);
    const auto character = text.substr(0, length);
    if (code < 0 || (Controls(code) && kept.find(character) == kept.npos))
      for (const char c : character)
        printable += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    else
      printable += character;
    text.remove_prefix(character.size());
  }
  return printable;
}

std::string JsonText(const json& value, int indent) {
  constexpr int kInvalidUtf8 = 316;
  try {
    return value.dump(indent);
  } catch (const json::type_error& error) {
    if (error.id != kInvalidUtf8) throw;
    return Escaped(value).dump(indent);
  }
}

}  // namespace dlroof
