// Tables that map enumerators to their spelling in files and flags, and a hash of text.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace dlroof {

template <class Enum>
using KeyRow = std::pair<Enum, std::string_view>;

// Throws std::out_of_range if the table lacks the value.
template <class Enum, std::size_t rows>
constexpr std::string_view KeyIn(const KeyRow<Enum> (&table)[rows], Enum value) {
  for (const auto& row : table)
    if (row.first == value) return row.second;
  throw std::out_of_range("a value without a key");
}

// Returns the value of a key, or nullopt if the table lacks the key.
template <class Enum, std::size_t rows>
constexpr std::optional<Enum> ValueIn(const KeyRow<Enum> (&table)[rows], std::string_view key) {
  for (const auto& row : table)
    if (row.second == key) return row.first;
  return std::nullopt;
}

// Returns all values in the order of the table.
template <class Enum, std::size_t rows>
std::vector<Enum> ValuesOf(const KeyRow<Enum> (&table)[rows]) {
  std::vector<Enum> values;
  for (const auto& row : table) values.push_back(row.first);
  return values;
}

// 64-bit FNV-1a, the same on every platform. It appears in the names and contents of stored files
// and must never change. `before` is the hash of the text that precedes `text`.
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
