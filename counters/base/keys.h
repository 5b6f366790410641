// Tables that pair enumerators with their texts in files, searches in ranges and maps, parsing of
// numbers, and a hash of text.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace dlroof {

template <class Enum>
using KeyRow = std::pair<Enum, std::string_view>;

// Returns the text of an enumerator. Throws std::out_of_range if the table lacks it.
template <class Enum, std::size_t rows>
constexpr std::string_view KeyIn(const KeyRow<Enum> (&table)[rows], Enum value) {
  for (const auto& row : table)
    if (row.first == value) return row.second;
  throw std::out_of_range("a value without a key");
}

// Returns the enumerator with the text `key`, or nullopt if the table lacks it.
template <class Enum, std::size_t rows>
constexpr std::optional<Enum> ValueIn(const KeyRow<Enum> (&table)[rows], std::string_view key) {
  for (const auto& row : table)
    if (row.second == key) return row.first;
  return std::nullopt;
}

// Returns projection(element) for each element of the range, in order.
template <class T, class Range, class Projection>
std::vector<T> VectorOf(Range&& range, const Projection& projection) {
  std::vector<T> values;
  if constexpr (std::ranges::sized_range<Range>) values.reserve(std::ranges::size(range));
  for (auto&& element : range) values.emplace_back(std::invoke(projection, element));
  return values;
}

template <class Enum, std::size_t rows>
std::vector<Enum> ValuesOf(const KeyRow<Enum> (&table)[rows]) {
  return VectorOf<Enum>(table, &KeyRow<Enum>::first);
}

// Returns the value of `key` in a map, or nullptr if the map lacks the key.
template <class Map, class Name>
auto* FindValue(Map& map, const Name& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// Returns a copy of the value of `key` in a map, or nullopt if the map lacks the key.
template <class Map, class Name>
std::optional<typename Map::mapped_type> FindCopy(const Map& map, const Name& key) {
  const auto* const value = FindValue(map, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// Returns the first element that `wanted` accepts, or nullptr.
template <class Range, class Wanted>
auto* FindIf(Range& range, const Wanted& wanted) {
  const auto found = std::ranges::find_if(range, wanted);
  return found == std::ranges::end(range) ? nullptr : &*found;
}

// Returns the value of a text that is a number and nothing else, or nullopt.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// Returns the 64-bit FNV-1a hash of a text. Stored files contain it and are named by it, so it must
// never change. HashOf("b", HashOf("a")) is HashOf("ab").
inline constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325;
inline std::uint64_t HashOf(std::string_view text, std::uint64_t before = kHashOfNothing) {
  std::uint64_t hash = before;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace dlroof
