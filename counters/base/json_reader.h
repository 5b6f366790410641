// Reads JSON that others may have written: every wrong or missing key is one sentence with the
// place.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {

// Returns the JSON of a text. Throws BadInput, which names `where`.
nlohmann::json ParsedJson(const std::string& text, const std::string& where);

// Returns what the parser found wrong, without its own names: "at line 2, column 5: ...".
std::string JsonFault(const nlohmann::json::exception& error);

// A JSON object and where it stands ("run.json: records[3]"). All functions throw BadInput.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& json, std::string where);

  bool Has(const std::string& key) const { return json_.contains(key); }
  std::vector<std::string> Keys() const;
  // A finite number.
  double Number(const std::string& key) const;
  double Positive(const std::string& key) const;
  double NotNegative(const std::string& key) const;
  int AtLeastOne(const std::string& key) const;  // a whole number
  // A whole number from 1 to `newest`: the version of what `program` writes.
  int Schema(const std::string& key, int newest, const char* program = "dlroof") const;
  std::string Text(const std::string& key) const;
  std::string NonEmptyText(const std::string& key) const;
  bool Flag(const std::string& key) const;
  std::optional<double> OptionalNumber(const std::string& key) const;
  std::optional<double> OptionalPositive(const std::string& key) const;
  std::string TextOr(const std::string& key, const std::string& otherwise) const;
  std::vector<std::string> Texts(const std::string& key) const;  // an array of texts
  std::map<std::string, std::string> TextsByKey(const std::string& key) const;
  // Pairs of positive numbers.
  std::vector<std::pair<double, double>> PositivePairs(const std::string& key) const;
  std::pair<double, double> PositivePair(const std::string& key) const;
  // Child object; child array (by the key's own checks); item `i` of it.
  JsonReader Object(const std::string& key) const;
  const nlohmann::json& Array(const std::string& key) const;
  JsonReader Item(const std::string& key, size_t index) const;
  // Calls visit(name, object) for each member of the child object; no call where there is none.
  template <class Visit>
  void EachObject(const std::string& key, const Visit& visit) const {
    if (!Has(key)) return;
    const auto child = Object(key);
    for (const auto& name : child.Keys()) visit(name, child.Object(name));
  }

  const nlohmann::json& json() const { return json_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void Refuse(const std::string& key, const std::string& expected) const;

 private:
  [[noreturn]] void RefuseNumber(const std::string& key, const char* expected, double got) const;
  std::pair<double, double> PairFrom(const nlohmann::json& pair, const std::string& key) const;

  const nlohmann::json& json_;
  std::string where_;
};

}  // namespace dlroof
