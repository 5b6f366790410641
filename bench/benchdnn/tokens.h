// Splits the command lines and batch files of benchdnn (oneDNN's benchmark program) into words with
// their lines and columns, and parses problem descriptors such as "mb16ic64oh56".
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
    TextPlace place;   // line and column of that character in the file
  };

  std::string text;
  std::vector<Piece> pieces;  // one, or several if "\" joined words

  TextPlace At(size_t offset) const;
};

// Splits a text into words at blanks and line ends. A word that begins with "#" begins a comment up
// to the line's end. A "\" alone or at the end of a word joins the words around it.
std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text);

// Thrown for an invalid text. `offset` is the index of the first invalid character.
struct BenchdnnRefusal : BadInput {
  BenchdnnRefusal(size_t at, const std::string& reason) : BadInput(reason), offset(at) {}
  size_t offset;
};

// Returns text for a message: shortened and without control characters, because a malicious file
// may contain long or unprintable text.
std::string ShownText(std::string_view text);

// One field of a problem descriptor, such as "ic64": its key, and where to store its number. All
// drivers write descriptors as fields and then the problem's name after n (mb16_g1ic64n"name").
struct BenchdnnLetter {
  std::string_view key;
  int64_t* value;
};

// Parses a descriptor up to its end, or up to the "n" that begins the problem's name. If a key is
// repeated, its last number counts. Throws BenchdnnRefusal for an unknown key and for a number
// above 2^31-1.
void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters);

// Throws BenchdnnRefusal with the field's key unless its number is above 0.
void RequireLetter(int64_t value, std::string_view key);

// Parses sizes with x between them, "12x128x64", from index `at` to the first character that is
// neither a digit nor x, and moves `at` there. Throws BenchdnnRefusal unless each is from 1 to
// 2^31-1.
std::vector<int64_t> ReadSizes(std::string_view text, size_t& at);

// Throws BenchdnnRefusal unless the problem's name or the text's end follows its sizes. benchdnn
// ignores what follows a size up to the name, and its batch files have names without n.
void ExpectName(std::string_view text, size_t at);

// Returns whether a descriptor begins with a field of one of the keys. Skips a field "mb" before
// it, because the descriptors of all drivers have that field.
bool BeginsWithLetter(std::string_view text, std::span<const std::string_view> keys);

}  // namespace dlroof::benchdnn
