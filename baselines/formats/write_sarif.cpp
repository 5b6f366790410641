#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/formats/write_comparison.h"
#include "counters/base/version.h"

namespace dlroof::formats {
namespace {

using nlohmann::json;

// A path as a URI reference (RFC 3986): all but unreserved characters and slashes is escaped.
std::string UriOf(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string uri;
  for (const char c : path)
    uri += kPlain.find(c) != std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return uri;
}

json Rules() {
  json rules = json::array();
  const std::pair<const char*, const char*> texts[] = {
      {"slower", "Slower than the baseline by more than the minimum effect and the noise."},
      {"failed", "Ran in the baseline, and fails now."},
      {"bytes", "Moves more bytes than the baseline."},
      {"flops", "Executes more FLOPs than the baseline."},
      {"fraction", "Reaches a smaller part of its roof than the baseline."},
      {"residual", "Lies further from what a model predicts than the baseline."}};
  for (const auto& [id, text] : texts)
    rules.push_back({{"id", id}, {"shortDescription", {{"text", text}}}});
  return rules;
}

json Result(const compare::Comparison& row, std::string_view rule, const std::string& text,
            const std::string& file) {
  const json location = {
      {"physicalLocation",
       {{"artifactLocation", {{"uri", UriOf(file)}}}, {"region", {{"startLine", 1}}}}},
      {"logicalLocations", {{{"fullyQualifiedName", row.name()}, {"kind", "member"}}}}};
  return {{"ruleId", rule},
          {"level", "error"},
          {"message", {{"text", row.name() + ": " + text}}},
          {"locations", {location}},
          {"partialFingerprints", {{"benchmark/v1", row.name()}}}};
}

}  // namespace

void WriteSarif(const compare::CompareResult& result, const ComparedFiles& files, std::ostream& out) {
  json results = json::array();
  for (const auto& row : result.rows) {
    if (row.verdict == statistics::Verdict::kSlower && row.judgement)
      results.push_back(Result(row, "slower",
                               fmt::format("slower by {}; {}", RatioText(row), NotesOf(row)),
                               files.fresh));
    if (row.newly_failed) results.push_back(Result(row, "failed", NotesOf(row), files.fresh));
    for (const auto& alert : row.alerts)
      results.push_back(Result(row, compare::Key(alert.on), alert.text, files.fresh));
  }
  const json driver = {{"name", "dlroof"}, {"version", kVersion}, {"rules", Rules()}};
  const json whole = {
      {"$schema",
       "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
       "sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", driver}}},
         {"properties", {{"summary", CountsText(result)}, {"remarks", RemarksOf(result)}}},
         {"results", results}}}}};
  out << whole.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace dlroof::formats
