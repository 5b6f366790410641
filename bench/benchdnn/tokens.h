// The words of a benchdnn file (oneDNN's benchmark program), each knowing where its characters
// stand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {

struct TextPlace {
  int line = 0, column = 0;  // from 1
};

struct BenchdnnToken {
  struct Piece {
    size_t begin = 0;  // offset in `text`
    TextPlace place;   // of that character in the file
  };

  std::string text;
  std::vector<Piece> pieces;  // one, or more where "\" joined words

  TextPlace At(size_t offset) const;
};

// Words are separated by blanks and line ends; a word that begins with "#" and what follows it in
// the line is a comment; a "\" at the end of a word, or alone, joins it with the next one.
std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text);

// A token that cannot be used: why, and at which of its characters.
struct BenchdnnRefusal : BadInput {
  BenchdnnRefusal(size_t at, const std::string& why) : BadInput(why), offset(at) {}
  size_t offset;
};

// For messages: text from a hostile file may be long and hold control characters.
std::string ShownText(std::string_view text);

}  // namespace dlroof
