#include "reporters/record/cut_json.h"

namespace dlroof {
namespace {

// Walks over JSON text keeping only what is open: brackets, and whether inside a string.
class BracketWalk {
 public:
  // True when this character closed an element of an array that is a member of the top-level
  // object.
  bool ClosedElement(char c) {
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
      return false;
    }
    if (c == '"') in_string_ = true;
    if (c == '{') open_ += '}';
    if (c == '[') open_ += ']';
    if ((c == '}' || c == ']') && !open_.empty()) {
      open_.pop_back();
      return c == '}' && open_ == "}]";
    }
    return false;
  }

  bool AnythingOpen() const { return in_string_ || !open_.empty(); }

 private:
  std::string open_;  // closers, outermost first
  bool in_string_ = false, escaped_ = false;
};

}  // namespace

std::optional<std::string> MendCutJson(const std::string& text) {
  BracketWalk walk;
  size_t whole = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (walk.ClosedElement(text[i])) whole = i + 1;
  if (!walk.AnythingOpen() || whole == 0) return std::nullopt;
  return text.substr(0, whole) + "]}";
}

}  // namespace dlroof
