#include "bench/benchdnn/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "bench/benchdnn/tokens.h"

namespace dlroof {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int64_t ReadNumber(std::string_view text, size_t& at, std::string_view key) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const size_t begin = at;
  int64_t value = 0;
  while (at < text.size() && IsDigit(text[at]) && value <= kMost)
    value = value * 10 + (text[at++] - '0');
  if (at == begin || value > kMost)
    throw BenchdnnRefusal(
        begin, fmt::format("expected the value of '{}', an integer from 0 to {}", key, kMost));
  return value;
}

}  // namespace

void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters) {
  for (size_t at = 0; at < text.size() && text[at] != 'n';) {
    if (at > 0 && text[at] == '_') {
      ++at;
      continue;
    }
    const BenchdnnLetter* found = nullptr;
    for (const BenchdnnLetter& letter : letters)
      if (letter.key[0] == text[at] && text.substr(at, letter.key.size()) == letter.key)
        found = &letter;
    if (found == nullptr) {
      std::string keys;
      for (const BenchdnnLetter& letter : letters) keys += fmt::format("{} ", letter.key);
      throw BenchdnnRefusal(at, fmt::format("expected one of {}or the name after n, got '{}'", keys,
                                            ShownText(text.substr(at, 16))));
    }
    at += found->key.size();
    *found->value = ReadNumber(text, at, found->key);
  }
}

void RequireLetter(int64_t value, std::string_view key) {
  if (value <= 0)
    throw BenchdnnRefusal(0, fmt::format("this problem lacks {} (or has it as 0)", key));
}

bool BeginsWithLetter(std::string_view text, std::span<const std::string_view> keys) {
  if (text.starts_with("mb")) {
    const auto next = text.find_first_not_of("0123456789_", 2);
    if (next == 2 || next == std::string_view::npos) return false;
    text.remove_prefix(next);
  }
  return std::ranges::any_of(keys, [&](std::string_view key) {
    return text.size() > key.size() && text.starts_with(key) && IsDigit(text[key.size()]);
  });
}

}  // namespace dlroof
