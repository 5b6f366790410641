#include <algorithm>
#include <set>

#include "bench/conv2d/delta.h"
#include "bench/predict/study.h"
#include "bench/suites/suite_selection.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"

namespace dlroof::predict {
namespace {

// Checked like a problem that was written with that batch.
ModelLayer LayerOf(conv2d::Conv2dProblem problem, const LayerChoice& choice) {
  if (choice.batch) {
    problem.n = *choice.batch;
    problem = conv2d::ParseConv2d(conv2d::ToText(problem));
  }
  ModelLayer layer{.name = conv2d::ToText(problem)};
  layer.question.layer = {problem, choice.direction, choice.layout};
  layer.question.type = choice.type;
  return layer;
}

LayerGroup LayersOf(const suites::Suite& suite, const LayerChoice& choice) {
  LayerGroup group{suite.name, {}, {}};
  std::set<std::string> seen;
  for (const auto& [text, count] : suite.layers) {
    const auto name = workload::ParseBenchmarkName(text);
    if (name.op != "Conv2D" || name.direction != Key(choice.direction)) continue;
    if (!seen.insert(name.problem).second) continue;
    group.layers.push_back(LayerOf(conv2d::ParseConv2d(name.problem), choice));
    group.layers.back().count = static_cast<double>(count);
  }
  if (group.layers.empty())
    throw BadInput("suite '{}' has no convolution of direction {}", suite.name,
                   Key(choice.direction));
  return group;
}

ModelLayer LayerOf(const record::Record& record) {
  LayerChoice choice;
  const auto direction = ProductDirectionFromKey(record.direction);
  if (!direction) throw BadInput("no direction '{}'", record.direction);
  choice.direction = *direction;
  choice.type = record.type;
  choice.layout = conv2d::GpuLayout(record.library, record.options);
  ModelLayer layer = LayerOf(conv2d::ParseConv2d(record.problem), choice);
  layer.name = record.name;
  layer.question.kernel = record.algorithm;
  for (const auto& kernel : record.kernels) layer.question.kernel += ", " + kernel.name;
  if (const auto timing = record::Summarize(record.repetitions)) layer.measured_seconds = timing->median;
  if (const auto work = record.work.find(Provenance::kMeasured); work != record.work.end())
    layer.measured_bytes = work->second.bytes;
  return layer;
}

}  // namespace

LayerGroup LayersOfProblem(const std::string& text, const LayerChoice& choice) {
  return LayerGroup{text, {LayerOf(conv2d::ParseConv2d(text), choice)}, {}};
}

std::vector<LayerGroup> LayersOfSuites(const std::vector<std::string>& suites,
                                       const LayerChoice& choice) {
  std::vector<LayerGroup> groups;
  for (const auto& suite : suites::SelectSuites(suites, {}, "--suite")) {
    // A file comes beside the default suites, which nobody asked the model for.
    const bool asked = std::ranges::any_of(suites, [&](const std::string& value) {
      return ("," + value + ",").find("," + suite.name + ",") != std::string::npos;
    });
    if (asked) groups.push_back(LayersOf(suite, choice));
  }
  return groups;
}

LayerGroup LayersOfRunFile(const record::RunFile& file, const std::string& path) {
  LayerGroup group{path, {}, {}};
  for (const auto& record : file.records) {
    if (record.op != "Conv2D" || record.device != "gpu" || record.status != record::Status::kOk) continue;
    try {
      group.layers.push_back(LayerOf(record));
    } catch (const BadInput& error) {
      group.not_predicted.push_back({record.name, error.what()});
    }
  }
  if (group.layers.empty() && group.not_predicted.empty())
    throw BadInput(path + ": no convolution of a GPU in it that the model could predict");
  return group;
}

}  // namespace dlroof::predict
