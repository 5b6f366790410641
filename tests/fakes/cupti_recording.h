// Reads the recordings of raw counter values in tests/data.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/files.h"
#include "counters/gpu/api.h"

namespace dlroof::fakes {

struct RecordedCall {
  std::string name;
  std::vector<std::string> pipes;        // pipes that the call uses
  std::map<std::string, double> values;  // by metric
  std::vector<gpu::TracedKernel> kernels;
  std::optional<Work> expected;  // the call's work, if it is known
};

struct CuptiRecording {
  std::string chip;    // "GH100"
  std::string origin;  // GPU, driver, CUPTI and date, or a publication
  // Quantities ("fp32.vector", "dram", "launches") whose counters failed the self-test on this
  // hardware. `calls` contains their values, which are wrong.
  std::vector<std::string> failed;
  std::vector<RecordedCall> calls;
};

inline Work RecordedWork(const nlohmann::json& json) {
  Work work{.flops = json.value("flops", std::map<std::string, double>())};
  for (const auto& [key, bytes] : json.value("bytes", std::map<std::string, double>()))
    work.bytes[LevelFromKey(key).value()] = bytes;
  if (json.contains("launches")) work.launches = json.at("launches").get<double>();
  return work;
}

inline CuptiRecording ReadRecording(const std::string& path) {
  const auto json = nlohmann::json::parse(ReadFile(path, "a recording"));
  CuptiRecording recording{
      json.at("chip"), json.at("origin"), json.value("failed", std::vector<std::string>()), {}};
  for (const auto& row : json.at("calls")) {
    RecordedCall& call = recording.calls.emplace_back(
        RecordedCall{row.at("name"), row.at("pipes"), row.at("values")});
    for (const auto& kernel : row.at("kernels"))
      call.kernels.push_back({.name = kernel.at("name"), .seconds = kernel.at("seconds")});
    if (row.contains("expected")) call.expected = RecordedWork(row.at("expected"));
  }
  return recording;
}

}  // namespace dlroof::fakes
