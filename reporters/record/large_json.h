// Reader of JSON files of any size, by simdjson. JsonObject reads an object and reports a wrong or
// missing member with its position, as JsonReader (json_reader.h) does for small files.
// EachJsonElement splits a stream into elements, which the caller parses one by one: it recognises
// only brackets and strings, so the caller's parser finds syntax errors.
#pragma once

#include <simdjson.h>

#include <array>
#include <bitset>
#include <functional>
#include <istream>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/numbers.h"

namespace dlroof::record {

// A file's numbers that are outside their range (numbers.h). Readers treat them as missing.
struct DroppedNumbers {
  std::size_t count = 0;
  std::string first;  // e.g. "run.json: records[3]: work: 'launches': expected a count, got -1"
};

// Path of a value in a JSON file. The text is built only for errors, since files have 10^6 values.
struct JsonPlace {
  const JsonPlace* outer = nullptr;  // null for the file itself
  std::string_view key;
  std::optional<std::size_t> index = {};  // set for an element of the array `key`
  DroppedNumbers* dropped = nullptr;      // in the file's place; null: such numbers are errors

  std::string Text() const;  // e.g. "run.json: records[3]: work"
};

class JsonObject;

// A member of the object `at`. All functions throw BadInput for a value of another type.
struct JsonMember {
  const JsonObject& at;
  std::string_view key;
  simdjson::dom::element value;
  const NumberRange* range = nullptr;  // null: RangeOf(key) (counters/base/numbers.h)

  // Returns the number. Throws BadInput if it is outside the range.
  double Number() const;
  // Returns the number. If it is outside the range, calls Drop and returns nullopt.
  std::optional<double> NumberOrDrop() const;
  // Adds the number to the file's DroppedNumbers. Throws BadInput if JsonPlace::dropped is null.
  void Drop(double number, const std::string& expected) const;
  std::string_view Text() const;
  bool Flag() const;
  JsonObject Object() const;
  std::size_t Size() const { return Array().size(); }
  // Calls read(element, place) for each element of an array.
  template <class Read>
  void Each(const Read& read) const;
  [[noreturn]] void Refuse(const std::string& expected) const;

 private:
  simdjson::dom::array Array() const;
};

// A member of JSON objects of type `Out`: how it is read, and how it is written (record_json.cpp).
template <class Out>
struct JsonField {
  std::string_view key;
  void (*read)(const JsonMember& member, Out& out);
  void (*write)(const Out& out, std::string_view key, nlohmann::json& object);
  const char* needed = nullptr;        // e.g. "a text"; null if the member may be missing
  const NumberRange* range = nullptr;  // null: RangeOf(key) (counters/base/numbers.h)
};

// A JSON object. The parser and the place's `outer` must outlive it. All functions throw BadInput
// for a value of another type and, unless noted, for a missing member.
class JsonObject {
 public:
  JsonObject(simdjson::dom::element element, const JsonPlace& place);
  JsonObject(const JsonObject&) = delete;  // places of members point to place_
  JsonObject& operator=(const JsonObject&) = delete;

  // Reads the members that `fields` lists, in the object's order. Ignores other members.
  template <class Out, std::size_t n>
  void Read(const std::array<JsonField<Out>, n>& fields, Out& out) const {
    // dlroof writes members in the order of `fields`, so the search begins after the last match.
    std::bitset<n> found;
    std::size_t next = 0;
    for (const auto [key, value] : object_)
      for (std::size_t tried = 0; tried < n; ++tried) {
        const std::size_t row = std::exchange(next, (next + 1) % n);
        if (fields[row].key != key) continue;
        found.set(row);
        fields[row].read({*this, key, value, fields[row].range}, out);
        break;
      }
    for (std::size_t row = 0; row < n; ++row)
      if (fields[row].needed != nullptr && !found[row]) Refuse(fields[row].key, fields[row].needed);
  }

  // Returns the last member with this key, or nullopt.
  std::optional<JsonMember> Find(std::string_view key) const;
  double Number(const char* key) const;
  std::string Text(const char* key) const;
  // Returns nullopt for a missing member, and for a number outside its range (JsonMember::Drop).
  std::optional<double> OptionalNumber(const char* key) const;
  std::string TextOr(const char* key, const std::string& otherwise) const;
  // Returns false if there is no member `key`.
  bool Flag(const char* key) const;

  simdjson::dom::object members() const { return object_; }
  JsonPlace PlaceOf(std::string_view key) const { return {&place_, key}; }
  const JsonPlace& place() const { return place_; }
  std::string where() const { return place_.Text(); }
  [[noreturn]] void Refuse(std::string_view key, const std::string& expected) const;

 private:
  simdjson::dom::object object_;
  JsonPlace place_;
};

template <class Read>
void JsonMember::Each(const Read& read) const {
  JsonPlace place = at.PlaceOf(key);
  std::size_t index = 0;
  for (const auto element : Array()) {
    place.index = index++;
    read(element, place);
  }
}

// A file's text with {} in place of each object that is an element of a top-level array.
struct JsonSkeleton {
  std::string text;
  // The file ends within brackets or a string. `text` then ends after the last complete element,
  // with the missing closing brackets; it is empty without a complete element.
  bool cut = false;
};

// Calls element(key, index, text) for each object that is an element of an array in the top-level
// object; `key` is the array's key. The callee may read 64 bytes past the end of `text`. Stores no
// more than a window of the stream and the longest element. Throws BadInput, whose message begins
// with `where`, for more than kMaxJsonLevels levels of brackets.
JsonSkeleton EachJsonElement(std::istream& in,
                             const std::function<void(std::string_view key, std::size_t index,
                                                      std::string_view text)>& element,
                             const std::string& where = "");

// Repairs the text of a JSON element. Replaces NaN and infinity, in any spelling, by null, strings
// by those with their backslashes escaped, and bytes in strings that are not UTF-8 by e.g. "\\xE4";
// removes commas before a closing bracket. Returns nullopt if there is nothing to repair.
std::optional<std::string> RepairedJson(std::string_view json);

}  // namespace dlroof::record
