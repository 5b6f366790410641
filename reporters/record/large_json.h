// JSON files of any size, by simdjson. JsonObject is to run files what JsonReader is to small
// files: every wrong or missing member is one sentence with its place. EachJsonElement cuts a text
// into pieces that can be taken one by one: it knows brackets and strings only, and the pieces'
// reader finds what is no JSON.
#pragma once

#include <simdjson.h>

#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof::record {

// The place of a value, "run.json: records[3]: work". Texts are put together only for an error: a
// file has 10^6 places.
struct JsonPlace {
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  const JsonPlace* outer = nullptr;  // null: the file
  std::string_view key;
  std::size_t index = kNoIndex;  // in the array `key`

  std::string Text() const;
};

class JsonObject;

// A member of the object `at`. All functions throw BadInput.
struct JsonMember {
  const JsonObject& at;
  std::string_view key;
  simdjson::dom::element value;

  double Number() const;
  double NumberIn(double least, double most, const char* expected) const;
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

// Reads the member `key` into `Out`.
template <class Out>
struct JsonReading {
  std::string_view key;
  void (*read)(const JsonMember& member, Out& out);
};

template <auto kField, class Out>
void ReadNumber(const JsonMember& member, Out& out) {
  out.*kField = member.Number();
}

template <auto kField, class Out>
void ReadText(const JsonMember& member, Out& out) {
  out.*kField = member.Text();
}

// Refers to its place's `outer` and to the parser's memory. All functions throw BadInput.
class JsonObject {
 public:
  JsonObject(simdjson::dom::element element, const JsonPlace& place);
  JsonObject(const JsonObject&) = delete;  // inner places point to this one
  JsonObject& operator=(const JsonObject&) = delete;

  // Reads the members that `readings` name, in the object's order.
  template <class Out, std::size_t n>
  void Read(const JsonReading<Out> (&readings)[n], Out& out) const {
    std::size_t next = 0;  // written and read in one order, a member is mostly the next reading's
    for (const auto [key, value] : object_)
      for (std::size_t tried = 0; tried < n; ++tried) {
        const auto& reading = readings[next];
        next = (next + 1) % n;
        if (reading.key != key) continue;
        reading.read({*this, key, value}, out);
        break;
      }
  }

  // Returns the last member of this key.
  std::optional<JsonMember> Find(std::string_view key) const;
  double Number(const char* key) const;
  std::string Text(const char* key) const;
  std::optional<double> OptionalNumber(const char* key) const;
  std::string TextOr(const char* key, const std::string& otherwise) const;
  // False where there is no member `key`.
  bool FlagOr(const char* key) const;

  simdjson::dom::object members() const { return object_; }
  JsonPlace PlaceOf(std::string_view key) const { return {&place_, key}; }
  std::string where() const { return place_.Text(); }
  [[noreturn]] void Refuse(std::string_view key, const std::string& expected) const;

 private:
  simdjson::dom::object object_;
  JsonPlace place_;
};

template <class Read>
void JsonMember::Each(const Read& read) const {
  JsonPlace place = at.PlaceOf(key);
  for (const auto element : Array()) {
    ++place.index;  // from kNoIndex to 0
    read(element, place);
  }
}

// The text with {} for each object that is an element of a top-level array.
struct JsonSkeleton {
  std::string text;
  // The text ended within brackets or a string: it was cut off. `text` is then closed behind the
  // last whole element, and empty where there was none.
  bool cut = false;
};

// Calls element(key, index, text) for each object that is an element of the array `key`, itself a
// member of the top-level object. 64 bytes behind `text` may be read. Holds a window of the stream
// and the longest element, no more.
JsonSkeleton EachJsonElement(std::istream& in,
                             const std::function<void(std::string_view key, std::size_t index,
                                                      std::string_view text)>& element);

}  // namespace dlroof::record
