#include "bench/workload/problem_text.h"

#include <limits>

namespace dlroof::workload {

bool TextCursor::Accept(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void TextCursor::Expect(std::string_view word) {
  if (!Accept(word)) Refuse(fmt::format("'{}'", word));
}

int64_t TextCursor::Integer(int64_t least, std::string_view what) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const size_t start = at_;
  int64_t value = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    value = value * 10 + (text_[at_] - '0');
    ++at_;
    if (value > kMost) break;
  }
  const bool leading_zero = at_ - start > 1 && text_[start] == '0';
  if (at_ == start || leading_zero || value < least || value > kMost) {
    at_ = start;
    Refuse(fmt::format("{}, an integer from {} to {}", what, least, kMost));
  }
  return value;
}

void TextCursor::Sizes(std::initializer_list<Size> sizes) {
  for (const auto& [letter, value] : sizes) {
    Expect(letter);
    value = Integer(1, fmt::format("the size {}", letter));
  }
}

void TextCursor::Refuse(std::string_view expected) const {
  const auto got = AtEnd() ? std::string("the end") : fmt::format("'{}'", text_[at_]);
  throw BadInput({.column = column_offset_ + static_cast<int>(at_) + 1}, "expected {}, got {}",
                 expected, got);
}

int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    const int64_t before = count;
    if (__builtin_mul_overflow(before, size, &count))
      throw BadInput("{} overflows 64 bits ({} x {})", what, before, size);
  }
  return count;
}

}  // namespace dlroof::workload
