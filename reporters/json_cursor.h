// A forward reader of large JSON files, in pieces, for those who know what they look for: no tree
// is built. It accepts strict JSON only and gives up (`Unusual`) at anything else; who wants to
// know what is wrong parses the file again with a JSON library.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace dlroof {

// Not what was expected here: no JSON, another type, or an element that is larger than the window.
struct Unusual {};

class JsonCursor {
 public:
  // Holds `window` bytes of `in` at a time; a piece between two calls of Refill() must fit.
  JsonCursor(std::istream& in, std::size_t window);

  // Reads on, so that the next element can be read whole; views into the text end here.
  void Refill();

  // Of the value that comes next: '{', '[', '"', 't', 'f', 'n', '-' or a digit; 0 at the end.
  char Peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  // Enters an object or array, and calls for each member or element; that must read the value. A
  // key's view holds until it does.
  template <class Member>
  void Object(const Member& member);
  template <class Element>
  void Array(const Element& element);
  // A text, valid UTF-8, without its escapes. The view holds until the next call.
  std::string_view Text();
  double Number();  // finite
  bool Flag();
  // Steps over a value of any kind; its text holds until Refill().
  std::string_view Skip();
  void SkipNumber();  // that must be a number, as Number() takes it
  std::size_t Position() const { return taken_ - static_cast<std::size_t>(end_ - at_); }  // [byte]
  // Throws Unusual unless only white space is left of the whole stream.
  void End();

 private:
  // The next character that is no white space, consumed.
  char Next() {
    const char c = Peek();
    if (at_ == end_) throw Unusual{};
    ++at_;
    return c;
  }
  void Expect(char wanted) {
    if (Next() != wanted) throw Unusual{};
  }
  // Between the quotes, with its escapes, and whether there are any.
  std::pair<std::string_view, bool> RawString();
  void SkipString();
  void SkipObject();
  void Literal(std::string_view word);
  void Digits();
  // Steps over a number as JSON writes it; whether it surely lies within a double's range.
  bool ScanNumber();
  void Unescape(std::string_view raw);

  static constexpr int kDeepest = 200;  // brackets within brackets

  std::istream& in_;
  std::unique_ptr<char[]> text_;  // not filled with zeros, as a vector would be
  std::size_t size_;
  const char* at_;
  const char* end_;
  std::size_t taken_ = 0;  // [byte] of the stream, into the window
  std::string unescaped_;  // the last text or key that had escapes
  int depth_ = 0;
};

template <class Member>
void JsonCursor::Object(const Member& member) {
  Expect('{');
  if (++depth_ > kDeepest) throw Unusual{};
  if (Peek() == '}') {
    Expect('}');
  } else {
    for (char between = ','; between == ',';) {
      const auto key = Text();
      Expect(':');
      member(key);
      between = Next();
      if (between != ',' && between != '}') throw Unusual{};
    }
  }
  --depth_;
}

template <class Element>
void JsonCursor::Array(const Element& element) {
  Expect('[');
  if (++depth_ > kDeepest) throw Unusual{};
  if (Peek() == ']') {
    Expect(']');
  } else {
    for (char between = ','; between == ',';) {
      element();
      between = Next();
      if (between != ',' && between != ']') throw Unusual{};
    }
  }
  --depth_;
}

}  // namespace dlroof
