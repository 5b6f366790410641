// Splits the files of benchdnn, oneDNN's benchmark program, into words that remember the places of
// their characters, and reads the letters of a problem.
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

// Splits a text at blanks and line ends. A word that begins with "#" begins a comment up to the end
// of the line. A "\" at the end of a word, or alone, joins the word with the next one.
std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text);

// A token that cannot be used, with the offset of the character at fault.
struct BenchdnnRefusal : BadInput {
  BenchdnnRefusal(size_t at, const std::string& reason) : BadInput(reason), offset(at) {}
  size_t offset;
};

// Returns text for a message: shortened and without control characters, because the text of a
// hostile file may be long and contain them.
std::string ShownText(std::string_view text);

// The problem texts of drivers share a syntax: letters, each followed by a number, and the
// problem's name after n ("mb16_g1ic64n"name"").
struct BenchdnnLetter {
  std::string_view key;
  int64_t* value;
};

// Reads letters and their values up to the end or to "n", which begins the problem's name. The last
// value of a repeated letter counts. Throws BenchdnnRefusal for an unknown letter and for a number
// above 2^31-1.
void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters);

// Throws BenchdnnRefusal unless the value is above 0.
void RequireLetter(int64_t value, std::string_view key);

// Returns whether a text begins with one of the keys and a digit, after an optional "mb" and its
// number, which all drivers have.
bool BeginsWithLetter(std::string_view text, std::span<const std::string_view> keys);

}  // namespace dlroof::benchdnn
