#include "bench/runner/progress_pipe.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace dlroof::runner {

std::string ProgressLine(const machine::MeasureProgress& progress) {
  const nlohmann::json line = {{"step", progress.step},
                               {"steps", progress.steps},
                               {"text", progress.text},
                               {"eta_seconds", progress.eta_seconds}};
  return line.dump() + '\n';
}

std::optional<machine::MeasureProgress> ParseProgressLine(const std::string& line) {
  const auto read = nlohmann::json::parse(line, nullptr, false);
  try {
    return machine::MeasureProgress{.step = read.at("step"),
                                    .steps = read.at("steps"),
                                    .text = read.at("text"),
                                    .eta_seconds = read.at("eta_seconds")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void WriteProgress(int pipe, const machine::MeasureProgress& progress) {
  const auto line = ProgressLine(progress);
  [[maybe_unused]] const auto written = write(pipe, line.data(), line.size());
}

}  // namespace dlroof::runner
