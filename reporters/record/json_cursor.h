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

#include "reporters/record/json_joints.h"

namespace dlroof {

// Not what was expected here: no JSON, another type, or an element that is larger than the window.
struct Unusual {};

class JsonCursor {
 public:
  // Holds at most `window` bytes of `in` at a time, fewer as long as pieces are small: a piece
  // between two calls of Refill() must fit, and one of more than kFewBytes / 2 needs Whole().
  JsonCursor(std::istream& in, std::size_t window);

  // Reads on, so that the next element can be read whole; views into the text end here.
  void Refill();
  // Calls `piece`, which must read on and may not call Refill(); again from where it began, and
  // with more text, where it found something unusual: that may be where the text at hand ends.
  template <class Piece>
  void Whole(const Piece& piece);

  // Of the value that comes next: '{', '[', '"', 't', 'f', 'n', '-' or a digit; 0 at the end.
  char Peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  // Enters an object or array, and calls for each member or element; that must read the value. A
  // key's view holds until it does.
  template <class Member>
  void Object(const Member& member);
  // The same of objects that are alike: `member` gets the joint in front of the value, whose key
  // and meaning are what it needs to know.
  template <class Member>
  void Object(JsonJoints& joints, const Member& member);
  template <class Element>
  void Array(const Element& element);
  // A text, valid UTF-8, without its escapes. The view holds until the next call.
  std::string_view Text();
  double Number();  // finite
  bool Flag();
  // Steps over a value of any kind; its text holds until Refill().
  std::string_view Skip();
  // The same, checked as strictly and in less time, of values that are alike.
  std::string_view Skip(JsonJoints& joints);
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
  void Fill();
  // Between the quotes, with its escapes, and whether there are any.
  std::pair<std::string_view, bool> RawString();
  void SkipString();
  void SkipObject();
  void SkipScalar();
  std::string_view KeyAndColon();
  // Steps over the next joint behind `last`, with all brackets up to the next scalar or (not
  // `deep`) with those of one object whose values others read. Returns which it is.
  std::uint32_t Join(JsonJoints& joints, std::uint32_t last, bool deep) {
    const auto known = joints.Following(last, at_);
    if (known == JsonJoint::kNone) return NewJoint(joints, last, deep);
    at_ += joints[known].size;
    return known;
  }
  std::uint32_t NewJoint(JsonJoints& joints, std::uint32_t last, bool deep);
  std::string_view StepInObject(JsonBrackets& brackets);
  std::string_view StepToScalar(JsonBrackets& brackets);
  std::string_view StepToValue(JsonBrackets& brackets, bool& due);
  // Back to `begin`, where `depth` brackets were open, with more text than before; false: there is
  // no more, or it would be more than fits.
  bool Again(const char* begin, int depth);
  void Literal(std::string_view word);
  void Digits();
  // Steps over a number as JSON writes it; whether it surely lies within a double's range.
  bool ScanNumber();
  void Unescape(std::string_view raw);

  static constexpr int kDeepest = 200;                 // brackets within brackets
  static constexpr std::size_t kFewBytes = 256 << 10;  // they stay in a core's own cache
  // Zeros behind the text, which no string, number or joint goes on with: none need look for its
  // end.
  static constexpr std::size_t kZeros = JsonJoint::kLongest + 8;

  std::istream& in_;
  std::size_t most_;              // [byte]
  std::size_t size_;              // [byte] to be held at the time
  std::unique_ptr<char[]> text_;  // not filled with zeros, as a vector would be
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

template <class Member>
void JsonCursor::Object(JsonJoints& joints, const Member& member) {
  if (++depth_ > kDeepest) throw Unusual{};
  Peek();
  for (auto joint = Join(joints, JsonJoints::kStart, false); joints[joint].after.depth > 0;
       joint = Join(joints, joint, false))
    member(joints[joint]);
  --depth_;
}

template <class Piece>
void JsonCursor::Whole(const Piece& piece) {
  for (const int depth = depth_;;) {
    const char* begin = at_;
    try {
      return piece();
    } catch (const Unusual&) {
      if (!Again(begin, depth)) throw;
    }
  }
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
