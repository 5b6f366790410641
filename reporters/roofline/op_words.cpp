#include "reporters/roofline/op_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reporters/record/context.h"

namespace dlroof {
namespace {

using nlohmann::json;

OpVocabulary& Registry() {
  static OpVocabulary words;
  return words;
}

bool SameLetters(const SweepWord& a, const SweepWord& b) {
  return a.name == b.name && a.key == b.key && a.follow == b.follow;
}

OpWords FromJson(const json& object) {
  OpWords words = {Text(object, "noun"), {}};
  const json& sweep = Member(object, "sweep");
  if (!sweep.is_array()) return words;
  for (const json& word : sweep)
    if (const auto name = Text(word, "name"), key = Text(word, "key");
        !name.empty() && !key.empty())
      words.sweep.push_back({name, key, Text(word, "follow")});
  return words;
}

}  // namespace

bool RegisterOpWords(const std::string& op, OpWords words) {
  return Registry().emplace(op, std::move(words)).second;
}

OpVocabulary WordsOf(const json& context) {
  OpVocabulary words = Registry();
  const json& ops = Member(Member(context, "dlroof"), "ops");
  if (!ops.is_object()) return words;
  for (const auto& [op, object] : ops.items()) words.emplace(op, FromJson(object));
  return words;
}

std::string_view NounOf(std::string_view op, const OpVocabulary& words) {
  const OpVocabulary& known = words.empty() ? Registry() : words;
  const auto found = known.find(op);
  if (found == known.end() || found->second.noun.empty()) return "call";
  return found->second.noun;
}

json ToJson(const OpVocabulary& words) {
  json ops = json::object();
  for (const auto& [op, its] : words) {
    json& object = ops[op] = {{"noun", its.noun}, {"sweep", json::array()}};
    for (const auto& word : its.sweep) {
      json row = {{"name", word.name}, {"key", word.key}};
      if (!word.follow.empty()) row["follow"] = word.follow;
      object["sweep"].push_back(std::move(row));
    }
  }
  return ops;
}

std::vector<SweepParameter> SweepParameters(const OpVocabulary& words) {
  std::vector<SweepParameter> parameters;
  for (const auto& [op, its] : words)
    for (const auto& word : its.sweep) {
      const auto same = std::ranges::find_if(
          parameters, [&](const auto& other) { return SameLetters(other.word, word); });
      if (same == parameters.end())
        parameters.push_back({word, {op}});
      else
        same->ops.push_back(op);
    }
  return parameters;
}

std::vector<std::string> SweepNames(const OpVocabulary& words) {
  std::vector<std::string> names;
  for (const auto& [word, ops] : SweepParameters(words))
    if (std::ranges::count(names, word.name) == 0) names.push_back(word.name);
  return names;
}

}  // namespace dlroof
