// nlohmann's JSON, whose members are compiled once (json.cpp) instead of in every file that uses
// them: half of such a file's time in the compiler.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

extern template class nlohmann::basic_json<>;
extern template class std::vector<nlohmann::json>;
extern template class std::map<std::string, nlohmann::json, std::less<>>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
