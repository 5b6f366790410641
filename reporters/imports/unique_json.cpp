#include "reporters/imports/unique_json.h"

#include <set>
#include <vector>

#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::imports {

using nlohmann::json;

json ParsedUniqueJson(const std::string& text, const std::string& where) {
  std::vector<std::set<std::string>> keys;  // of each open object
  const auto check = [&](int /*depth*/, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw BadInput("{}: the key '{}' is there twice in one object", where,
                     text::Printable(parsed.get<std::string>().substr(0, 40)));
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    throw BadInput("{}: not JSON: {}", where, JsonFault(error));
  }
}

}  // namespace dlroof::imports
