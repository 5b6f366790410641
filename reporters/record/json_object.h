// A JSON object that simdjson parsed. It is to run files what JsonReader is to small files: every
// wrong or missing member is one sentence with its place.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof {

// The place of a value, "run.json: records[3]: work". Texts are put together only for an error: a
// file has 10^6 places.
struct JsonPlace {
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  const JsonPlace* outer = nullptr;  // null: the file
  std::string_view key;
  std::size_t index = kNoIndex;  // in the array `key`

  std::string Text() const;
};

// Refers to its place's `outer` and to the parser's memory. All functions throw BadInput.
class JsonObject {
 public:
  JsonObject(simdjson::dom::element element, const JsonPlace& place);
  JsonObject(const JsonObject&) = delete;  // inner places point to this one
  JsonObject& operator=(const JsonObject&) = delete;

  bool Has(const char* key) const { return Find(key).has_value(); }
  double Number(const char* key) const;
  std::string Text(const char* key) const;
  std::optional<double> OptionalNumber(const char* key) const;
  std::string TextOr(const char* key, const std::string& otherwise) const;
  // False where there is no member `key`.
  bool FlagOr(const char* key) const;
  JsonObject Object(const char* key) const;
  // Calls read(element, place) for each element of the array `key`, where there is one.
  template <class Read>
  void EachOf(const char* key, const Read& read) const {
    const auto array = OptionalArray(key);
    if (!array) return;
    JsonPlace place{&place_, key, 0};
    for (const auto element : *array) {
      read(element, place);
      ++place.index;
    }
  }

  std::size_t SizeOf(const char* key) const {
    const auto array = OptionalArray(key);
    return array ? array->size() : 0;
  }

  simdjson::dom::object members() const { return object_; }
  JsonPlace PlaceOf(std::string_view key) const { return {&place_, key}; }
  std::string where() const { return place_.Text(); }
  [[noreturn]] void Refuse(std::string_view key, const std::string& expected) const;

 private:
  // The last member of this key.
  std::optional<simdjson::dom::element> Find(std::string_view key) const {
    std::optional<simdjson::dom::element> found;
    for (const auto member : object_)
      if (member.key == key) found = member.value;
    return found;
  }
  std::optional<simdjson::dom::array> OptionalArray(const char* key) const;

  simdjson::dom::object object_;
  JsonPlace place_;
};

// The word for a value's type in messages: "text", "number".
const char* TypeName(simdjson::dom::element element);

}  // namespace dlroof
