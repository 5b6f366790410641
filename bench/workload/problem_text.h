// Reading problem texts such as n16c64h112: letters and positive integers, with the column of the
// first bad character.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof::workload {

// A position in a problem text. Columns count from 1 plus `column_offset` (where the problem begins
// in a longer line).
class TextCursor {
 public:
  explicit TextCursor(std::string_view text, int column_offset = 0)
      : text_(text), column_offset_(column_offset) {}

  bool AtEnd() const { return at_ == text_.size(); }
  // True when `word` comes next; then it is consumed.
  bool Accept(std::string_view word);
  // Consumes `word` or refuses.
  void Expect(std::string_view word);
  // An integer from `least` to 2^31-1 without leading zeros, or refuses.
  int64_t Integer(int64_t least, std::string_view what);
  // Letters, each with an integer from 1.
  struct Size {
    std::string_view letter;
    int64_t& value;
  };
  void Sizes(std::initializer_list<Size> sizes);
  [[noreturn]] void Refuse(std::string_view expected) const;

 private:
  std::string_view text_;
  size_t at_ = 0;
  int column_offset_;
};

// The product of all sizes, or throws BadInput naming `what` when it leaves 64 bits.
int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what);

}  // namespace dlroof::workload
