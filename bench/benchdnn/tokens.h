// The words of a benchdnn file (oneDNN's benchmark program), each knowing where its characters
// stand, and the letters of a problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::benchdnn {

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

// Problem texts of drivers share a syntax: letters, each with a number, and the problem's name
// behind n ("mb16_g1ic64n"name"").
struct BenchdnnLetter {
  std::string_view key;
  int64_t* value;
};

// Reads letters and their values up to the end or to "n", which begins the problem's name. The last
// value of a letter counts. Throws BenchdnnRefusal for a letter that is none and for a number above
// 2^31-1.
void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters);

// Throws BenchdnnRefusal unless the value is above 0.
void RequireLetter(int64_t value, std::string_view key);

// Returns true for a text that begins with one of the keys and a digit, behind "mb" and a number,
// which drivers share.
bool BeginsWithLetter(std::string_view text, std::span<const std::string_view> keys);

}  // namespace dlroof::benchdnn
