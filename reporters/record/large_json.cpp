#include "reporters/record/large_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

#include "counters/base/json_reader.h"
#include "counters/base/json_text.h"
#include "reporters/text/numbers.h"

namespace dlroof::record {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

const char* TypeName(element element) {
  switch (element.type()) {
    case element_type::ARRAY:
      return "array";
    case element_type::OBJECT:
      return "object";
    case element_type::STRING:
      return "string";
    case element_type::BOOL:
      return "boolean";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "number";
  }
}

template <class Value>
Value ValueOf(const JsonMember& member, const char* expected) {
  Value value;
  if (member.value.get(value) != simdjson::SUCCESS) member.Refuse(expected);
  return value;
}

std::string WrongNumber(const JsonMember& member, const std::string& expected, double number) {
  return fmt::format("{}: '{}': expected {}, got {:g}", member.at.where(), member.key, expected,
                     number);
}

// [byte] Sizes of the first and the largest window of the stream; each is four times the previous.
constexpr std::size_t kFirstWindow = 1 << 14, kMaxWindow = 1 << 20;
constexpr std::size_t kPadding = 64;         // [byte] simdjson may read so far past an element
constexpr std::string_view kInArray = "}]";  // closing brackets that are expected after an element

// '[' and '{' differ in one bit only, and so do ']' and '}'.
constexpr bool Opens(char c) { return (c | 0x20) == '{'; }
constexpr bool Closes(char c) { return (c | 0x20) == '}'; }

class ElementScanner {
 public:
  using Element = std::function<void(std::string_view, std::size_t, std::string_view)>;

  ElementScanner(std::istream& in, const Element& element, const std::string& where)
      : in_(in), element_(element), where_(where) {}

  JsonSkeleton Run() {
    while (Refill())
      while (at_ < end_) Step();
    if (inner_.empty()) AppendToSkeleton(end_);
    skeleton_.cut = in_string_ || !inner_.empty() || !open_.empty();
    if (skeleton_.cut) {
      skeleton_.text.resize(complete_);
      if (complete_ > 0) skeleton_.text += "]}";
    }
    return std::move(skeleton_);
  }

 private:
  // Appends the text from begin_ to `end`, which is between elements.
  void AppendToSkeleton(std::size_t end) {
    skeleton_.text.append(text_, begin_, end - begin_);
    begin_ = end;
  }

  // Drops the scanned text except an incomplete element, and reads on. Returns false at the end.
  bool Refill() {
    if (!in_string_ && inner_.empty()) AppendToSkeleton(at_);
    const auto unread = end_ - begin_;
    if (begin_ > 0) std::memmove(text_.data(), text_.data() + begin_, unread);
    at_ -= begin_;
    string_begin_ -= std::min(string_begin_, begin_);
    begin_ = 0;
    if (text_.size() < unread + window_ + kPadding) text_.resize(2 * unread + window_ + kPadding);
    in_.read(text_.data() + unread, static_cast<std::streamsize>(window_));
    window_ = std::min(4 * window_, kMaxWindow);
    end_ = unread + static_cast<std::size_t>(in_.gcount());
    return end_ > unread;
  }

  // Advances past the next string, bracket or element, or to the window's end.
  void Step() {
    if (!inner_.empty()) return StepInElement();
    if (in_string_) return StepInString();
    const char c = text_[at_];
    if (c == '"') {
      in_string_ = true;
      string_begin_ = at_ + 1;
    } else if (Opens(c)) {
      if (open_ == kInArray && c == '{') {
        AppendToSkeleton(at_++);
        inner_ = "}";
        return;
      }
      if (open_ == "}" && c == '[') BeginArray();
      open_ += c == '{' ? '}' : ']';
      if (open_.size() > kMaxJsonLevels) RefuseDepth(where_);
    } else if (!open_.empty() && c == open_.back()) {  // ignores brackets that match none
      open_.pop_back();
    }
    ++at_;
  }

  void StepInString() {
    at_ = static_cast<std::size_t>(AfterString(text_.data() + at_) - text_.data());
    if (!in_string_ && open_.size() == 1)
      key_ = text_.substr(string_begin_, at_ - 1 - string_begin_);
  }

  void BeginArray() {
    index_ = 0;
    if (key_.find('\\') == std::string::npos) return;
    const auto key = nlohmann::json::parse('"' + key_ + '"', nullptr, false);
    if (key.is_string()) key_ = key.get<std::string>();
  }

  void StepInElement() {
    const char* at = text_.data() + at_;
    const char* const end = text_.data() + end_;
    if (in_string_) at = AfterString(at);
    while (at < end && !inner_.empty()) {
      const char c = *at++;
      if (broken_ && std::string_view(" \t\r\n,").find(c) == std::string_view::npos) {
        broken_ = false;
        if (c == '{' || c == ']') {  // the element's end is in the string without an end
          while (--at > text_.data() + begin_ + 1 && at[-1] != '}') continue;
          inner_.clear();
          break;
        }
      }
      if (c == '"')
        at = AfterString(at);
      else if (c == '{' && inner_.back() == '}' && *Before(at - 1) != ':') {
        at = Before(at - 1) + 1;  // the next element begins: this element's end is missing
        at -= at[-1] == ',' ? 1 : 0;
        inner_.clear();
      } else if (Opens(c)) {
        inner_ += c == '{' ? '}' : ']';
        if (inner_.size() + kInArray.size() > kMaxJsonLevels) RefuseDepth(where_);
      } else if (Closes(c) && inner_.find(c) != std::string::npos)
        inner_.resize(inner_.rfind(c));
    }
    at_ = static_cast<std::size_t>(at - text_.data());
    if (!inner_.empty()) return;
    element_(key_, index_++, std::string_view(text_).substr(begin_, at_ - begin_));
    skeleton_.text += "{}";
    begin_ = at_;
    complete_ = skeleton_.text.size();
  }

  // Returns the position of the last character before `at` that is no blank.
  static const char* Before(const char* at) {
    while (std::strchr(" \t\r\n", *--at) != nullptr) continue;
    return at;
  }

  // Returns the position after the quote that ends the string around `at`, or the window's end if
  // the string goes on. A string whose quote is missing ends (broken_) at the end of the line.
  const char* AfterString(const char* at) {
    const char* const end = text_.data() + end_;
    while ((at = std::find_if(at, end, [](char c) { return c == '"' || c == '\n'; })) < end) {
      broken_ = *at == '\n';
      in_string_ = !broken_;
      if (broken_) return at;
      const char* escape = at++;
      while (escape[-1] == '\\') --escape;
      in_string_ = (at - escape) % 2 == 0;  // an odd number of backslashes escapes the quote
      if (!in_string_) return at;
    }
    in_string_ = true;
    return end;
  }

  std::istream& in_;
  const Element& element_;
  const std::string& where_;
  JsonSkeleton skeleton_;
  std::string text_;  // the window, up to end_
  std::size_t window_ = kFirstWindow;
  // Offsets in the window: next character, first unused character, end of the text.
  std::size_t at_ = 0, begin_ = 0, end_ = 0;
  std::string open_;   // closing brackets expected outside of elements, outermost first
  std::string inner_;  // closing brackets expected within the current element; empty outside
  bool in_string_ = false, broken_ = false;
  std::string key_;  // the last string in the top-level object
  std::size_t string_begin_ = 0, index_ = 0;
  std::size_t complete_ = 0;  // [byte] size of the skeleton after the last complete element
};

bool IsOfValue(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("+-.#()_").find(c) != std::string_view::npos;
}

// Returns whether a word stands for NaN or infinity, e.g. "NaN", "-nan", "inf", or Microsoft's old
// "1.#QNAN" and "-1.#IND".
bool IsNotFinite(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  const bool begins =
      std::ranges::any_of(std::array{"nan", "NaN", "NAN", "inf", "Inf", "INF", "1.#"},
                          [&](const char* one) { return word.starts_with(one); });
  return begins && text::IsNoValue(word);
}

// Returns whether the text is valid between the quotes of a JSON string.
bool IsEscaped(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' || static_cast<unsigned char>(text[i]) < 0x20) return false;
    if (text[i] != '\\') continue;
    if (++i == text.size()) return false;
    const auto digits = text.substr(i + 1, 4);
    const bool unicode = text[i] == 'u' && digits.size() == 4 &&
                         std::ranges::all_of(digits, [](unsigned char c) { return isxdigit(c); });
    if (!unicode && std::string_view("\"\\/bfnrt").find(text[i]) == std::string_view::npos)
      return false;
  }
  return true;
}

// Returns the JSON string for `text`, which stood between quotes in a file. If it has an invalid
// escape or a control character, its writer escaped nothing, so its backslashes are escaped too.
std::string QuotedJson(std::string_view text) {
  if (IsEscaped(text)) return fmt::format("\"{}\"", text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  }
  return quoted + '"';
}

// Appends the repaired string whose opening quote is at `at`. Returns the offset after the string.
std::size_t AppendString(std::string_view json, std::size_t at, std::string& repaired) {
  std::size_t end = at + 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
  if (end >= json.size()) {  // the string is cut off
    repaired += EscapedUtf8(json.substr(at), R"(\\x)");
    return json.size();
  }
  repaired += EscapedUtf8(QuotedJson(json.substr(at + 1, end - at - 1)), R"(\\x)");
  return end + 1;
}

}  // namespace

std::string JsonPlace::Text() const {
  std::string text = outer == nullptr ? "" : outer->Text() + ": ";
  text += key;
  if (index) text += fmt::format("[{}]", *index);
  return text;
}

double JsonMember::Number() const {
  const double number = ValueOf<double>(*this, "a number");
  if (const auto& possible = range != nullptr ? *range : RangeOf(key); !possible.Contains(number))
    throw BadInput(WrongNumber(*this, possible.Expected(), number));
  return number;
}
std::optional<double> JsonMember::NumberOrDrop() const {
  const double number = ValueOf<double>(*this, "a number");
  const auto& possible = range != nullptr ? *range : RangeOf(key);
  if (possible.Contains(number)) return number;
  Drop(number, possible.Expected());
  return std::nullopt;
}
void JsonMember::Drop(double number, const std::string& expected) const {
  const JsonPlace* file = &at.place();
  while (file->outer != nullptr) file = file->outer;
  if (file->dropped == nullptr) throw BadInput(WrongNumber(*this, expected, number));
  if (file->dropped->count++ == 0) file->dropped->first = WrongNumber(*this, expected, number);
}
std::string_view JsonMember::Text() const { return ValueOf<std::string_view>(*this, "a text"); }
bool JsonMember::Flag() const { return ValueOf<bool>(*this, "true or false"); }
simdjson::dom::array JsonMember::Array() const {
  return ValueOf<simdjson::dom::array>(*this, "an array");
}
void JsonMember::Refuse(const std::string& expected) const { at.Refuse(key, expected); }

JsonObject JsonMember::Object() const {
  if (!value.is_object()) Refuse("an object");
  return {value, at.PlaceOf(key)};
}

JsonObject::JsonObject(element element, const JsonPlace& place) : place_(place) {
  if (element.get(object_) != simdjson::SUCCESS)
    throw BadInput("{}: expected an object, got {}", where(), TypeName(element));
}

void JsonObject::Refuse(std::string_view key, const std::string& expected) const {
  const auto found = Find(key);
  throw BadInput("{}: '{}': expected {}, got {}", where(), key, expected,
                 found ? TypeName(found->value) : "nothing");
}

std::optional<JsonMember> JsonObject::Find(std::string_view key) const {
  std::optional<JsonMember> found;
  for (const auto member : object_)
    if (member.key == key) found.emplace(JsonMember{*this, member.key, member.value});
  return found;
}

std::optional<double> JsonObject::OptionalNumber(const char* key) const {
  const auto found = Find(key);
  return found ? found->NumberOrDrop() : std::nullopt;
}

double JsonObject::Number(const char* key) const {
  const auto found = Find(key);
  if (!found) Refuse(key, "a number");
  return found->Number();
}

std::string JsonObject::TextOr(const char* key, const std::string& otherwise) const {
  const auto found = Find(key);
  return found ? std::string(found->Text()) : otherwise;
}

std::string JsonObject::Text(const char* key) const {
  if (!Find(key)) Refuse(key, "a text");
  return TextOr(key, "");
}

bool JsonObject::Flag(const char* key) const {
  const auto found = Find(key);
  return found && found->Flag();
}

JsonSkeleton EachJsonElement(
    std::istream& in,
    const std::function<void(std::string_view, std::size_t, std::string_view)>& element,
    const std::string& where) {
  return ElementScanner(in, element, where).Run();
}

std::optional<std::string> RepairedJson(std::string_view json) {
  std::string repaired;
  repaired.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = AppendString(json, at, repaired);
      continue;
    }
    const auto next = std::min(json.find_first_not_of(" \t\r\n", at + 1), json.size() - 1);
    if (json[at] == ',' && (json[next] == '}' || json[next] == ']')) {
      at = next;
      continue;
    }
    std::size_t end = at;
    while (end < json.size() && IsOfValue(json[end])) ++end;
    const auto word = json.substr(at, std::max<std::size_t>(end - at, 1));
    repaired += IsNotFinite(word) ? "null" : word;
    at += word.size();
  }
  return repaired == json ? std::nullopt : std::optional(std::move(repaired));
}

}  // namespace dlroof::record
