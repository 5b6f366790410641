#include "reporters/json_cursor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "reporters/terminal.h"

namespace dlroof {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

unsigned Hex(std::string_view digits) {
  unsigned value = 0;
  if (digits.size() != 4) throw Unusual{};
  const auto done = std::from_chars(digits.data(), digits.data() + 4, value, 16);
  if (done.ec != std::errc() || done.ptr != digits.data() + 4) throw Unusual{};
  return value;
}

void AppendUtf8(unsigned code, std::string& text) {
  const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// The code point of "\uXXXX" at raw[at] (behind the u), a surrogate pair taken together; moves
// `at` behind it.
unsigned CodePoint(std::string_view raw, std::size_t& at) {
  unsigned code = Hex(raw.substr(at, 4));
  at += 4;
  if (code >= 0xDC00 && code < 0xE000) throw Unusual{};
  if (code < 0xD800 || code >= 0xE000) return code;
  if (raw.substr(at, 2) != "\\u") throw Unusual{};
  const unsigned low = Hex(raw.substr(at + 2, 4));
  if (low < 0xDC00 || low >= 0xE000) throw Unusual{};
  at += 6;
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

}  // namespace

JsonCursor::JsonCursor(std::istream& in, std::size_t window)
    : in_(in), text_(window), at_(text_.data()), end_(text_.data()) {
  Refill();
}

void JsonCursor::Refill() {
  const std::size_t left = end_ - at_;
  if (2 * left > text_.size() || !in_.good()) return;  // enough for now, or all there is
  std::memmove(text_.data(), at_, left);
  in_.read(text_.data() + left, static_cast<std::streamsize>(text_.size() - left));
  at_ = text_.data();
  end_ = at_ + left + in_.gcount();
}

char JsonCursor::Peek() {
  while (at_ != end_ && IsSpace(*at_)) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

char JsonCursor::Next() {
  const char c = Peek();
  if (at_ == end_) throw Unusual{};
  ++at_;
  return c;
}

void JsonCursor::Expect(char wanted) {
  if (Next() != wanted) throw Unusual{};
}

std::string_view JsonCursor::RawString() {
  Expect('"');
  const char* begin = at_;
  bool ascii = true;
  for (; at_ != end_ && *at_ != '"'; ++at_) {
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte < 0x20) throw Unusual{};
    ascii = ascii && byte < 0x80;
    if (byte != '\\') continue;
    if (++at_ == end_ || std::strchr("\"\\/bfnrtu", *at_) == nullptr) throw Unusual{};
  }
  if (at_ == end_) throw Unusual{};
  const std::string_view raw(begin, at_ - begin);
  ++at_;
  if (!ascii && !IsUtf8(raw)) throw Unusual{};
  return raw;
}

void JsonCursor::Unescape(std::string_view raw) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  unescaped_.clear();
  for (std::size_t at = 0; at < raw.size();) {
    if (raw[at] != '\\') {
      unescaped_ += raw[at++];
      continue;
    }
    const char kind = raw[at + 1];
    at += 2;
    if (kind == 'u')
      AppendUtf8(CodePoint(raw, at), unescaped_);
    else
      unescaped_ += kMeant[kEscapes.find(kind)];
  }
}

std::string_view JsonCursor::Text() {
  if (Peek() != '"') throw Unusual{};
  const auto raw = RawString();
  if (raw.find('\\') == std::string_view::npos) return raw;
  Unescape(raw);
  return unescaped_;
}

std::string_view JsonCursor::NumberText() {
  const char* begin = at_;
  const auto digits = [&] {
    const char* first = at_;
    while (at_ != end_ && IsDigit(*at_)) ++at_;
    if (at_ == first) throw Unusual{};
  };
  if (*at_ == '-') ++at_;
  if (at_ != end_ && *at_ == '0')
    ++at_;
  else
    digits();
  if (at_ != end_ && *at_ == '.') {
    ++at_;
    digits();
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    digits();
  }
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

double JsonCursor::Number() {
  const char first = Peek();
  if (first != '-' && !IsDigit(first)) throw Unusual{};
  const auto text = NumberText();
  double value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc() || !std::isfinite(value)) throw Unusual{};
  return value;
}

void JsonCursor::Literal(std::string_view word) {
  if (static_cast<std::size_t>(end_ - at_) < word.size() ||
      std::string_view(at_, word.size()) != word)
    throw Unusual{};
  at_ += word.size();
}

bool JsonCursor::Flag() {
  const bool value = Peek() == 't';
  Literal(value ? "true" : "false");
  return value;
}

std::string_view JsonCursor::Skip() {
  const char first = Peek();
  const char* begin = at_;
  if (first == '{') {
    Object([&](std::string_view) { Skip(); });
  } else if (first == '[') {
    Array([&] { Skip(); });
  } else if (first == '"') {
    // Escapes are looked at too: what is stepped over must be as good as what is read.
    if (const auto raw = RawString(); raw.find('\\') != std::string_view::npos) Unescape(raw);
  } else if (first == 't' || first == 'f') {
    Flag();
  } else if (first == 'n') {
    Literal("null");
  } else {
    // Beyond what a double holds it is an error, which only an exponent or its length can make.
    if (first != '-' && !IsDigit(first)) throw Unusual{};
    const char* number = at_;
    const auto text = NumberText();
    at_ = number;
    if (text.size() > 300 || text.find_first_of("eE") != std::string_view::npos)
      Number();
    else
      at_ += text.size();
  }
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

void JsonCursor::End() {
  Refill();
  if (Peek() != '\0' || at_ != end_ ||
      (in_.good() && in_.peek() != std::istream::traits_type::eof()))
    throw Unusual{};
}

}  // namespace dlroof
