// nlohmann's JSON with its members instantiated once, in json.cpp. This halves the compile time of
// files that use it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

extern template class nlohmann::basic_json<>;
extern template class std::vector<nlohmann::json>;
extern template class std::map<std::string, nlohmann::json, std::less<>>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
