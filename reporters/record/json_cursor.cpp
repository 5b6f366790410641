#include "reporters/record/json_cursor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "reporters/text/text.h"

namespace dlroof {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
static_assert(std::endian::native == std::endian::little);

// How many of 8 bytes of a string, from its first on, are neither quote, backslash, control
// character nor beyond ASCII. In each byte of these sums the highest bit tells; a borrow can only
// reach bytes behind one that is found (the usual arithmetic of bytes within a word).
int PlainBytes(const char* text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  const auto holds = [&](unsigned char c) {
    const std::uint64_t difference = bytes ^ (kOnes * c);
    return (difference - kOnes) & ~difference;
  };
  const std::uint64_t control = (bytes - kOnes * 0x20) & ~bytes;
  return std::countr_zero((bytes | control | holds('"') | holds('\\')) & kHighs) / 8;
}

// How many of 8 bytes, from the first on, are digits. A sum can only carry into bytes behind one
// that is none.
int DigitBytes(const char* text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  const std::uint64_t values = bytes ^ (kOnes * '0');  // 0 to 9 of digits
  return std::countr_zero((values | (values + kOnes * (0x80 - 10))) & kHighs) / 8;
}

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

// The code point of the four hex digits at raw[at], which follow a backslash and a "u"; with the
// escape behind them where the two are a surrogate pair. Moves `at` behind what it took.
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
    : in_(in),
      most_(window),
      size_(std::min(window, kFewBytes)),
      text_(new char[window + kZeros]),
      at_(text_.get()),
      end_(text_.get()) {
  std::memset(text_.get(), 0, kZeros);
  Refill();
}

void JsonCursor::Refill() {
  const std::size_t left = end_ - at_;
  if (2 * left <= size_ && in_.good()) Fill();  // else it is enough for now, or all there is
}

void JsonCursor::Fill() {
  const std::size_t left = end_ - at_;
  std::memmove(text_.get(), at_, left);
  in_.read(text_.get() + left, static_cast<std::streamsize>(size_ - left));
  at_ = text_.get();
  end_ = at_ + left + in_.gcount();
  std::memset(text_.get() + (end_ - at_), 0, kZeros);
  taken_ += static_cast<std::size_t>(in_.gcount());
}

bool JsonCursor::Again(const char* begin, int depth) {
  if (size_ == most_ || !in_.good()) return false;
  at_ = begin;
  depth_ = depth;
  size_ = std::min(most_, 4 * size_);
  Fill();
  return true;
}

std::pair<std::string_view, bool> JsonCursor::RawString() {
  Expect('"');
  const char* begin = at_;
  bool ascii = true, escapes = false;
  for (;; ++at_) {
    int plain = PlainBytes(at_);
    for (; plain == 8; plain = PlainBytes(at_)) at_ += 8;
    at_ += plain;
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte == '"') break;
    if (byte < 0x20) throw Unusual{};
    ascii = ascii && byte < 0x80;
    if (byte != '\\') continue;
    escapes = true;
    ++at_;  // of a string's view, not of strchr's, which would find a zero byte in any text
    if (std::string_view("\"\\/bfnrtu").find(*at_) == std::string_view::npos) throw Unusual{};
  }
  const std::string_view raw(begin, at_ - begin);
  ++at_;
  if (!ascii && !IsUtf8(raw)) throw Unusual{};
  return {raw, escapes};
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
  const auto [raw, escapes] = RawString();
  if (!escapes) return raw;
  Unescape(raw);
  return unescaped_;
}

// Escapes are looked at too: what is stepped over must be as good as what is read.
void JsonCursor::SkipString() {
  const auto [raw, escapes] = RawString();
  if (escapes) Unescape(raw);
}

void JsonCursor::Digits() {
  int digits = DigitBytes(at_);
  if (digits == 0) throw Unusual{};
  for (; digits == 8; digits = DigitBytes(at_)) at_ += 8;
  at_ += digits;
}

bool JsonCursor::ScanNumber() {
  const auto next = [&](char wanted) { return *at_ == wanted; };
  const char* begin = at_;
  if (next('-')) ++at_;
  if (next('0'))
    ++at_;
  else
    Digits();
  if (next('.')) {
    ++at_;
    Digits();
  }
  const bool within = at_ - begin < 200;
  if (!next('e') && !next('E')) return within;
  ++at_;
  if (next('-') || next('+')) ++at_;
  const char* exponent = at_;
  Digits();
  return within && at_ - exponent <= 2;
}

// Beyond what a double holds it is an error, which only an exponent or its length can make.
void JsonCursor::SkipNumber() {
  Peek();
  const char* begin = at_;
  if (ScanNumber()) return;
  at_ = begin;
  Number();
}

double JsonCursor::Number() {
  Peek();
  const char* begin = at_;
  ScanNumber();
  double value = 0;
  const auto done = std::from_chars(begin, at_, value);
  if (done.ec != std::errc() || done.ptr != at_ || !std::isfinite(value)) throw Unusual{};
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

void JsonCursor::SkipObject() {
  Expect('{');
  if (++depth_ > kDeepest) throw Unusual{};
  char between = Peek() == '}' ? Next() : ',';
  while (between == ',') {
    SkipString();
    Expect(':');
    Skip();
    between = Next();
  }
  if (between != '}') throw Unusual{};
  --depth_;
}

std::string_view JsonCursor::Skip() {
  const char first = Peek();
  const char* begin = at_;
  if (first == '{') {
    SkipObject();
  } else if (first == '[') {
    Array([&] { Skip(); });
  } else {
    SkipScalar();
  }
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

void JsonCursor::SkipScalar() {
  const char first = *at_;
  if (first == '"')
    SkipString();
  else if (first == 't' || first == 'f')
    Flag();
  else if (first == 'n')
    Literal("null");
  else
    SkipNumber();
}

std::string_view JsonCursor::KeyAndColon() {
  const auto key = Text();
  Expect(':');
  Peek();
  return key;
}

// From behind a value of the one object (or before it) to the next, or behind its end.
std::string_view JsonCursor::StepInObject(JsonBrackets& brackets) {
  const char c = Next();
  if (brackets.depth == 0) {
    if (c != '{') throw Unusual{};
    brackets.Enter(true);
    if (Peek() != '}') return KeyAndColon();
    ++at_;
  } else if (c == ',') {
    return KeyAndColon();
  } else if (c != '}') {
    throw Unusual{};
  }
  brackets.Leave();
  return {};
}

// A bracket or a comma with its key; `due`: whether a value may stand here, and then behind it.
std::string_view JsonCursor::StepToValue(JsonBrackets& brackets, bool& due) {
  const char c = Next();
  const char end = brackets.InObject() ? '}' : ']';
  if (due) {
    if (brackets.depth == JsonBrackets::kMost) throw Unusual{};
    brackets.Enter(c == '{');
    const bool empty = Peek() == (c == '{' ? '}' : ']');
    if (!empty) return c == '{' ? KeyAndColon() : std::string_view();
    ++at_;
    brackets.Leave();
    due = false;
  } else if (c == ',') {
    due = true;
    if (brackets.InObject()) return KeyAndColon();
    Peek();
  } else if (c == end) {
    brackets.Leave();
  } else {
    throw Unusual{};
  }
  return {};
}

std::string_view JsonCursor::StepToScalar(JsonBrackets& brackets) {
  bool due = brackets.depth == 0;
  std::string_view key;
  do {
    if (const auto last = StepToValue(brackets, due); due) key = last;
  } while (due ? *at_ == '{' || *at_ == '[' : brackets.depth > 0);
  return key;
}

std::uint32_t JsonCursor::NewJoint(JsonJoints& joints, std::uint32_t last, bool deep) {
  JsonBrackets brackets = joints[last].after;
  const char* begin = at_;
  const auto key = deep ? StepToScalar(brackets) : StepInObject(brackets);
  return joints.Add(last, {begin, static_cast<std::size_t>(at_ - begin)}, key, brackets);
}

std::string_view JsonCursor::Skip(JsonJoints& joints) {
  const char first = Peek();
  const char* begin = at_;
  if (first != '{' && first != '[') return Skip();
  try {
    if (depth_ > kDeepest - JsonBrackets::kMost) throw Unusual{};
    for (auto joint = Join(joints, JsonJoints::kStart, true); joints[joint].after.depth > 0;
         joint = Join(joints, joint, true))
      SkipScalar();
  } catch (const Unusual&) {  // perhaps only too deep
    at_ = begin;
    return Skip();
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
