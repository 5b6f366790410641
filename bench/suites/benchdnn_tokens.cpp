#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "bench/suites/benchdnn.h"

namespace dlroof::suites {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int64_t ReadNumber(std::string_view text, size_t& at, std::string_view key) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const size_t begin = at;
  int64_t value = 0;
  while (at < text.size() && IsDigit(text[at]) && value <= kMax)
    value = value * 10 + (text[at++] - '0');
  if (at == begin || value > kMax)
    throw BadInput("expected the value of '{}', an integer from 0 to {}", key, kMax);
  return value;
}

}  // namespace

std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text) {
  std::vector<BenchdnnToken> tokens;
  bool joins = false;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    if (kSpace.find(text[at]) != std::string_view::npos) {
      if (text[at++] == '\n') ++line;
      continue;
    }
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const auto end = std::min(text.find_first_of(kSpace, at), text.size());
    auto word = text.substr(at, end - at);
    at = end;
    const bool joins_next = word.ends_with('\\');
    if (joins_next) word.remove_suffix(1);
    if (joins && !tokens.empty())
      tokens.back().text += word;
    else if (!word.empty())
      tokens.push_back({std::string(word), line});
    joins = joins_next;
  }
  return tokens;
}

std::string ShownText(std::string_view text, size_t max_shown) {
  std::string shown(text.substr(0, max_shown));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > max_shown ? shown + "..." : shown;
}

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
      throw BadInput("expected one of {}or the name after n, got '{}'", keys,
                     ShownText(text.substr(at, 16)));
    }
    at += found->key.size();
    *found->value = ReadNumber(text, at, found->key);
  }
}

void RequireLetter(int64_t value, std::string_view key) {
  if (value <= 0) throw BadInput("this problem lacks {}, or its value is 0", key);
}

std::vector<int64_t> ReadSizes(std::string_view text, size_t& at) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> sizes;
  for (;;) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || size > kMax)
      throw BadInput("expected a size, an integer from 1 to {}", kMax);
    at = static_cast<size_t>(end - text.data());
    sizes.push_back(size);
    if (at == text.size() || text[at] != 'x') return sizes;
    ++at;
  }
}

void ExpectName(std::string_view text, size_t at) {
  if (at < text.size() && std::string_view("_n\"").find(text[at]) == std::string_view::npos)
    throw BadInput("expected the name after n, or the end");
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

}  // namespace dlroof::suites
