// Reads the recordings of raw counter values in tests/data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "counters/base/files.h"
#include "counters/gpu/api.h"

namespace dlroof::fakes {

inline Work RecordedWork(const nlohmann::json& json) {
  Work work{.flops = json.value("flops", std::map<std::string, double>())};
  for (const auto& [key, bytes] : json.value("bytes", std::map<std::string, double>()))
    work.bytes[LevelFromKey(key).value()] = bytes;
  if (json.contains("launches")) work.launches = json.at("launches").get<double>();
  return work;
}

inline gpu::CuptiRecording ReadRecording(const std::string& path) {
  const auto json = nlohmann::json::parse(ReadFile(path, "a recording"));
  gpu::CuptiRecording recording{
      json.at("chip"), json.at("origin"), json.value("failed", std::vector<std::string>()), {}};
  for (const auto& row : json.at("calls")) {
    gpu::RecordedCall& call = recording.calls.emplace_back(
        gpu::RecordedCall{row.at("name"), row.at("pipes"), row.at("values")});
    for (const auto& kernel : row.at("kernels"))
      call.kernels.push_back({.name = kernel.at("name"), .seconds = kernel.at("seconds")});
    if (row.contains("expected")) call.expected = RecordedWork(row.at("expected"));
  }
  return recording;
}

}  // namespace dlroof::fakes
