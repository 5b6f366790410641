// Files of any structure, for tests of readers.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::fakes {

// The number in a variable of the environment or, if that is not set, `usual`.
inline int Asked(const char* variable, int usual) {
  const char* asked = std::getenv(variable);
  return asked == nullptr ? usual : std::atoi(asked);
}

// Number of mutants of each kind.
inline int Mutants(int usual) { return Asked("DLROOF_MUTANTS", usual); }

// Changes the structure of a file: members and elements go, come twice, get another type, another
// name or a number that cannot be.
inline nlohmann::json StructureOf(nlohmann::json file, std::mt19937_64& random) {
  static const nlohmann::json values = nlohmann::json::parse(
      R"([null, true, "", "abc", "1", -1, 0, 1e300, 1e-300, 2147483648, 1e18, [], {}, {"a": 1},
          [1, 2], [-1, "x"]])");
  const auto below = [&](std::size_t n) { return random() % n; };
  for (auto changes = 1 + below(3); changes > 0; --changes) {
    std::vector<std::pair<nlohmann::json*, std::string>> places;
    const std::function<void(nlohmann::json&)> collect = [&](nlohmann::json& at) {
      for (auto item = at.begin(); item != at.end(); ++item) {
        places.emplace_back(&at, at.is_object() ? item.key() : "");
        if (item->is_structured()) collect(*item);
      }
    };
    collect(file);
    if (places.empty()) return file;
    const auto [parent, key] = places[below(places.size())];
    const auto index = parent->is_array() ? below(parent->size()) : 0;
    nlohmann::json& value = parent->is_array() ? parent->at(index) : parent->at(key);
    const auto kind = below(5);
    if (kind == 0)
      parent->is_array() ? parent->erase(index) : static_cast<void>(parent->erase(key));
    else if (kind == 1 && parent->is_array())
      parent->push_back(nlohmann::json(value));
    else if (kind == 2 && parent->is_object())
      (*parent)[key + "_x"] = std::exchange(value, values[below(values.size())]);
    else
      value = values[below(values.size())];
  }
  return file;
}

// Seeds have 64 bits.
inline bool HasImpossible(const std::string& shown) {
  const auto leaves = nlohmann::json::parse(shown).flatten();
  for (const auto& [path, leaf] : leaves.items())
    if (leaf.is_number() && !(std::abs(leaf.get<double>()) < 2e19)) return true;
  return shown.find("e+300") != shown.npos;
}

}  // namespace dlroof::fakes
