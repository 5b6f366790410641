#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/formats/export.h"

namespace dlroof {

void WriteGithubAction(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream&) {
  using nlohmann::json;
  json whole = json::array();
  for (const auto& record : runs.front().file.records) {
    const auto time = TimeOf(runs.front().file, record);
    if (!time) continue;
    json entry = {{"name", record.name}, {"unit", "ns"}, {"value", time->median * 1e9}};
    if (time->ci95)
      entry["range"] =
          fmt::format("{:.6g} to {:.6g}", time->ci95->first * 1e9, time->ci95->second * 1e9);
    std::string extra = AlgorithmText(record);
    if (time->fraction)
      extra += fmt::format("{}{:.1f} % of its {}roof", extra.empty() ? "" : "\n",
                           100 * *time->fraction, time->given ? "given " : "");
    if (!extra.empty()) entry["extra"] = extra;
    whole.push_back(std::move(entry));
  }
  out << whole.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace dlroof
