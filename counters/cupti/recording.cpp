#include "counters/cupti/recording.h"

#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"

namespace dlroof::cupti {
namespace {

nlohmann::json WorkJson(const Work& work) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [pipe, flops] : work.flops) json["flops"][pipe] = flops;
  for (const auto& [level, bytes] : work.bytes) json["bytes"][std::string(Key(level))] = bytes;
  if (work.launches) json["launches"] = *work.launches;
  return json;
}

std::map<std::string, double> Numbers(const JsonReader& object) {
  std::map<std::string, double> numbers;
  for (const auto& [key, value] : object.json().items()) numbers[key] = object.Number(key.c_str());
  return numbers;
}

Work WorkFrom(const JsonReader& json) {
  Work work;
  if (json.Has("flops"))
    for (const auto& [pipe, flops] : Numbers(json.Object("flops"))) {
      if (!IsPipeKey(pipe)) throw BadInput("{}: no pipe '{}'", json.where(), pipe);
      work.flops[pipe] = flops;
    }
  if (json.Has("bytes"))
    for (const auto& [key, bytes] : Numbers(json.Object("bytes"))) {
      const auto level = LevelFromKey(key);
      if (!level) throw BadInput("{}: no level '{}'", json.where(), key);
      work.bytes[*level] = bytes;
    }
  work.launches = json.OptionalNumber("launches");
  return work;
}

bool IsQuantity(const nlohmann::json& json) {
  if (!json.is_string()) return false;
  const auto key = json.get<std::string>();
  return IsPipeKey(key) || LevelFromKey(key) || key == "launches";
}

RecordedCall CallFrom(const JsonReader& row) {
  RecordedCall call{.name = row.Text("name"),
                    .passes = static_cast<int>(row.OptionalNumber("passes").value_or(0)),
                    .origin = row.TextOr("origin", "")};
  for (const auto& pipe : row.Array("pipes")) {
    if (!pipe.is_string() || !IsPipeKey(pipe.get<std::string>())) row.Refuse("pipes", "pipes");
    call.pipes.push_back(pipe.get<std::string>());
  }
  call.values = Numbers(row.Object("values"));
  for (size_t i = 0; i < row.Array("kernels").size(); ++i) {
    const auto kernel = row.Item("kernels", i);
    call.kernels.push_back(
        {kernel.Text("name"), kernel.Number("seconds"), kernel.OptionalNumber("start")});
  }
  if (row.Has("expected")) call.expected = WorkFrom(row.Object("expected"));
  return call;
}

}  // namespace

nlohmann::json ToJson(const CuptiRecording& recording) {
  nlohmann::json json = {
      {"chip", recording.chip}, {"origin", recording.origin}, {"calls", nlohmann::json::array()}};
  if (!recording.failed.empty()) json["failed"] = recording.failed;
  for (const auto& call : recording.calls) {
    nlohmann::json row = {{"name", call.name},
                          {"pipes", call.pipes},
                          {"values", call.values},
                          {"kernels", nlohmann::json::array()}};
    for (const auto& kernel : call.kernels) {
      row["kernels"].push_back({{"name", kernel.name}, {"seconds", kernel.seconds}});
      if (kernel.start_seconds) row["kernels"].back()["start"] = *kernel.start_seconds;
    }
    if (call.expected) row["expected"] = WorkJson(*call.expected);
    if (call.passes > 0) row["passes"] = call.passes;
    if (!call.origin.empty()) row["origin"] = call.origin;
    json["calls"].push_back(std::move(row));
  }
  return json;
}

CuptiRecording CuptiRecordingFromJson(const nlohmann::json& json, const std::string& where) {
  const JsonReader file(json, where);
  CuptiRecording recording{file.Text("chip"), file.Text("origin"), {}, {}};
  if (file.Has("failed"))
    for (const auto& quantity : file.Array("failed")) {
      if (!IsQuantity(quantity)) file.Refuse("failed", "pipes, levels, or launches");
      recording.failed.push_back(quantity.get<std::string>());
    }
  for (size_t i = 0; i < file.Array("calls").size(); ++i)
    recording.calls.push_back(CallFrom(file.Item("calls", i)));
  return recording;
}

}  // namespace dlroof::cupti
