// The vocabulary of ops that reports use, and the parts of a problem's text.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {
namespace {

using nlohmann::json;

OpVocabulary& Registry() {
  static OpVocabulary words;
  return words;
}

OpWords FromJson(const json& object) {
  OpWords words = {record::Text(object, "noun"), {}};
  const json& sweep = record::Member(object, "sweep");
  if (!sweep.is_array()) return words;
  for (const json& word : sweep)
    if (const auto name = record::Text(word, "name"), key = record::Text(word, "key");
        !name.empty() && !key.empty())
      words.sweep.push_back({name, key, record::Text(word, "follow")});
  return words;
}

bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

// Returns a text for each position in `problem` at which the missing key and its value may be
// inserted. Keys with an underscore are after the text's only underscore, other keys before it.
std::vector<std::string> Inserted(std::string_view problem, const std::string& key,
                                  const std::string& value) {
  const bool after = key.starts_with('_');
  const auto addition = key.substr(after ? 1 : 0) + value;
  const auto underscore = std::min(problem.find('_'), problem.size());
  std::vector<std::size_t> places;
  if (!after) places.push_back(underscore);
  if (after && underscore < problem.size()) places.push_back(problem.size());
  for (const auto& part : ProblemParts(problem))
    if (after == (part.begin > underscore)) places.push_back(part.begin);
  std::vector<std::string> texts;
  for (const auto place : places) texts.emplace_back(problem).insert(place, addition);
  if (after && underscore == problem.size()) texts.push_back(std::string(problem) + "_" + addition);
  return texts;
}

}  // namespace

bool RegisterOpWords(const std::string& op, OpWords words) {
  return Registry().emplace(op, std::move(words)).second;
}

OpVocabulary WordsOf(const json& context) {
  OpVocabulary words = Registry();
  const json& ops = record::Member(record::Member(context, "dlroof"), "ops");
  if (!ops.is_object()) return words;
  for (const auto& [op, object] : ops.items()) words.emplace(op, FromJson(object));
  return words;
}

const OpWords* FindWords(std::string_view op, const OpVocabulary& words) {
  const OpVocabulary& known = words.empty() ? Registry() : words;
  const auto found = known.find(op);
  return found == known.end() ? nullptr : &found->second;
}

std::string_view NounOf(std::string_view op, const OpVocabulary& words) {
  const auto* const known = FindWords(op, words);
  if (known == nullptr || known->noun.empty()) return "call";
  return known->noun;
}

json ToJson(const OpVocabulary& words) {
  json ops = json::object();
  for (const auto& [op, op_words] : words) {
    json& object = ops[op] = {{"noun", op_words.noun}, {"sweep", json::array()}};
    for (const auto& word : op_words.sweep) {
      json row = {{"name", word.name}, {"key", word.key}};
      if (!word.follow.empty()) row["follow"] = word.follow;
      object["sweep"].push_back(std::move(row));
    }
  }
  return ops;
}

std::vector<SweepParameter> SweepParameters(const OpVocabulary& words) {
  std::vector<SweepParameter> parameters;
  for (const auto& [op, op_words] : words)
    for (const auto& word : op_words.sweep) {
      const auto same = std::ranges::find(parameters, word, &SweepParameter::word);
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

std::vector<ProblemPart> ProblemParts(std::string_view problem) {
  std::vector<ProblemPart> parts;
  std::string_view prefix;
  for (std::size_t at = 0; at < problem.size();) {
    if (problem[at] == '_') {
      prefix = "_";
      ++at;
      continue;
    }
    ProblemPart part{.begin = at};
    std::size_t end = at;
    while (end < problem.size() && IsLetter(problem[end])) ++end;
    if (end == at) end = at + 1;
    part.key = std::string(prefix).append(problem.substr(at, end - at));
    part.value_begin = at = end;
    while (end < problem.size() && problem[end] != '_' &&
           (!IsLetter(problem[end]) || (problem[end] == 'x' && end > at)))
      ++end;
    part.value = problem.substr(at, end - at);
    part.end = at = end;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<std::string> Followers(const SweepWord& word) {
  std::vector<std::string> keys;
  std::istringstream words(word.follow);
  for (std::string key; words >> key;) keys.push_back(key);
  return keys;
}

std::vector<std::string> WithValue(std::string_view problem, const SweepWord& word,
                                   const std::string& value) {
  const auto parts = ProblemParts(problem);
  const auto swept = std::ranges::find(parts, word.key, &ProblemPart::key);
  if (swept == parts.end())
    return value == "1" ? std::vector<std::string>{std::string(problem)}
                        : Inserted(problem, word.key, value);
  const auto followers = Followers(word);
  std::string text(problem);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (&*part == &*swept || (part->key != "_p" && part->value == swept->value &&
                              std::ranges::count(followers, part->key) > 0))
      text.replace(part->value_begin, part->end - part->value_begin, value);
  std::vector<std::string> texts = {text};
  if (value == "1") {
    texts.push_back(std::string(problem).erase(swept->begin, swept->end - swept->begin));
    if (texts.back().ends_with('_')) texts.back().pop_back();
  }
  return texts;
}

}  // namespace dlroof::roofline
