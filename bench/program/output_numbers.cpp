#include "bench/program/output_numbers.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "counters/base/error.h"

namespace dlroof::profile {
namespace {

// std::regex goes one call deeper for each character of a match.
constexpr std::size_t kLongestLine = 4096;

std::optional<double> NumberOf(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::regex NumberPattern(const std::string& flag, const std::string& text) {
  std::optional<std::regex> pattern;
  try {
    pattern.emplace(text, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw BadInput("{} '{}': not a regular expression: {}", flag, text, error.what());
  }
  if (pattern->mark_count() != 1)
    throw BadInput("{} '{}': expected one group in round brackets, the number; got {}", flag, text,
                   pattern->mark_count());
  return *pattern;
}

std::vector<double> NumbersIn(std::string_view text, const std::regex& pattern) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const auto end = text.find_first_of("\n\r");
    const auto line = text.substr(0, std::min(end, kLongestLine));
    for (std::cregex_iterator match(line.data(), line.data() + line.size(), pattern), none;
         match != none; ++match)
      if (const auto number = NumberOf((*match)[1].str())) numbers.push_back(*number);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return numbers;
}

}  // namespace dlroof::profile
