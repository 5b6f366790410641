#include "bench/model/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::model {
namespace {

void RequireGpu(const machine::Machine& machine) {
  if (machine.device != "gpu")
    throw BadInput("the machine file is of a {} ('{}'), expected ceilings of a gpu", machine.device,
                   machine.name);
}

const machine::Machine* GpuOf(const record::RunFile& run) {
  const auto found = std::ranges::find(run.machines, "gpu", &machine::Machine::device);
  return found == run.machines.end() ? nullptr : &*found;
}

// Returns the built-in key of a measured GPU. Throws BadInput with `where` if there is none.
std::string NameOf(const machine::Machine& machine, const std::string& where) {
  const auto name = conv2d::BuiltInGpuOf(machine.name);
  if (!name)
    throw BadInput("{}: no built-in parameters for '{}'; give --gpu a name or a parameter file",
                   where, machine.name);
  return *name;
}

void RequireSameGpu(const std::string& gpu, const machine::Machine& machine) {
  const auto is_gpu = [&](const auto& known) { return known.name == gpu; };
  if (std::ranges::none_of(delta::BuiltInGpus(), is_gpu) ||
      conv2d::BuiltInGpuOf(machine.name) == gpu)
    return;
  throw BadInput(
      "--machine: the ceilings are those of '{}', not of {}; give --gpu the name or a parameter "
      "file of that GPU",
      machine.name, gpu);
}

}  // namespace

delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine) {
  RequireGpu(machine);
  if (machine.by_threads.empty()) return gpu;
  const auto& set = machine::AllThreads(machine);
  // `how` is the source of a specified rate, from the machine file.
  const bool specified = machine_file::IsSpecified(machine);
  const auto take = [&](const std::string& key, double& value, double rate,
                        const std::string& how) {
    value = rate;
    gpu.sources[key] = !specified
                           ? fmt::format("measured on {}, {}", machine.name, machine.measured_at)
                       : how.empty() ? fmt::format("given for {}, not measured", machine.name)
                                     : how;
  };
  for (auto& [type, macs] : gpu.macs_per_clock) {
    const auto pipe = set.flops.find(delta::PipeOf(type, gpu));
    if (pipe != set.flops.end() && pipe->second.AllowsPercentages())
      take(fmt::format("macs_per_clock_{}", type), macs,
           pipe->second.per_second / 2 / gpu.sms / gpu.clock_hz, pipe->second.how);
  }
  for (const auto& [level, ceiling] : set.bytes) {
    if (!ceiling.AllowsPercentages()) continue;
    if (level == Level::kDram)
      take("dram_bytes_per_second", gpu.dram_bytes_per_second, ceiling.per_second, ceiling.how);
    if (level == Level::kL2)
      take("l2_bytes_per_second", gpu.l2_bytes_per_second, ceiling.per_second, ceiling.how);
    if (level == Level::kL1)
      take("l1_bytes_per_clock", gpu.l1_bytes_per_clock,
           ceiling.per_second / gpu.sms / gpu.clock_hz, ceiling.how);
  }
  const auto launch = set.costs_how.find("launch");
  if (set.launch_seconds)
    take("launch_seconds", gpu.launch_seconds, *set.launch_seconds,
         launch == set.costs_how.end() ? "" : launch->second);
  return gpu;
}

delta::GpuSpec ChosenGpu(const GpuChoice& choice) {
  if (choice.machine != nullptr) RequireGpu(*choice.machine);
  const machine::Machine* measured = choice.machine;
  std::string name = choice.gpu.value_or("");
  if (name.empty() && choice.run != nullptr) {
    const machine::Machine* ran = GpuOf(*choice.run);
    if (ran == nullptr)
      throw BadInput("{}: does not say which GPU ran it; give --gpu a name or a parameter file",
                     choice.run_path);
    name = NameOf(*ran, choice.run_path);
    if (measured == nullptr) measured = ran;
  } else if (name.empty()) {
    name = measured == nullptr ? "v100" : NameOf(*measured, "--machine");
  }
  auto gpu = delta::FindGpu(name);
  if (measured == nullptr) return gpu;
  RequireSameGpu(name, *measured);
  return WithCeilings(std::move(gpu), *measured);
}

namespace {

double Number(std::string_view text, const std::string& whole) {
  if (const auto value = ParseNumber<double>(text)) return *value;
  throw BadInput("'{}': expected a number, got '{}'", whole, text);
}

delta::CtaTile ParseTile(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const auto part : logs::SplitText(text, 'x')) {
    const double value = Number(part, "tile=" + text);
    const bool allowed = value >= 16 && value <= 512 && std::fmod(value, 8) == 0;
    sizes.push_back(allowed ? static_cast<int64_t>(value) : 0);
  }
  if (sizes.size() != 2 || std::ranges::count(sizes, 0) > 0)
    throw BadInput("tile={}: expected MxN, multiples of 8 from 16 to 512", text);
  return {.m = sizes[0], .n = sizes[1]};
}

// Splits e.g. "dram=2" into "dram" and "2".
std::pair<std::string, std::string> Assignment(std::string_view text, const char* expected) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw BadInput("'{}': expected {}", text, expected);
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

double CallSeconds(const delta::ConvPrediction& prediction, const delta::GpuSpec& gpu) {
  return std::max(prediction.time.seconds, gpu.launch_seconds);
}

PredictedLayer PredictLayer(const ModelLayer& layer, const Design& design) try {
  delta::ConvQuestion question = layer.question;
  PredictedLayer predicted{layer, delta::PredictConv(question, design.gpu), 0};
  predicted.seconds = CallSeconds(predicted.prediction, design.gpu);
  if (!design.tile) return predicted;
  question.tile = design.tile;
  auto other = delta::PredictConv(question, design.gpu);
  const double seconds = CallSeconds(other, design.gpu);
  if (seconds < predicted.seconds) predicted = {layer, std::move(other), seconds};
  return predicted;
} catch (const BadInput& error) {
  throw BadInput("{}: {}", layer.name, error.what());
}

std::vector<double> Factors(const std::string& text) {
  const auto parts = logs::SplitText(text, ':');
  if (parts.size() != 3) throw BadInput("'{}': expected FIRST:LAST:STEP such as 1:4:0.5", text);
  const double first = Number(parts[0], text), last = Number(parts[1], text);
  const double step = Number(parts[2], text);
  constexpr double kMaxValues = 64;
  if (!(step > 0) || !(last >= first) || !((last - first) / step < kMaxValues))
    throw BadInput(
        "'{}': expected a first value not above the last, a positive step, {} values at most", text,
        kMaxValues);
  // Computes the count first: adding a tiny step to a large factor would never reach the end.
  const int count = static_cast<int>((last - first) / step + 1e-9) + 1;
  std::vector<double> factors;
  for (int i = 0; i < count; ++i) factors.push_back(first + i * step);
  return factors;
}

DesignPoint PointOf(const LayerGroup& group, const Design& design, double base_seconds,
                    std::vector<double> factors) {
  const auto predicted = Predict(group, design);
  return {std::move(factors), base_seconds / predicted.seconds, MainBottleneck(predicted)};
}

Design WithFactor(Design design, const std::string& resource, double factor) {
  design.gpu = delta::Scaled(design.gpu, resource, factor);
  return design;
}

// Returns summarize(|Residuals| of the layers) by key.
template <class Summarize>
std::map<std::string, double> OfAbsoluteResiduals(const PredictedGroup& group,
                                                  Summarize summarize) {
  std::map<std::string, std::vector<double>> errors;
  for (const auto& layer : group.layers)
    for (const auto& [key, residual] : Residuals(layer)) errors[key].push_back(std::abs(residual));
  std::map<std::string, double> found;
  for (const auto& [key, values] : errors) found[key] = summarize(values);
  return found;
}

}  // namespace

Design Rescaled(const Design& design, const std::string& scales) {
  Design scaled = design;
  scaled.name = scales;
  std::set<std::string> seen;
  for (const auto part : logs::SplitText(scales, ',')) {
    const auto [resource, value] =
        Assignment(part, "RESOURCE=FACTOR such as dram=1.5, or tile=256x128");
    if (!seen.insert(resource).second) throw BadInput("'{}': {} is repeated", scales, resource);
    if (resource == "tile")
      scaled.tile = ParseTile(value);
    else
      scaled.gpu = delta::Scaled(scaled.gpu, resource, Number(value, std::string(part)));
  }
  return scaled;
}

LayerGroup OnlyPredicted(const LayerGroup& group, const delta::GpuSpec& gpu) {
  LayerGroup predicted{group.name, {}, group.not_predicted};
  for (const auto& layer : group.layers) {
    if (auto reason = delta::RefusalReason(layer.question, gpu))
      predicted.not_predicted.push_back({layer.name, std::move(reason->text)});
    else
      predicted.layers.push_back(layer);
  }
  if (predicted.layers.empty())
    throw BadInput("{}: none of its GPU convolutions can be predicted; {}: {}", group.name,
                   predicted.not_predicted.at(0).name, predicted.not_predicted.at(0).reason);
  return predicted;
}

PredictedGroup Predict(const LayerGroup& group, const Design& design) {
  PredictedGroup predicted{group.name, {}, 0, {}, group.not_predicted};
  for (const auto& layer : group.layers) {
    auto placed = PredictLayer(layer, design);
    predicted.seconds += layer.count * placed.seconds;
    predicted.bound_seconds[placed.prediction.time.bottleneck] += layer.count * placed.seconds;
    predicted.layers.push_back(std::move(placed));
  }
  return predicted;
}

void SetPredictions(const PredictedGroup& group, const delta::GpuSpec& gpu, record::RunFile& file) {
  std::map<std::string, const PredictedLayer*> layer_of;
  for (const auto& layer : group.layers) layer_of[layer.layer.name] = &layer;
  for (auto& record : file.records) {
    const auto found = layer_of.find(record.name);
    if (found == layer_of.end()) continue;
    const PredictedLayer& layer = *found->second;
    record.prediction = record::Prediction{
        layer.seconds, delta::ModelledWork(layer.layer.question, layer.prediction, gpu).bytes,
        delta::HowModelled(layer.prediction, gpu)};
  }
}

delta::Bottleneck MainBottleneck(const PredictedGroup& group) {
  return std::ranges::max_element(group.bound_seconds,
                                  [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::vector<Gain> GainsOfDoubling(const LayerGroup& group, const Design& design) {
  const double base = Predict(group, design).seconds;
  std::vector<Gain> gains;
  for (const auto resource : delta::ScalableResources()) {
    const std::string name(resource);
    gains.push_back({name, base / Predict(group, WithFactor(design, name, 2)).seconds});
  }
  std::ranges::stable_sort(gains, std::ranges::greater{}, &Gain::speedup);
  return gains;
}

std::vector<SweepAxis> ParseSweep(const std::string& text) {
  std::vector<SweepAxis> axes;
  for (const auto part : logs::SplitText(text, ',')) {
    const auto [resource, values] = Assignment(part, "RESOURCE=FIRST:LAST:STEP such as dram=1:4:1");
    const auto& known = delta::ScalableResources();
    if (std::ranges::count(known, resource) == 0)
      delta::Scaled(delta::GpuSpec{}, resource, 1);  // throws with a list of known resources
    axes.push_back({resource, Factors(values)});
  }
  if (axes.size() > 2 || (axes.size() == 2 && axes[0].resource == axes[1].resource))
    throw BadInput("'{}': expected one resource or two different ones", text);
  return axes;
}

std::vector<DesignPoint> Sweep(const LayerGroup& group, const Design& design,
                               const std::vector<SweepAxis>& axes) {
  const double base = Predict(group, design).seconds;
  std::vector<DesignPoint> points;
  for (const double first : axes.at(0).factors) {
    const Design varied = WithFactor(design, axes[0].resource, first);
    if (axes.size() == 1) {
      points.push_back(PointOf(group, varied, base, {first}));
      continue;
    }
    for (const double second : axes[1].factors)
      points.push_back(
          PointOf(group, WithFactor(varied, axes[1].resource, second), base, {first, second}));
  }
  return points;
}

std::map<std::string, double> Residuals(const PredictedLayer& layer) {
  std::map<std::string, double> residuals;
  if (layer.layer.measured_seconds)
    residuals["time"] = layer.seconds / *layer.layer.measured_seconds - 1;
  const auto bytes = delta::KnownBytes(layer.prediction);
  for (const auto& [level, measured] : layer.layer.measured_bytes)
    if (const auto found = bytes.find(level); found != bytes.end() && measured > 0)
      residuals[std::string(Key(level))] = found->second / measured - 1;
  return residuals;
}

std::map<std::string, double> MeanAbsoluteResiduals(const PredictedGroup& group) {
  return OfAbsoluteResiduals(group, [](const std::vector<double>& errors) {
    return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  });
}

std::map<std::string, double> MedianAbsoluteResiduals(const PredictedGroup& group) {
  return OfAbsoluteResiduals(group, Median);
}

namespace {

// Returns the layer, with the chosen batch size checked by parsing the problem's new text.
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
  if (const auto timing = record::Summarize(record.repetitions))
    layer.measured_seconds = timing->median;
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
  if (suites.empty()) return groups;
  for (const auto& suite : suites::SelectSuites(suites, {}, "--suite"))
    groups.push_back(LayersOf(suite, choice));
  return groups;
}

LayerGroup LayersOfRunFile(const record::RunFile& file, const std::string& path) {
  LayerGroup group{path, {}, {}};
  for (const auto& record : file.records) {
    if (record.op != "Conv2D" || record.device != "gpu" || record.status != record::Status::kOk)
      continue;
    try {
      group.layers.push_back(LayerOf(record));
    } catch (const BadInput& error) {
      group.not_predicted.push_back({record.name, error.what()});
    }
  }
  if (group.layers.empty() && group.not_predicted.empty())
    throw BadInput(path + ": the file has no convolution of a GPU that the model can predict");
  return group;
}

}  // namespace dlroof::model
