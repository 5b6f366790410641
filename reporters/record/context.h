// Reading of a run file's context, an object of which other programs write parts: what is missing
// or of another type is absent.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dlroof::record {

// Returns the member `key` of an object; null where there is none.
inline const nlohmann::json& Member(const nlohmann::json& json, const char* key) {
  static const nlohmann::json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

// Returns an empty text where there is none.
inline std::string Text(const nlohmann::json& json, const char* key) {
  const auto& member = Member(json, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

}  // namespace dlroof::record
