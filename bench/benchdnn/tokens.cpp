#include "bench/benchdnn/tokens.h"

#include <algorithm>
#include <utility>

namespace dlroof {
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

}  // namespace dlroof
