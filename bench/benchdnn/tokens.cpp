#include "bench/benchdnn/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace dlroof::benchdnn {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

// Takes words one by one and joins those that a "\" continues.
class TokenList {
 public:
  void Add(std::string_view word, TextPlace place) {
    if (!continued_ || tokens_.empty()) tokens_.emplace_back();
    continued_ = word.back() == '\\';
    if (continued_) word.remove_suffix(1);
    BenchdnnToken& token = tokens_.back();
    token.pieces.push_back({token.text.size(), place});
    token.text += word;
  }
  std::vector<BenchdnnToken> Take() {
    // "\" alone at the very end, or as the first word.
    std::erase_if(tokens_, [](const BenchdnnToken& token) { return token.text.empty(); });
    return std::move(tokens_);
  }
  // "\" as a word of its own continues the word before it.
  bool AcceptLoneBackslash(std::string_view word) {
    if (word != "\\" || continued_) return false;
    continued_ = true;
    return true;
  }

 private:
  std::vector<BenchdnnToken> tokens_;
  bool continued_ = false;
};

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

TextPlace BenchdnnToken::At(size_t offset) const {
  const Piece* piece = &pieces.front();
  for (const Piece& next : pieces)
    if (next.begin <= offset) piece = &next;
  return {piece->place.line, piece->place.column + static_cast<int>(offset - piece->begin)};
}

std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text) {
  TokenList tokens;
  int line = 1;
  size_t line_begin = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++line;
      line_begin = at + 1;
    }
    if (kSpace.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const auto end = std::min(text.find_first_of(kSpace, at), text.size());
    const auto word = text.substr(at, end - at);
    if (!tokens.AcceptLoneBackslash(word))
      tokens.Add(word, {line, static_cast<int>(at - line_begin) + 1});
    at = end;
  }
  return tokens.Take();
}

std::string ShownText(std::string_view text) {
  constexpr size_t kMostShown = 80;
  std::string shown(text.substr(0, kMostShown));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > kMostShown ? shown + "..." : shown;
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

}  // namespace dlroof::benchdnn
