#include "counters/base/json_reader.h"

#include <fmt/format.h>

#include <cmath>

namespace dlroof {

JsonReader::JsonReader(const nlohmann::json& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json_.is_object())
    throw BadInput(fmt::format("{}: expected an object, got {}", where_, json_.type_name()));
}

void JsonReader::Refuse(const std::string& key, const std::string& expected) const {
  const auto got = json_.contains(key) ? json_.at(key).type_name() : "nothing";
  throw BadInput(fmt::format("{}: '{}': expected {}, got {}", where_, key, expected, got));
}

double JsonReader::Number(const char* key) const {
  if (!Has(key) || !json_.at(key).is_number()) Refuse(key, "a number");
  const auto value = json_.at(key).get<double>();
  if (!std::isfinite(value)) throw BadInput(fmt::format("{}: '{}' is not finite", where_, key));
  return value;
}

std::string JsonReader::Text(const char* key) const {
  if (!Has(key) || !json_.at(key).is_string()) Refuse(key, "a text");
  return json_.at(key).get<std::string>();
}

bool JsonReader::Flag(const char* key) const {
  if (!Has(key) || !json_.at(key).is_boolean()) Refuse(key, "true or false");
  return json_.at(key).get<bool>();
}

std::optional<double> JsonReader::OptionalNumber(const char* key) const {
  if (!Has(key)) return std::nullopt;
  return Number(key);
}

std::string JsonReader::TextOr(const char* key, const std::string& otherwise) const {
  return Has(key) ? Text(key) : otherwise;
}

JsonReader JsonReader::Object(const char* key) const {
  if (!Has(key) || !json_.at(key).is_object()) Refuse(key, "an object");
  return {json_.at(key), fmt::format("{}: {}", where_, key)};
}

const nlohmann::json& JsonReader::Array(const char* key) const {
  if (!Has(key) || !json_.at(key).is_array()) Refuse(key, "an array");
  return json_.at(key);
}

JsonReader JsonReader::Item(const char* key, size_t index) const {
  return {Array(key).at(index), fmt::format("{}: {}[{}]", where_, key, index)};
}

}  // namespace dlroof
