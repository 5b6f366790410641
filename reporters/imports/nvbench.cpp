// Reader of nvbench's JSON (import.h), whose numbers are strings.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "reporters/imports/import.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

constexpr std::string_view kTime = "nv/cold/time/gpu/mean";
constexpr double kMostBytesPerSecond = 1e18;  // larger rates are invalid
constexpr std::string_view kBandwidth = "nv/cold/bw/global/bytes_per_second";

// Returns the member "value" of a summary's or an axis' data as a number.
double ValueOf(const json& value, const std::string& where) {
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  if (!value.is_string()) throw BadInput(where + ": 'value': expected a number");
  const auto& text = value.get_ref<const std::string&>();
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(number))
    throw BadInput("{}: 'value': expected a number, got '{}'", where,
                   text::Printable(text.substr(0, 40)));
  return number;
}

std::optional<double> Summary(const JsonReader& state, std::string_view tag) {
  for (std::size_t i = 0; i < state.Array("summaries").size(); ++i) {
    const JsonReader summary = state.Item("summaries", i);
    if (summary.TextOr("tag", "") != tag) continue;
    for (std::size_t j = 0; j < summary.Array("data").size(); ++j) {
      const JsonReader item = summary.Item("data", j);
      if (item.TextOr("name", "") != "value") continue;
      if (!item.Has("value")) item.Refuse("value", "a number");
      return ValueOf(item.json().at("value"), item.where());
    }
  }
  return std::nullopt;
}

// Adds the tags of summaries that are not read, each once.
void AddUnknown(const JsonReader& state, std::vector<std::string>& unknown) {
  for (std::size_t i = 0; i < state.Array("summaries").size(); ++i) {
    const auto tag = state.Item("summaries", i).TextOr("tag", "");
    if (!tag.empty() && tag != kTime && tag != kBandwidth && std::ranges::count(unknown, tag) == 0)
      unknown.push_back(tag);
  }
}

// Returns "bench/Elements=1024/T=I32": the benchmark and its axes.
std::string NameOf(const std::string& benchmark, const JsonReader& state) {
  std::string name = benchmark;
  if (!state.Has("axis_values")) return name;
  for (std::size_t i = 0; i < state.Array("axis_values").size(); ++i) {
    const JsonReader axis = state.Item("axis_values", i);
    if (!axis.Has("value")) axis.Refuse("value", "a text");
    const json& value = axis.json().at("value");
    name += fmt::format("/{}={}", axis.Text("name"),
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return name;
}

record::Record RecordOf(const std::string& benchmark, const JsonReader& state,
                        std::vector<std::string>& unknown) {
  record::Record record{.name = NameOf(benchmark, state)};
  if (record.name.empty()) throw BadInput(state.where() + ": expected the benchmark's name");
  if (state.Has("is_skipped") && state.Flag("is_skipped")) {
    record.status = record::Status::kUnsupported;
    record.reason = state.TextOr("skip_reason", "skipped without a reason");
    return record;
  }
  AddUnknown(state, unknown);
  const auto seconds = Summary(state, kTime);
  if (!seconds) {
    record.reason = fmt::format("no time: the summary {} is missing", kTime);
    return record;
  }
  if (!IsRunTime(*seconds)) throw BadInput("{}: {}: expected a time above 0", state.where(), kTime);
  record.repetitions.push_back({.seconds = *seconds, .iterations = 1});
  Work& work = record.work[Provenance::kModelled];
  work.launches = 1;
  if (const auto rate = Summary(state, kBandwidth);
      rate && *rate > 0 && *rate <= kMostBytesPerSecond)
    work.bytes[Level::kDram] = *rate * *seconds;
  return record;
}

}  // namespace

bool LooksLikeNvbench(std::string_view text) {
  return text.find("\"benchmarks\"") != std::string_view::npos &&
         text.find("\"states\"") != std::string_view::npos;
}

Imported ImportNvbench(const std::string& text, const std::string& where) {
  const json whole = ParsedJson(text, where);
  const JsonReader file(whole, where);
  Imported imported;
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < file.Array("benchmarks").size(); ++i) {
    const JsonReader benchmark = file.Item("benchmarks", i);
    const auto name = benchmark.Text("name");
    for (std::size_t j = 0; j < benchmark.Array("states").size(); ++j)
      imported.records.push_back(RecordOf(name, benchmark.Item("states", j), unknown));
  }
  if (imported.records.empty())
    throw BadInput(where + ": 'benchmarks': expected a benchmark with a state");
  imported.remarks.push_back(
      where + ": nvbench has no FLOPs, and the benchmark's author declares its bytes");
  AddUnknownColumns(unknown, where, imported);
  return imported;
}

}  // namespace dlroof::imports
