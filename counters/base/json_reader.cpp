#include "counters/base/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof {

std::string JsonFault(const nlohmann::json::exception& error) {
  std::string_view fault = error.what();
  if (const auto end = fault.find("] "); fault.starts_with('[') && end != std::string_view::npos)
    fault.remove_prefix(end + 2);
  constexpr std::string_view kParseError = "parse error ";
  if (fault.starts_with(kParseError)) fault.remove_prefix(kParseError.size());
  return std::string(fault);
}

void RefuseDepth(const std::string& where) {
  throw BadInput("{}: its JSON has more than {} levels of brackets", where, kMaxJsonLevels);
}

void RefuseDeepJson(std::string_view text, const std::string& where) {
  std::size_t levels = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"')
      while (++at < text.size() && text[at] != '"') at += text[at] == '\\' ? 1 : 0;
    else if (c == '[' || c == '{') {
      if (++levels > kMaxJsonLevels) RefuseDepth(where);
    } else if ((c == ']' || c == '}') && levels > 0)
      --levels;
  }
}

nlohmann::json ParsedJson(const std::string& text, const std::string& where,
                          const nlohmann::json::parser_callback_t& visit) {
  RefuseDeepJson(text, where);
  try {
    return nlohmann::json::parse(text, visit);
  } catch (const nlohmann::json::exception& error) {
    throw BadInput("{}: not JSON: {}", where, JsonFault(error));
  }
}

nlohmann::json HandwrittenJson(const std::string& text, const std::string& where) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of each open object
  return ParsedJson(text, where, [&](int, Event event, nlohmann::json& parsed) {
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw BadInput("{}: '{}' is repeated; expected each key once", where,
                     parsed.get<std::string>());
    return true;
  });
}

JsonReader::JsonReader(const nlohmann::json& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json_.is_object())
    throw BadInput("{}: expected an object, got {}", where_, json_.type_name());
}

void JsonReader::Refuse(const std::string& key, const std::string& expected) const {
  const auto got = json_.contains(key) ? json_.at(key).type_name() : "nothing";
  throw BadInput("{}: '{}': expected {}, got {}", where_, key, expected, got);
}

void JsonReader::RefuseNumber(const std::string& key, const std::string& expected,
                              double got) const {
  throw BadInput("{}: '{}': expected {}, got {:g}", where_, key, expected, got);
}

double JsonReader::Number(const std::string& key) const {
  if (!Has(key) || !json_.at(key).is_number()) Refuse(key, "a number");
  const auto value = json_.at(key).get<double>();
  if (const auto& range = RangeOf(key); !range.Contains(value))
    RefuseNumber(key, range.Expected(), value);
  return value;
}

std::vector<std::string> JsonReader::Keys() const {
  return VectorOf<std::string>(json_.items(), [](const auto& item) { return item.key(); });
}

void JsonReader::RefuseOtherKeys(const std::vector<std::string>& known) const {
  for (const auto& key : Keys())
    if (std::ranges::find(known, key) == known.end())
      throw BadInput("{}: unknown key '{}', expected {}", where_, key, fmt::join(known, ", "));
}

double JsonReader::NumberIn(const std::string& key, double least, double most,
                            const std::string& unit) const {
  const auto expected = fmt::format("a number from {:g} to {:g}{}", least, most, unit);
  if (!Has(key) || !json_.at(key).is_number()) Refuse(key, expected);
  const auto value = json_.at(key).get<double>();
  if (value < least || value > most) RefuseNumber(key, expected, value);
  return value;
}

double JsonReader::Positive(const std::string& key) const {
  const double value = Number(key);
  if (value <= 0) RefuseNumber(key, "a number above 0", value);
  return value;
}

double JsonReader::NotNegative(const std::string& key) const {
  const double value = Number(key);
  if (value < 0) RefuseNumber(key, "a number of at least 0", value);
  return value;
}

int JsonReader::AtLeastOne(const std::string& key) const {
  constexpr double kMax = 1 << 30;
  const double value = Number(key);
  if (value < 1 || value > kMax || value != std::floor(value))
    RefuseNumber(key, "a whole number of at least 1", value);
  return static_cast<int>(value);
}

int JsonReader::Schema(const std::string& key, int newest) const {
  if (const double schema = Number(key); schema > newest)
    throw BadInput("{}: written by a newer dlroof (schema {:g}, this one reads up to {})", where_,
                   schema, newest);
  return AtLeastOne(key);
}

std::string JsonReader::NonEmptyText(const std::string& key) const {
  if (Text(key).empty()) throw BadInput("{}: '{}' is empty", where_, key);
  return Text(key);
}

std::optional<double> JsonReader::OptionalPositive(const std::string& key) const {
  if (!Has(key)) return std::nullopt;
  return Positive(key);
}

std::vector<std::string> JsonReader::Texts(const std::string& key) const {
  std::vector<std::string> texts;
  for (const auto& text : Array(key)) {
    if (!text.is_string()) Refuse(key, "an array of texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::map<std::string, std::string> JsonReader::TextsByKey(const std::string& key) const {
  const auto child = Object(key);
  std::map<std::string, std::string> texts;
  for (const auto& name : child.Keys()) texts[name] = child.Text(name);
  return texts;
}

std::pair<double, double> JsonReader::PairFrom(const nlohmann::json& pair,
                                               const std::string& key) const {
  const auto positive = [](const nlohmann::json& value) {
    return value.is_number() && kAnyNumber.Contains(value.get<double>()) && value.get<double>() > 0;
  };
  if (!pair.is_array() || pair.size() != 2 || !positive(pair[0]) || !positive(pair[1]))
    throw BadInput("{}: '{}': expected two numbers above 0, at most {:g}", where_, key,
                   kLargestNumber);
  return {pair[0].get<double>(), pair[1].get<double>()};
}

std::pair<double, double> JsonReader::PositivePair(const std::string& key) const {
  return PairFrom(Array(key), key);
}

std::vector<std::pair<double, double>> JsonReader::PositivePairs(const std::string& key) const {
  std::vector<std::pair<double, double>> pairs;
  for (const auto& pair : Array(key))
    pairs.push_back(PairFrom(pair, fmt::format("{}[{}]", key, pairs.size())));
  return pairs;
}

std::string JsonReader::Text(const std::string& key) const {
  if (!Has(key) || !json_.at(key).is_string()) Refuse(key, "a text");
  return json_.at(key).get<std::string>();
}

bool JsonReader::Flag(const std::string& key) const {
  if (!Has(key) || !json_.at(key).is_boolean()) Refuse(key, "true or false");
  return json_.at(key).get<bool>();
}

std::optional<double> JsonReader::OptionalNumber(const std::string& key) const {
  if (!Has(key)) return std::nullopt;
  return Number(key);
}

std::string JsonReader::TextOr(const std::string& key, const std::string& otherwise) const {
  return Has(key) ? Text(key) : otherwise;
}

JsonReader JsonReader::Object(const std::string& key) const {
  if (!Has(key) || !json_.at(key).is_object()) Refuse(key, "an object");
  return {json_.at(key), fmt::format("{}: {}", where_, key)};
}

const nlohmann::json& JsonReader::Array(const std::string& key) const {
  if (!Has(key) || !json_.at(key).is_array()) Refuse(key, "an array");
  return json_.at(key);
}

JsonReader JsonReader::Item(const std::string& key, size_t index) const {
  return {Array(key).at(index), fmt::format("{}: {}[{}]", where_, key, index)};
}

}  // namespace dlroof
