// Lists of the members of JSON objects: the list of a type's members serves both reading
// (large_json.h) and writing. Unset and empty values are not written.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/work.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record.h"

namespace dlroof::record {

// The members of T. Specialize it as an array of JsonField<T> in alphabetical order of the keys.
template <class T>
constexpr auto kFieldsOf = std::array<JsonField<T>, 0>();

template <class T>
void ReadFields(const JsonObject& at, T& out) {
  at.Read(kFieldsOf<T>, out);
}
template <class T>
void WriteFields(const T& value, nlohmann::json& object) {
  for (const auto& field : kFieldsOf<T>) field.write(value, field.key, object);
}

template <class T>
inline constexpr bool kIsOptional = requires(T value) {
  value.has_value();
};

// Reads an object of numbers into `numbers`. `key_of` converts the name of a number; if it returns
// nullopt, throws BadInput (the name "is not a `what`"). Drops numbers outside the range that
// belongs to the object's key.
template <class Key, class KeyOf>
void ReadNumbers(const JsonMember& member, const char* what, const KeyOf& key_of,
                 std::map<Key, double>& numbers) {
  numbers.clear();
  const JsonObject object = member.Object();
  const auto& range = member.range != nullptr ? *member.range : RangeOf(member.key);
  for (const auto [name, value] : object.members()) {
    const std::optional<Key> key = key_of(name);
    if (!key) throw BadInput("{}: '{}' is not a {}", object.where(), name, what);
    if (const auto number = JsonMember{object, name, value, &range}.NumberOrDrop())
      numbers[*key] = *number;
  }
}
inline void ReadValue(const JsonMember& member, std::map<Level, double>& numbers) {
  ReadNumbers(member, "memory level", LevelFromKey, numbers);
}
inline void ReadValue(const JsonMember& member, std::map<std::string, double>& numbers) {
  const auto any = [](std::string_view key) { return std::optional<std::string>(key); };
  ReadNumbers(member, "text", any, numbers);
}
inline void ReadValue(const JsonMember& member, std::string& text) { text = member.Text(); }
inline void ReadValue(const JsonMember& member, Reason& reason) { reason.text = member.Text(); }
inline void ReadValue(const JsonMember& member, Provenance& from) {
  const auto known = ProvenanceFromKey(member.Text());
  if (!known) member.Refuse("measured, simulated or modelled");
  from = *known;
}
inline void ReadValue(const JsonMember& member, std::pair<double, double>& interval) {
  std::vector<double> ends;
  member.Each([&](simdjson::dom::element element, const JsonPlace&) {
    if (double number = 0; element.get(number) == simdjson::SUCCESS && kAnyNumber.Contains(number))
      ends.push_back(number);
  });
  if (member.Size() != 2 || ends.size() != 2 || !(ends[0] > 0 && ends[0] <= ends[1]))
    member.Refuse("two rising numbers above 0");
  interval = {ends[0], ends[1]};
}
template <class T>
void ReadValue(const JsonMember& member, std::vector<T>& values) {
  values.clear();
  values.reserve(member.Size());
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    ReadFields(JsonObject(element, place), values.emplace_back());
  });
}
template <class T>
void ReadValue(const JsonMember& member, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = member.Flag();
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = static_cast<T>(member.Number());
  } else {
    ReadFields(member.Object(), value);
  }
}
// Reads an optional value. It stays unset for an empty text and for a number outside its range.
template <template <class> class Optional, class T>
requires kIsOptional<Optional<T>>
void ReadValue(const JsonMember& member, Optional<T>& value) {
  T read{};
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const auto number = member.NumberOrDrop();
    if (!number) return;
    read = static_cast<T>(*number);
  } else {
    ReadValue(member, read);
  }
  if constexpr (std::is_same_v<T, std::string>)
    if (read.empty()) return;
  value = std::move(read);
}

template <class T>
bool IsUnset(const T& value) {
  if constexpr (kIsOptional<T> || std::is_same_v<T, bool>)
    return !value;
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else
    return false;
}

template <class T>
nlohmann::json JsonOf(const T& value) {
  if constexpr (kIsOptional<T>) {
    return JsonOf(*value);
  } else if constexpr (std::is_same_v<T, Reason>) {
    return value.text;
  } else if constexpr (requires { Key(value); }) {
    return Key(value);
  } else if constexpr (requires { Key(value.begin()->first); }) {
    auto object = nlohmann::json::object();
    for (const auto& [key, number] : value) object[std::string(Key(key))] = JsonOf(number);
    return object;
  } else if constexpr (std::is_constructible_v<nlohmann::json, T>) {
    return value;
  } else if constexpr (requires { value.front(); }) {
    auto array = nlohmann::json::array();
    for (const auto& each : value) array.push_back(JsonOf(each));
    return array;
  } else {
    auto object = nlohmann::json::object();
    WriteFields(value, object);
    return object;
  }
}

template <class Out, class T>
Out OwnerOf(T Out::*);

// Returns the JsonField of the member kField or, with kInner, of kField's member kInner. `needed`
// is what a message says to expect if the member is missing; null if it may be missing.
template <auto kField, auto... kInner>
constexpr auto Field(std::string_view key, const char* needed = nullptr) {
  using Out = decltype(OwnerOf(kField));
  return JsonField<Out>{
      key,
      [](const JsonMember& member, Out& out) { ReadValue(member, ((out.*kField).*....*kInner)); },
      [](const Out& out, std::string_view name, nlohmann::json& object) {
        const auto& value = ((out.*kField).*....*kInner);
        if (!IsUnset(value)) object[std::string(name)] = JsonOf(value);
      },
      needed, key.empty() ? nullptr : &RangeOf(key)};
}

}  // namespace dlroof::record
