#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/formats/export.h"

namespace dlroof::formats {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 1024;  // [characters] Bencher refuses longer ones

std::size_t Characters(std::string_view utf8) {
  std::size_t count = 0;
  for (const char c : utf8) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

// Bencher's own measure "latency" is in nanoseconds.
json Latency(const ExportedTime& time) {
  json latency = {{"value", time.median * 1e9}};
  if (time.ci95) {
    latency["lower_value"] = time.ci95->first * 1e9;
    latency["upper_value"] = time.ci95->second * 1e9;
  }
  return latency;
}

}  // namespace

void WriteBencher(const std::vector<compare::NamedRun>& runs, std::ostream& out, std::ostream& warnings) {
  json whole = json::object();
  for (const auto& record : runs.front().file.records) {
    const auto time = TimeOf(runs.front().file, record);
    if (!time) continue;
    if (Characters(record.name) > kLongestName) {
      warnings << fmt::format("left out: '{}...', Bencher takes names of up to {} characters\n",
                              record.name.substr(0, 60), kLongestName);
      continue;
    }
    json& measures = whole[record.name];
    measures["latency"] = Latency(*time);
    if (time->fraction)
      measures[time->given ? "fraction-of-given-roof" : "fraction-of-roof"] = {
          {"value", *time->fraction}};
  }
  out << whole.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

void WriteGithubAction(const std::vector<compare::NamedRun>& runs, std::ostream& out, std::ostream&) {
  json whole = json::array();
  for (const auto& record : runs.front().file.records) {
    const auto time = TimeOf(runs.front().file, record);
    if (!time) continue;
    json entry = {{"name", record.name}, {"unit", "ns"}, {"value", time->median * 1e9}};
    if (time->ci95)
      entry["range"] =
          fmt::format("{:.6g} to {:.6g}", time->ci95->first * 1e9, time->ci95->second * 1e9);
    std::string extra = record::AlgorithmText(record);
    if (time->fraction)
      extra += fmt::format("{}{:.1f} % of its {}roof", extra.empty() ? "" : "\n",
                           100 * *time->fraction, time->given ? "given " : "");
    if (!extra.empty()) entry["extra"] = extra;
    whole.push_back(std::move(entry));
  }
  out << whole.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace dlroof::formats
