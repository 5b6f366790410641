#include "reporters/figure/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <tuple>

#include "counters/base/error.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::figure {
namespace {

using nlohmann::json;

json RoofJson(const roofline::Roof& roof) {
  json entry = {{"key", roof.key},
                {"per_second", roof.per_second},
                {"proved", roof.validated},
                {"finer", roofline::IsFinerPipe(roof.key)}};
  if (roof.specified) entry["given"] = true;
  if (roof.sustained_per_second) entry["sustained_per_second"] = *roof.sustained_per_second;
  return entry;
}

// The left end of all bandwidth roofs, outside of any chart. On logarithmic axes a roof is
// straight, so its points are this end and its ridges.
constexpr double kLeftEnd = 1e-9;  // [flop/byte]

json RoofSetJson(const roofline::PlacedRun& run, const roofline::RoofSet& roofs) {
  json result = {{"device", roofs.device},   {"machine", roofs.machine},
                 {"threads", roofs.threads}, {"used", roofline::PipesInUse(run, roofs)},
                 {"flops", json::array()},   {"bytes", json::array()}};
  for (const roofline::Roof& flat : roofs.flops) result["flops"].push_back(RoofJson(flat));
  for (const roofline::Roof& slanted : roofs.bytes) {
    json entry = RoofJson(slanted);
    entry["start"] = {kLeftEnd, kLeftEnd * slanted.per_second};
    const auto less = roofline::SustainedOf(slanted);
    if (less) entry["sustained_start"] = {kLeftEnd, kLeftEnd * less->per_second};
    for (const roofline::Roof& flat : roofs.flops) {
      entry["ridges"][flat.key] = roofline::RidgeIntensity(flat, slanted);
      if (less) entry["sustained_ends"][flat.key] = roofline::RidgeIntensity(flat, *less);
      if (const auto sustained = roofline::SustainedOf(flat))
        entry["sustained_ridges"][flat.key] = roofline::RidgeIntensity(*sustained, slanted);
    }
    result["bytes"].push_back(entry);
  }
  if (roofs.launch_seconds) result["launch_seconds"] = *roofs.launch_seconds;
  for (const auto& [level, ridge] : roofs.ridges)
    for (const machine::RidgePoint& point : ridge)
      result["measured_ridges"][std::string(Key(level))].push_back(
          {point.intensity, point.flops_per_second});
  if (const auto level = roofline::MainLevel(run, roofs)) result["level"] = Key(*level);
  return result;
}

// Adds the time points by level (TimePlace) and PipesUntil() to a record's "time".
json WithPlaces(json object, const roofline::TimePoint& time) {
  json places = json::object();
  for (const Level level : AllLevels())
    if (const auto place = roofline::TimePlace(time, level))
      places[std::string(Key(level))] = {place->first, place->second};
  object["places"] = std::move(places);
  if (auto until = roofline::PipesUntil(time); !until.empty())
    object["pipes_until"] = std::move(until);
  return object;
}

json RateJson(const roofline::WorkRate& rate, const roofline::Placement& placement) {
  json object = {{"flops_per_second", text::Rounded(rate.flops_per_second)}};
  if (const auto share = roofline::RoofShareOf(placement))
    object[share->at_most ? "fraction_at_most" : "fraction"] = text::Rounded(share->value);
  if (rate.intensity) object["intensity"] = text::Rounded(*rate.intensity);
  if (rate.level) object["level"] = Key(*rate.level);
  return object;
}

// Adds all derived numbers that the page draws to a record.
json WithGeometry(json object, const roofline::PlacedRun& run, std::size_t index) {
  const auto& placed = run.places[index];
  if (const auto& written = run.file.records[index]; record::IsKernelSum(written))
    object["short_name"] = text::ShortKernelName(record::KernelNameOf(written).kernel);
  const auto& [classic, time] = std::tie(placed.placement.classic, placed.placement.time);
  if (time) object["time"] = WithPlaces(std::move(object["time"]), *time);
  if (const auto* binding = roofline::Binding(placed.placement))
    object["binding"] = binding - classic.data();
  if (placed.timing)
    if (const auto rate = roofline::WorkRateOf(run.file.records[index], *placed.timing, run.view))
      object["rate"] = RateJson(*rate, placed.placement);
  for (std::size_t i = 0; i < classic.size(); ++i) {
    const double rate = classic[i].flops_per_second;
    if (const auto interval = roofline::RateInterval(*placed.timing, rate))
      object["classic"][i]["error_bar"] = {rate - interval->first, interval->second - rate};
  }
  return object;
}

json SweepsJson(const roofline::PlacedRun& run) {
  json sweeps = json::array();
  for (const auto& parameter : roofline::SweepParameters(roofline::WordsOf(run.file.context))) {
    json lines = json::array();
    for (const auto& line : roofline::SweepLines(run, parameter))
      lines.push_back(
          {{"series", line.series}, {"records", line.records}, {"values", line.values}});
    if (!lines.empty())
      sweeps.push_back({{"name", parameter.word.name}, {"lines", std::move(lines)}});
  }
  return sweeps;
}

// Returns, by the index of a record in `run`, the points of the same benchmark in `before`.
json BeforeJson(const roofline::PlacedRun& run, const roofline::PlacedRun& before) {
  json moves = json::object();
  std::map<std::string, std::size_t> old;
  for (std::size_t i = 0; i < before.places.size(); ++i) old[before.file.records[i].name] = i;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto found = old.find(run.file.records[i].name);
    if (found == old.end()) continue;
    json& move = moves[std::to_string(i)] = json::object();
    const roofline::Placed& placed = before.places[found->second];
    json record = roofline::ToJson(before.file.records[found->second], placed);
    for (const char* key : {"classic", "time", "seconds"})
      if (record.contains(key)) move[key] = std::move(record[key]);
    if (placed.placement.time)
      move["time"] = WithPlaces(std::move(move["time"]), *placed.placement.time);
  }
  return moves;
}

std::string Policy() {
  std::string sources;
  auto scripts = PageScripts();
  if (const auto plotly = PlotlyScript()) scripts.push_back(*plotly);
  for (const auto& script : scripts)
    sources += fmt::format(" 'sha256-{}'", Base64OfHex(script.sha256));
  return "default-src 'none'; script-src" + sources +
         "; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";
}

std::string Elements(const std::vector<EmbeddedFile>& scripts) {
  std::string text;
  for (const auto& script : scripts) text += fmt::format("<script>{}</script>\n", script.text);
  return text;
}

}  // namespace

json TrajectoriesJson(const std::vector<roofline::Trajectory>& trajectories) {
  json lines = json::array();
  for (const auto& trajectory : trajectories) {
    json line = {{"along", trajectory.along},
                 {"label", trajectory.label},
                 {"sentence", roofline::DiagnosisText(trajectory)},
                 {"points", json::array()}};
    if (trajectory.level) line["level"] = Key(*trajectory.level);
    for (const auto& point : trajectory.points) {
      json entry = {{"record", point.record},
                    {"value", point.value},
                    {"threads", point.threads},
                    {"disturbed", point.noisy}};
      if (point.intensity && point.flops_per_second)
        entry["place"] = {*point.intensity, *point.flops_per_second};
      line["points"].push_back(std::move(entry));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

json PageContent(const roofline::PlacedRun& run, const roofline::PlacedRun* before) {
  json content = roofline::ToJson(run);
  content["roofs"] = json::array();
  const auto sets = roofline::RoofSets(run.file.machines);
  for (const auto& set : sets) content["roofs"].push_back(RoofSetJson(run, set));
  if (const auto main = roofline::MainRoofSet(run, sets)) content["main_roofs"] = *main;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    content["records"][i] = WithGeometry(std::move(content["records"][i]), run, i);
  for (const auto& [record, count, seconds, above, at_least] : roofline::Opportunities(run))
    content["opportunities"].push_back(
        {{"record", record},
         {"count", count},
         {"seconds", seconds},
         {at_least ? "above_roof_seconds_at_least" : "above_roof_seconds", above}});
  if (auto sweeps = SweepsJson(run); !sweeps.empty()) content["sweeps"] = std::move(sweeps);
  if (auto lines = TrajectoriesJson(roofline::Trajectories(run, roofline::kAlongThreads));
      !lines.empty())
    content["trajectories"] = std::move(lines);
  if (before != nullptr) content["before"] = BeforeJson(run, *before);
  return content;
}

void Fill(std::string_view text, const std::map<std::string_view, std::string>& values,
          std::ostream& out) {
  for (std::size_t at = 0; at < text.size();) {
    const auto open = text.find("{{", at);
    const auto close = text.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos) {
      out << text.substr(at);
      return;
    }
    out << text.substr(at, open - at) << values.at(text.substr(open + 2, close - open - 2));
    at = close + 2;
  }
}

std::string ScriptSafeJson(const json& value) {
  std::string safe;
  for (const char c : value.dump(-1, ' ', true, json::error_handler_t::replace))
    if (c == '<' || c == '>' || c == '&')
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      safe += c;
  return safe;
}

std::string Base64OfHex(std::string_view hex) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0, count = 0;
  auto emit = [&](unsigned value, unsigned width) {
    bits = (bits << width) | value;
    for (count += width; count >= 6; count -= 6) text += kDigits[(bits >> (count - 6)) & 63];
  };
  for (const char digit : hex)
    emit(static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10), 4);
  if (count > 0) text += kDigits[(bits << (6 - count)) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

void WritePage(const json& content, std::ostream& out) {
  const auto plotly = PlotlyScript();
  if (!plotly)
    throw BadInput(
        "this program was built without plotly.js, so it cannot write pages (configure with "
        "-DDLROOF_PLOTLY_JS=/path/to/plotly.min.js)");
  Fill(PageHtml().text,
       {{"policy", Policy()},
        {"style", std::string(PageStyle().text)},
        {"content", ScriptSafeJson(content)},
        {"scripts", Elements(PageScripts())},
        {"plotly", Elements({*plotly})}},
       out);
}

std::string SitePolicy() {
  return "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data: blob:; "
         "base-uri 'none'; form-action 'none'";
}

std::string Join(const std::vector<EmbeddedFile>& scripts) {
  std::string text;
  for (const EmbeddedFile& script : scripts) text += fmt::format("{}\n", script.text);
  return text;
}

void WriteSitePage(std::string_view more_style, std::ostream& out) {
  Fill(PageHtml().text,
       {{"policy", SitePolicy()},
        {"style", fmt::format("{}{}", PageStyle().text, more_style)},
        {"content", "{}"},
        {"scripts", "<script src=\"load.js\"></script>\n<script src=\"roofline.js\"></script>\n"},
        {"plotly", "<script src=\"plotly.js\"></script>\n"}},
       out);
}

// Generated by module.cmake.
const std::vector<EmbeddedFile>& PageHtmlFiles();
const std::vector<EmbeddedFile>& PageStyleFiles();
const std::vector<EmbeddedFile>& PageScriptFiles();
const std::vector<EmbeddedFile>& PlotlyFiles();

EmbeddedFile PageHtml() { return PageHtmlFiles().at(0); }
EmbeddedFile PageStyle() { return PageStyleFiles().at(0); }
std::vector<EmbeddedFile> PageScripts() { return InRunningOrder(PageScriptFiles()); }
std::optional<EmbeddedFile> PlotlyScript() {
  if (PlotlyFiles().empty()) return std::nullopt;
  return PlotlyFiles().front();
}

std::vector<EmbeddedFile> InRunningOrder(std::vector<EmbeddedFile> scripts) {
  std::ranges::stable_sort(scripts, {}, [](const auto& script) {
    return script.name == "format" ? 0 : script.name == "main" ? 2 : 1;
  });
  return scripts;
}

}  // namespace dlroof::figure
