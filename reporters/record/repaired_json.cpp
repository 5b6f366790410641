// RepairedJson (google_benchmark.h).
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "counters/base/json_text.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/text/numbers.h"

namespace dlroof::record {
namespace {

bool IsOfValue(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("+-.#()_").find(c) != std::string_view::npos;
}

// Returns whether a word stands for NaN or infinity: "NaN", "-nan", "Infinity", "inf", and
// Microsoft's old "1.#QNAN", "-1.#IND" and "nan(ind)".
bool IsNotFinite(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  const bool begins =
      std::ranges::any_of(std::array{"nan", "NaN", "NAN", "inf", "Inf", "INF", "1.#"},
                          [&](const char* one) { return word.starts_with(one); });
  return begins && text::IsNoValue(word);
}

// Appends the string that begins at `at` (a quote), and returns the offset behind it.
std::size_t AppendString(std::string_view json, std::size_t at, std::string& repaired) {
  std::size_t end = at + 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
  end = std::min(end + 1, json.size());
  repaired += EscapedUtf8(json.substr(at, end - at), R"(\\x)");
  return end;
}

}  // namespace

std::optional<std::string> RepairedJson(std::string_view json) {
  std::string repaired;
  repaired.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = AppendString(json, at, repaired);
      continue;
    }
    std::size_t end = at;
    while (end < json.size() && IsOfValue(json[end])) ++end;
    const auto word = json.substr(at, std::max<std::size_t>(end - at, 1));
    repaired += IsNotFinite(word) ? "null" : word;
    at += word.size();
  }
  return repaired == json ? std::nullopt : std::optional(std::move(repaired));
}

}  // namespace dlroof::record
