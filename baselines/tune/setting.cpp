#include "baselines/tune/setting.h"

#include <fmt/format.h>

#include <set>

namespace dlroof::tuning {
namespace {

std::set<std::string> KnobsOf(const Coordinate& coordinate) {
  std::set<std::string> knobs;
  for (const auto& choice : coordinate.choices)
    for (const auto& [knob, value] : choice.values) knobs.insert(knob);
  return knobs;
}

}  // namespace

std::string Words(const Setting& setting) {
  std::string words;
  for (const auto& [knob, value] : setting)
    words +=
        fmt::format("{}{}{}{}", words.empty() ? "" : ", ", knob, value.empty() ? "" : "=", value);
  return words.empty() ? "default" : words;
}

Setting With(Setting setting, const Coordinate& coordinate, const Setting& values) {
  for (const auto& knob : KnobsOf(coordinate)) setting.erase(knob);
  setting.insert(values.begin(), values.end());
  return setting;
}

Setting PartOf(const Setting& setting, const Coordinate& coordinate) {
  Setting part;
  for (const auto& knob : KnobsOf(coordinate))
    if (const auto found = setting.find(knob); found != setting.end()) part.insert(*found);
  return part;
}

Coordinate Crossed(const Coordinate& one, const Coordinate& other) {
  Coordinate both{one.name + " and " + other.name, one.reason, one.choices};
  both.choices.insert(both.choices.end(), other.choices.begin(), other.choices.end());
  for (const auto& first : one.choices)
    for (const auto& second : other.choices) {
      Choice choice{first.values, first.reason + "; " + second.reason};
      choice.values.insert(second.values.begin(), second.values.end());
      both.choices.push_back(std::move(choice));
    }
  return both;
}

}  // namespace dlroof::tuning
