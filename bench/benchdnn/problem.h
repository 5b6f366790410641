// Syntax that the problem texts of benchdnn's drivers share: letters, each with a number, and the
// problem's name behind n ("mb16_g1ic64n"name"").
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dlroof {

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

}  // namespace dlroof
