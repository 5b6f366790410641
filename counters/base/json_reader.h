// Reading JSON that others may have written: every wrong or missing key is one sentence with the
// place.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof {

// A JSON object and where it stands ("run.json: records[3]"). All functions throw BadInput.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& json, std::string where);

  bool Has(const char* key) const { return json_.contains(key); }
  // A finite number.
  double Number(const char* key) const;
  std::string Text(const char* key) const;
  bool Flag(const char* key) const;
  std::optional<double> OptionalNumber(const char* key) const;
  std::string TextOr(const char* key, const std::string& otherwise) const;
  // Child object; child array (by the key's own checks); item `i` of it.
  JsonReader Object(const char* key) const;
  const nlohmann::json& Array(const char* key) const;
  JsonReader Item(const char* key, size_t index) const;

  const nlohmann::json& json() const { return json_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void Refuse(const std::string& key, const std::string& expected) const;

 private:
  const nlohmann::json& json_;
  std::string where_;
};

}  // namespace dlroof
