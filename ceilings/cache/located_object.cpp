#include "ceilings/cache/located_object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include "counters/base/error.h"

namespace dlroof::machine_file {
namespace {

using nlohmann::json;

// Reads a text, and tells how far it was read.
struct CountedReader {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** reached;

  reference operator*() const { return *at; }
  CountedReader& operator++() {
    *reached = ++at;
    return *this;
  }
  bool operator==(const CountedReader& other) const { return at == other.at; }
  bool operator!=(const CountedReader& other) const { return at != other.at; }
};

bool IsQuote(std::string_view text, std::size_t at) {
  if (text[at] != '"') return false;
  std::size_t slashes = 0;
  while (slashes < at && text[at - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 0;
}

}  // namespace

LocatedJson::LocatedJson(std::string text, std::string file)
    : text_(std::move(text)), file_(std::move(file)), value_(Parsed()) {}

json LocatedJson::Parsed() try {
  const char* reached = text_.data();
  Path path;
  std::vector<int> next;  // of each open array its next item, of each open object -1
  const auto visit = [&](int, json::parse_event_t event, json& parsed) {
    const bool array = event == json::parse_event_t::array_start;
    const bool opens = array || event == json::parse_event_t::object_start;
    const bool begins = opens || event == json::parse_event_t::value;
    if (begins && !next.empty() && next.back() >= 0)
      path.back() = fmt::format("[{}]", next.back()++);
    if (opens) {
      path.emplace_back();
      next.push_back(array ? 0 : -1);
    }
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) {
      path.pop_back();
      next.pop_back();
    }
    if (event == json::parse_event_t::key)
      Note(parsed.get<std::string>(), static_cast<std::size_t>(reached - text_.data()), path);
    return true;
  };
  const char* end = text_.data() + text_.size();
  return json::parse(CountedReader{text_.data(), &reached}, CountedReader{end, &reached}, visit);
} catch (const json::parse_error& refusal) {
  const auto at = std::min(refusal.byte == 0 ? 0 : refusal.byte - 1, text_.size());
  throw BadInput(fmt::format("{}: is not JSON at {}; expected JSON, numbers as in 6.7e13", At(at),
                             WordAt(at)));
} catch (const json::out_of_range&) {
  throw BadInput(fmt::format("{}: holds a number that no double can hold", file_));
}

// `end` [byte] follows the key's last quote.
void LocatedJson::Note(const std::string& key, std::size_t end, Path& path) {
  std::size_t begin = end - 2;
  while (begin > 0 && !IsQuote(text_, begin)) --begin;
  path.back() = key;
  const auto [found, added] = offsets_.try_emplace(path, begin);
  if (!added)
    throw BadInput(fmt::format("{}: '{}' a second time, expected each key once; the first is at {}",
                               At(begin), key, At(found->second)));
}

std::string LocatedJson::At(std::size_t offset) const {
  const auto before = std::string_view(text_).substr(0, offset);
  const auto line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", file_, 1 + std::count(before.begin(), before.end(), '\n'),
                     offset - line_begin + 1);
}

// Returns "'NaN'": the letters and digits around the place, or its one character.
std::string LocatedJson::WordAt(std::size_t offset) const {
  const auto in_word = [&](std::size_t at) {
    return at < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at])) != 0;
  };
  if (offset >= text_.size()) return "its end";
  constexpr std::size_t kLongest = 20;
  std::size_t begin = offset, end = offset + 1;
  while (in_word(offset) && begin > 0 && in_word(begin - 1)) --begin;
  while (in_word(offset) && in_word(end)) ++end;
  return fmt::format("'{}'",
                     std::string_view(text_).substr(begin, std::min(end - begin, kLongest)));
}

std::string LocatedJson::Where(const Path& path) const {
  const auto found = offsets_.find(path);
  return found == offsets_.end() ? file_ : At(found->second);
}

LocatedObject::LocatedObject(const LocatedJson& file, const nlohmann::json& object,
                             LocatedJson::Path path, const std::vector<std::string>& known)
    : file_(file), object_(object), path_(std::move(path)) {
  if (!object_.is_object()) throw BadInput("{}: expected an object", Where());
  for (const auto& item : object_.items())
    if (std::ranges::find(known, item.key()) == known.end())
      throw BadInput("{}: unknown key '{}', expected {}", Where(item.key()), item.key(),
                     fmt::join(known, ", "));
}

std::string LocatedObject::Text(const std::string& key) const {
  const auto& value = Needed(key);
  if (!value.is_string() || value.get<std::string>().empty())
    throw BadInput("{}: '{}': expected a text that is not empty", Where(key), key);
  return value.get<std::string>();
}

double LocatedObject::Number(const std::string& key, double least, double most) const {
  const auto& value = Needed(key);
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number > 0 && number >= least && number <= most) return number;
  const auto from = least > 0 ? fmt::format("from {:g}", least) : std::string("above 0");
  const bool limited = most < std::numeric_limits<double>::infinity();
  throw BadInput("{}: '{}': expected a number {}{}", Where(key), key, from,
                 limited ? fmt::format(", at most {:g}", most) : "");
}

const nlohmann::json& LocatedObject::Needed(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) throw BadInput("{}: expected '{}'", Where(), key);
  return *found;
}

LocatedJson::Path LocatedObject::PathOf(const std::string& key) const {
  auto path = path_;
  path.push_back(key);
  return path;
}

std::string LocatedObject::Where(const std::string& key) const {
  if (!key.empty() && Has(key)) return file_.Where(PathOf(key));
  if (object_.is_object() && !object_.empty())
    return file_.Where(PathOf(object_.items().begin().key()));
  return file_.Where(path_);
}

}  // namespace dlroof::machine_file
