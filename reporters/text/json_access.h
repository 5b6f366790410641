// Reading of a run file's JSON by the writers: what is missing or of another type is absent, never
// an exception. (Readers, which judge a file, are in run_file.h.)
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace dlroof {

// The member `key` of an object; null where there is none.
inline const nlohmann::json& Member(const nlohmann::json& json, const char* key) {
  static const nlohmann::json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

inline std::optional<double> Number(const nlohmann::json& json, const char* key) {
  const auto& member = Member(json, key);
  if (!member.is_number()) return std::nullopt;
  const auto value = member.get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// As Number, but only what a logarithmic axis can show.
inline std::optional<double> Positive(const nlohmann::json& json, const char* key) {
  const auto value = Number(json, key);
  return value && *value > 0 ? value : std::nullopt;
}

// Empty where there is none.
inline std::string Text(const nlohmann::json& json, const char* key) {
  const auto& member = Member(json, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

}  // namespace dlroof
