#include "reporters/record/json_elements.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

namespace dlroof {
namespace {

constexpr std::size_t kWindow = 1 << 20;     // [byte] of the stream that are looked at together
constexpr std::size_t kPadding = 64;         // [byte] that a reader with vectors may read beyond
constexpr std::string_view kInArray = "}]";  // what is open around an element

constexpr std::array<bool, 256> kTells = [] {
  std::array<bool, 256> tells{};
  for (const unsigned char c : {'"', '{', '}', '[', ']'}) tells[c] = true;
  return tells;
}();

class Walk {
 public:
  using Element = std::function<void(std::string_view, std::size_t, std::string_view)>;

  Walk(std::istream& in, const Element& element) : in_(in), element_(element) {}

  JsonSkeleton Whole() {
    while (Refill())
      for (; at_ < text_.size(); ++at_) Step();
    Keep(text_.size());
    skeleton_.cut = in_string_ || !open_.empty();
    if (skeleton_.cut) {
      skeleton_.text.resize(whole_);
      if (whole_ > 0) skeleton_.text += "]}";
    }
    return std::move(skeleton_);
  }

 private:
  // Appends what stands between elements to the skeleton, up to `end`.
  void Keep(std::size_t end) {
    if (!InElement() && end > begin_) skeleton_.text.append(text_, begin_, end - begin_);
    if (!InElement()) begin_ = end;
  }
  bool InElement() const { return open_.size() > kInArray.size() && open_.starts_with(kInArray); }

  // Drops what was looked at, but for an element or a key that is not whole, and reads on.
  bool Refill() {
    if (!in_string_) Keep(at_);
    text_.erase(0, begin_);
    at_ -= begin_;
    key_begin_ -= std::min(key_begin_, begin_);
    begin_ = 0;
    const auto held = text_.size();
    text_.reserve(held + kWindow + kPadding);
    text_.resize(held + kWindow);
    in_.read(text_.data() + held, kWindow);
    text_.resize(held + static_cast<std::size_t>(in_.gcount()));
    return text_.size() > held;
  }

  void Step() {
    if (in_string_) {
      StepInString();
      return;
    }
    const char c = text_[at_];
    if (!kTells[static_cast<unsigned char>(c)]) return;
    if (c == '"') {
      in_string_ = true;
      key_begin_ = at_ + 1;
    } else if (c == '{' || c == '[') {
      Open(c);
    } else if (!open_.empty()) {
      Close();
    }
  }

  void StepInString() {
    if (escaped_) {
      escaped_ = false;
      return;
    }
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') ++at_;
    if (at_ == text_.size()) {
      --at_;
      return;
    }
    if (text_[at_] == '\\') {
      escaped_ = true;
      return;
    }
    in_string_ = false;
    if (open_.size() == 1) key_ = text_.substr(key_begin_, at_ - key_begin_);
  }

  void Open(char c) {
    if (open_ == kInArray && c == '{') Keep(at_);
    if (open_ == "}" && c == '[') {
      index_ = 0;
      if (key_.find('\\') != std::string::npos) {
        const auto key = nlohmann::json::parse('"' + key_ + '"', nullptr, false);
        if (key.is_string()) key_ = key.get<std::string>();
      }
    }
    open_ += c == '{' ? '}' : ']';
  }

  void Close() {
    const bool element = InElement() && open_.size() == kInArray.size() + 1 && open_.back() == '}';
    open_.pop_back();
    if (!element) return;
    element_(key_, index_++, std::string_view(text_).substr(begin_, at_ + 1 - begin_));
    skeleton_.text += "{}";
    begin_ = at_ + 1;
    whole_ = skeleton_.text.size();
  }

  std::istream& in_;
  const Element& element_;
  JsonSkeleton skeleton_;
  std::string text_;                          // the window
  std::size_t at_ = 0, begin_ = 0;            // in it: the next character, what is not yet kept
  std::string open_;                          // closers, outermost first
  bool in_string_ = false, escaped_ = false;  // a string's quote, its backslash was the last
  std::string key_;                           // the last string in the top-level object
  std::size_t key_begin_ = 0, index_ = 0;
  std::size_t whole_ = 0;  // [byte] of the skeleton up to the last whole element
};

}  // namespace

JsonSkeleton EachJsonElement(
    std::istream& in,
    const std::function<void(std::string_view, std::size_t, std::string_view)>& element) {
  return Walk(in, element).Whole();
}

}  // namespace dlroof
