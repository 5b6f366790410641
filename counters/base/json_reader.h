// Reads JSON that may have been written by hand or by another program. A wrong or missing key
// throws BadInput, whose message is one sentence with the position and the expected value.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {

// Maximum depth of nested brackets in a JSON text. dlroof's own files have fewer than ten levels.
// nlohmann::json copies and writes values recursively, so deep nesting would overflow the stack.
inline constexpr std::size_t kMaxJsonLevels = 200;

// RefuseDeepJson throws BadInput if `text` has more than kMaxJsonLevels levels. RefuseDepth always
// throws this error. `where` (a file name) starts the message.
void RefuseDeepJson(std::string_view text, const std::string& where);
[[noreturn]] void RefuseDepth(const std::string& where);

// Parses a JSON text. Throws BadInput if it is invalid or too deep; `where` starts the message.
nlohmann::json ParsedJson(const std::string& text, const std::string& where,
                          const nlohmann::json::parser_callback_t& visit = nullptr);

// As ParsedJson, of a text that a person wrote: also throws BadInput if an object repeats a key.
nlohmann::json HandwrittenJson(const std::string& text, const std::string& where);

// Returns the JSON library's error message without its prefix: "at line 2, column 5: ...".
std::string JsonFault(const nlohmann::json::exception& error);

// Reads the members of a JSON object. `where` ("run.json: records[3]") starts all messages.
// Functions throw BadInput for a wrong type or range and, unless said otherwise, a missing member.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& json, std::string where);

  bool Has(const std::string& key) const { return json_.contains(key); }
  std::vector<std::string> Keys() const;
  // Throws BadInput if the object has a key that is not in `known`.
  void RefuseOtherKeys(const std::vector<std::string>& known) const;
  double Number(const std::string& key) const;  // in the range of its key (numbers.h)
  double Positive(const std::string& key) const;
  double NotNegative(const std::string& key) const;
  int AtLeastOne(const std::string& key) const;  // a whole number from 1 to 2^30
  // Returns a number in [least, most]. The message has `unit` behind the range.
  double NumberIn(const std::string& key, double least, double most,
                  const std::string& unit = "") const;
  // Returns the file's schema version, a whole number from 1 to `newest`.
  int Schema(const std::string& key, int newest) const;
  std::string Text(const std::string& key) const;
  std::string NonEmptyText(const std::string& key) const;
  bool Flag(const std::string& key) const;
  bool OptionalFlag(const std::string& key) const { return Has(key) && Flag(key); }
  std::optional<double> OptionalNumber(const std::string& key) const;
  std::optional<double> OptionalPositive(const std::string& key) const;
  std::string TextOr(const std::string& key, const std::string& otherwise) const;
  std::vector<std::string> Texts(const std::string& key) const;  // an array of strings
  std::map<std::string, std::string> TextsByKey(const std::string& key) const;
  std::vector<std::pair<double, double>> PositivePairs(const std::string& key) const;
  std::pair<double, double> PositivePair(const std::string& key) const;
  JsonReader Object(const std::string& key) const;
  const nlohmann::json& Array(const std::string& key) const;
  JsonReader Item(const std::string& key, size_t index) const;  // an object in the array `key`
  // Returns read(object) for each object of the array `key`, in order.
  template <class Read>
  auto ItemsOf(const std::string& key, const Read& read) const {
    std::vector<decltype(read(*this))> items;
    for (std::size_t i = 0; i < Array(key).size(); ++i) items.push_back(read(Item(key, i)));
    return items;
  }
  // Calls visit(name, object) for each member of the child object `key`, if that exists.
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
  [[noreturn]] void RefuseNumber(const std::string& key, const std::string& expected,
                                 double got) const;
  std::pair<double, double> PairFrom(const nlohmann::json& pair, const std::string& key) const;

  const nlohmann::json& json_;
  std::string where_;
};

}  // namespace dlroof
