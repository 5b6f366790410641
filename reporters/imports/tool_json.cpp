// Reads other tools' JSON (import.h). A row of JsonTools says which members are names and times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/imports/tool_tables.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/large_json.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

struct JsonTool {
  std::vector<std::string_view> words;  // a file with all of them is of this tool
  const char* list;                     // JSON pointer of the array of benchmarks
  std::vector<const char*> names;       // members whose texts form the name
  std::vector<const char*> samples;     // JSON pointers of times, the best first
  double unit;                          // [s] unit of the times
};

const std::vector<JsonTool>& JsonTools() {
  // The rows: pytest-benchmark, hyperfine, llama-bench, BenchmarkDotNet.
  static const std::vector<JsonTool> tools = {{{"\"machine_info\"", "\"benchmarks\"", "\"stats\""},
                                               "/benchmarks",
                                               {"fullname"},
                                               {"/stats/data", "/stats/median", "/stats/mean"},
                                               1},
                                              {{"\"results\"", "\"command\"", "\"mean\""},
                                               "/results",
                                               {"command"},
                                               {"/times", "/median", "/mean"},
                                               1},
                                              {{"\"model_filename\"", "\"avg_ns\""},
                                               "",
                                               {"model_filename", "n_prompt", "n_gen"},
                                               {"/samples_ns", "/avg_ns"},
                                               1e-9},
                                              {{"BenchmarkDotNet", "\"FullName\""},
                                               "/Benchmarks",
                                               {"FullName"},
                                               {"/Statistics/OriginalValues", "/Statistics/Median"},
                                               1e-9}};
  return tools;
}

const std::map<std::string, std::string> kProtonFlops = {{"flops8", "fp8.matrix"},
                                                         {"flops16", "fp16.matrix"},
                                                         {"flops32", "fp32.vector"},
                                                         {"flops64", "fp64.vector"}};

const JsonTool* JsonToolOf(std::string_view text) {
  return FindIf(JsonTools(),
                [&](const JsonTool& tool) { return HasAll(FirstOf(text), tool.words); });
}

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void AddBenchmark(const JsonTool& tool, const json& item, const std::string& where,
                  Records& records) {
  std::vector<std::string> names;
  for (const char* key : tool.names)
    if (item.is_object() && item.contains(key)) names.push_back(TextOf(item.at(key)));
  if (names.empty()) throw BadInput("{}: expected an object with '{}'", where, tool.names[0]);
  for (const char* pointer : tool.samples) {
    const json::json_pointer at(pointer);
    if (!item.contains(at)) continue;
    const json samples = item.at(at).is_array() ? item.at(at) : json::array({item.at(at)});
    std::vector<record::Repetition> repetitions;
    std::size_t index = 0, failed = 0;
    for (const auto& sample : samples) {
      const json::json_pointer code(fmt::format("/exit_codes/{}", index++));  // hyperfine's
      const bool fails = item.contains(code) && item.at(code).is_number() && item.at(code) != 0;
      failed += fails ? 1 : 0;
      if (fails || sample.is_null()) continue;  // null: NaN
      if (!sample.is_number()) throw BadInput("{}: '{}': expected numbers", where, pointer);
      repetitions.push_back(
          {.seconds = RunTime(where, tool.unit * sample.get<double>()), .iterations = 1});
    }
    if (repetitions.empty() && failed == 0) continue;
    if (!repetitions.empty())
      records.Of(fmt::format("{}", fmt::join(names, "/")), {}, true).repetitions =
          std::move(repetitions);
    if (failed > 0) throw BadInput("{}: {} runs failed (exit_codes)", where, failed);
    return;
  }
  throw BadInput("{}: expected times in '{}'", where, tool.samples[0]);
}

// Adds the kernel of a frame of Proton's profile, with the work that the program's author declared.
void AddKernel(const JsonReader& frame, Records& records) {
  const auto metrics = frame.Object("metrics");
  const double count = metrics.OptionalNumber("count").value_or(1);
  const auto keys = metrics.Keys();
  const bool timed = std::ranges::any_of(keys, [](auto& key) { return key.starts_with("time "); });
  if (!timed || count == 0) return;  // a scope, no kernel
  const auto name = frame.Object("frame").NonEmptyText("name");
  const double seconds = RunTime(metrics.where(), 1e-9 * metrics.Number("time (ns)"));
  const auto gpu = metrics.Has("device_id") ? TextOf(metrics.json().at("device_id")) : "";
  Work own;
  std::string unknown;
  for (const auto& key : keys) {
    if (const auto* pipe = FindValue(kProtonFlops, key))
      own.flops[*pipe] = metrics.Number(key);
    else if (key.starts_with("flops"))
      unknown = fmt::format("'{}' is not known", text::Printable(key));
  }
  if (!unknown.empty()) own.flops.clear();
  if (const auto bytes = metrics.OptionalNumber("bytes")) own.bytes[Level::kDram] = *bytes;
  const auto known = records.size();
  auto& record = records.AddKernels(name, {gpu, ""}, seconds, count);
  auto& work = record.work[Provenance::kModelled];
  const bool first = records.size() > known;
  if (AddCommon(own.flops, first, work.flops) | AddCommon(own.bytes, first, work.bytes))
    unknown = "a launch lacks FLOPs or bytes that another one has";
  if (!unknown.empty())
    throw BadInput("{}: FLOPs of '{}': {}", metrics.where(), text::Printable(name), unknown);
}

void AddFrames(const json& frame, const std::string& where, Records& records, LeftOut& left_out) {
  if (!frame.is_object() || !frame.contains("metrics")) return;
  left_out.Try([&] { AddKernel(JsonReader(frame, where), records); });
  if (frame.contains("children") && frame.at("children").is_array())
    for (const auto& child : frame.at("children")) AddFrames(child, where, records, left_out);
}

// Finds JSON in a text that is not JSON as a whole because a program printed lines before and after
// it, or because it has NaN, which becomes null. Returns nullopt if there is no JSON.
std::optional<std::string> JsonWithin(std::string_view text) {
  constexpr int kTried = 20;
  const auto end = text.find_last_of("}]");
  // Some tools write an object per line.
  auto lines = fmt::format("[{}]", fmt::join(logs::SplitText(text.substr(0, end + 1), '\n'), ","));
  if (end != text.npos && nlohmann::json::accept(lines)) return lines;
  for (std::size_t at = 0, tried = 0; at < end && end != text.npos && tried < kTried; ++tried) {
    const auto part = text.substr(at, end + 1 - at);
    auto repaired = record::RepairedJson(part).value_or(std::string(part));
    if (nlohmann::json::accept(repaired)) return repaired;
    at = std::min(text.find("\n{", at), text.find("\n[", at));
    at += at == text.npos ? 0 : 1;
  }
  return std::nullopt;
}

}  // namespace

bool LooksLikeToolJson(std::string_view text) {
  return JsonToolOf(text) != nullptr ||
         HasAll(FirstOf(text), {R"("frame")", R"("metrics")", R"("children")"});
}

void ReadToolJson(const std::string& text, const std::string& where, Records& records,
                  LeftOut& left_out) {
  const json file = ParsedUniqueJson(text, where, left_out);
  const auto* tool = JsonToolOf(text);
  if (tool == nullptr) {
    for (const auto& root : file) AddFrames(root, where, records, left_out);
    return;
  }
  const json::json_pointer list(tool->list);
  if (!file.contains(list) || !file.at(list).is_array())
    throw BadInput("{}: expected an array of benchmarks", where);
  for (std::size_t i = 0; i < file.at(list).size(); ++i)
    left_out.Try([&] {
      AddBenchmark(*tool, file.at(list)[i], fmt::format("{}: {}[{}]", where, tool->list, i),
                   records);
    });
}

nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out) {
  std::vector<std::set<std::string>> keys;  // keys seen in each open object
  const auto check = [&](int /*depth*/, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    const bool twice =
        event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second;
    if (twice)
      left_out.Try([&] {
        throw BadInput("{}: the key '{}' is there twice in one object", where,
                       text::Printable(parsed.get<std::string>().substr(0, 40)));
      });
    return !twice;
  };
  const auto input = (json::accept(text) ? std::nullopt : JsonWithin(text)).value_or(text);
  RefuseDeepJson(input, where);  // not `text`: a quote before the JSON would hide its brackets
  try {
    return json::parse(input, check);
  } catch (const json::exception& error) {
    throw BadInput("{}: not JSON: {}", where, JsonFault(error));
  }
}

}  // namespace dlroof::imports
