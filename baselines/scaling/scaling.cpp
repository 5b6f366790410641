#include "baselines/scaling/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "counters/base/error.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"

namespace dlroof::scaling {
namespace {

// Returns the time [s] from the start of the step to the end of the last bucket's allreduce.
double BucketedSeconds(const std::vector<StepLayer>& layers, const cluster::Network& network,
                       int nodes, double slowest, const StepRules& rules) {
  double now = 0, finished = 0, bucket = 0;  // [s], [s], [byte]
  for (const auto& layer : layers) now += slowest * layer.forward_seconds;
  const auto close = [&] {
    if (bucket == 0) return;
    finished = std::max(now, finished) +
               cluster::AllreduceOf(network, rules.algorithm, nodes, bucket).seconds;
    bucket = 0;
  };
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    now += slowest * layer->backward_seconds;
    bucket += layer->gradient_bytes;
    if (bucket >= rules.bucket_bytes) close();
  }
  close();
  return std::max(now, finished);
}

// A layer without batch size: op, problem, options that do not choose an implementation.
using LayerKey = std::tuple<std::string, std::string, std::vector<std::string>>;

struct TrainedCalls {
  std::map<std::string, record::Timing> by_direction;
};

// Data type and library -> batch size -> layer -> calls.
using Calls = std::map<std::pair<std::string, std::string>,
                       std::map<int64_t, std::map<LayerKey, TrainedCalls>>>;

// Returns the run's timed calls; of several that compute the same, the fastest.
Calls CallsOf(const roofline::PlacedRun& run, const ShapeOf& shape_of,
              const cluster::IsImplementationOption& is_implementation_option) {
  Calls calls;
  for (std::size_t i = 0; i < run.file.records.size(); ++i) {
    const auto& record = run.file.records[i];
    const auto& timing = run.places[i].timing;
    if (record.status != record::Status::kOk || !timing) continue;
    const auto shape = shape_of(record);
    if (!shape) continue;
    auto& by_direction =
        calls[{record.type, record.library}][shape->batch]
             [{record.op, shape->problem,
               cluster::WithoutImplementationOptions(record.options, is_implementation_option)}]
                 .by_direction;
    const auto [found, added] = by_direction.try_emplace(record.direction, *timing);
    if (!added && timing->median < found->second.median) found->second = *timing;
  }
  return calls;
}

// A layer of the model with its key and the size of its gradients.
struct KeyedLayer {
  LayerKey key;
  cluster::VersusLayer layer;
  double gradient_bytes = 0;  // [byte]
};

// Returns the layers in the model's order; layers that differ only in batch size are one.
std::vector<KeyedLayer> KeyedLayers(const cluster::Model& model, const ShapeOf& shape_of,
                                    double gradient_bytes) {
  std::vector<KeyedLayer> keyed;
  std::set<LayerKey> seen;
  for (const auto& layer : model.layers) {
    record::Record record;
    std::tie(record.op, record.problem, record.options) =
        std::tie(layer.op, layer.problem, layer.options);
    const auto shape = shape_of(record);
    const LayerKey key{layer.op, shape ? shape->problem : layer.problem, layer.options};
    if (!seen.insert(key).second) continue;
    keyed.push_back(
        {key, layer, shape ? gradient_bytes * static_cast<double>(shape->parameters) : 0});
  }
  return keyed;
}

// Returns the layer's times in a training step, if known. Gradients may be one call ("bwd") or two.
std::optional<StepLayer> TrainedLayerOf(const TrainedCalls& calls, const KeyedLayer& keyed,
                                        bool& noisy) {
  StepLayer layer{.gradient_bytes = keyed.gradient_bytes};
  bool estimate = false;
  const auto add = [&](const char* direction, double& seconds) {
    const auto found = calls.by_direction.find(direction);
    if (found == calls.by_direction.end()) return false;
    seconds += found->second.median;
    estimate = estimate || found->second.noisy;
    return true;
  };
  const auto& wanted = keyed.layer.directions;
  if (!add("fwd", layer.forward_seconds) && !add("fwd_training", layer.forward_seconds))
    return std::nullopt;
  const bool both = wanted.contains("bwd") || !wanted.contains("bwd_weights");
  bool backward = true;
  if (both || wanted.contains("bwd_data")) backward = add("bwd_data", layer.backward_seconds);
  backward = backward && add("bwd_weights", layer.backward_seconds);
  if (!backward) {
    layer.backward_seconds = 0;
    if (!add("bwd", layer.backward_seconds)) return std::nullopt;
  }
  noisy = noisy || estimate;
  return layer;
}

// The model's layers timed at one batch size; `timed` has an entry for each layer of the model.
struct BatchLayers {
  std::vector<StepLayer> layers;
  std::vector<bool> timed;
  double count = 0;  // [1] timed layers, counting each occurrence
  bool noisy = false;
};

BatchLayers LayersOfBatch(const std::map<LayerKey, TrainedCalls>& calls,
                          const std::vector<KeyedLayer>& keyed) {
  BatchLayers batch;
  for (const auto& one : keyed) {
    const auto found = calls.find(one.key);
    const auto layer =
        found == calls.end() ? std::nullopt : TrainedLayerOf(found->second, one, batch.noisy);
    batch.timed.push_back(layer.has_value());
    if (!layer) continue;
    batch.count += one.layer.count;
    batch.layers.insert(batch.layers.end(), static_cast<std::size_t>(std::llround(one.layer.count)),
                        *layer);
  }
  return batch;
}

// Returns the steps at the batch sizes with the most timed layers; the same layers at each size.
MeasuredSteps StepsOfCalls(const std::map<int64_t, std::map<LayerKey, TrainedCalls>>& calls,
                           const std::vector<KeyedLayer>& keyed) {
  std::map<int64_t, BatchLayers> batches;
  for (const auto& [batch, of_batch] : calls)
    if (auto layers = LayersOfBatch(of_batch, keyed); layers.count > 0)
      batches.emplace(batch, std::move(layers));
  MeasuredSteps steps;
  for (const auto& one : keyed) steps.layers += one.layer.count;
  const auto most =
      std::ranges::max_element(batches, {}, [](const auto& batch) { return batch.second.count; });
  if (most == batches.end()) return steps;
  steps.timed = most->second.count;
  for (std::size_t i = 0; i < keyed.size(); ++i)
    if (!most->second.timed[i]) steps.missing.push_back(keyed[i].layer.problem);
  for (const auto& [batch, layers] : batches) {
    if (layers.timed != most->second.timed) continue;
    steps.at[batch] = layers.layers;
    steps.noisy = steps.noisy || layers.noisy;
  }
  return steps;
}

double SlowestOf(const ScaledCluster& cluster, int nodes) {
  return cluster.node_ratios.empty() ? 1 : ExpectedLargest(cluster.node_ratios, nodes);
}

StepSeconds StepOn(const ScaledCluster& cluster, const std::vector<StepLayer>& layers, int nodes) {
  return SecondsOfStep(layers, *cluster.network, nodes, SlowestOf(cluster, nodes), cluster.rules);
}

ScaleRow RowOf(const StepSeconds& step, int nodes, double batch, double samples) {
  return {.nodes = nodes,
          .batch = batch,
          .step = step,
          .samples_per_second_none = samples / step.none,
          .samples_per_second_bucketed = samples / step.bucketed,
          .samples_per_second_full = samples / step.full};
}

// Returns the number of samples on the node with the most samples.
double BatchPerNode(double batch, int nodes) { return std::ceil(batch / nodes); }

std::optional<double> StrongSeconds(const ScaledCluster& cluster, double batch, int nodes,
                                    Overlap overlap) {
  const auto layers = LayersAt(*cluster.steps, BatchPerNode(batch, nodes));
  if (!layers) return std::nullopt;
  return SecondsOf(StepOn(cluster, *layers, nodes), overlap);
}

BreakEven Without(std::string reason) {
  return {.nodes = std::nullopt, .reason = Reason{std::move(reason)}};
}

constexpr double kMostNodesMeasured = 1e6;

constexpr std::array<std::string_view, 3> kScaleColumns = {"nodes", "samples_per_second", "label"};
}  // namespace

double GradientBytes(const std::vector<StepLayer>& layers) {
  double bytes = 0;
  for (const auto& layer : layers) bytes += layer.gradient_bytes;
  return bytes;
}

double ComputeSeconds(const std::vector<StepLayer>& layers) {
  double seconds = 0;
  for (const auto& layer : layers) seconds += layer.forward_seconds + layer.backward_seconds;
  return seconds;
}

StepSeconds SecondsOfStep(const std::vector<StepLayer>& layers, const cluster::Network& network,
                          int nodes, double slowest, const StepRules& rules) {
  const double bytes = GradientBytes(layers);
  const auto all = cluster::AllreduceOf(network, rules.algorithm, nodes, bytes);
  StepSeconds step{.compute = slowest * ComputeSeconds(layers),
                   .allreduce = all.seconds,
                   .bound = cluster::AllreduceBound(network, nodes, bytes),
                   .algorithm = all.algorithm};
  step.none = step.compute + step.allreduce;
  step.bucketed = BucketedSeconds(layers, network, nodes, slowest, rules);
  step.full = std::max(step.compute, step.allreduce);
  return step;
}

double ExpectedLargest(std::vector<double> measured, int n) {
  std::ranges::sort(measured);
  const auto count = static_cast<double>(measured.size());
  double expected = 0, before = 0;  // probability that the maximum is among the values so far
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double now = std::pow(static_cast<double>(i + 1) / count, n);
    expected += measured[i] * (now - before);
    before = now;
  }
  return expected;
}

std::vector<MeasuredSteps> StepsOf(const roofline::PlacedRun& run, const cluster::Model& model,
                                   const ShapeOf& shape_of,
                                   const cluster::IsImplementationOption& is_implementation_option,
                                   double gradient_bytes) {
  const auto keyed = KeyedLayers(model, shape_of, gradient_bytes);
  std::vector<MeasuredSteps> all;
  for (const auto& [type_and_library, calls] : CallsOf(run, shape_of, is_implementation_option)) {
    auto steps = StepsOfCalls(calls, keyed);
    if (steps.at.empty()) continue;
    steps.model = model.name;
    std::tie(steps.type, steps.library) = type_and_library;
    all.push_back(std::move(steps));
  }
  return all;
}

std::optional<std::vector<StepLayer>> LayersAt(const MeasuredSteps& steps, double batch) {
  const auto above = std::ranges::find_if(
      steps.at, [&](const auto& one) { return static_cast<double>(one.first) >= batch; });
  if (above == steps.at.end()) return std::nullopt;
  if (static_cast<double>(above->first) == batch) return above->second;
  if (above == steps.at.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const double share = (batch - static_cast<double>(below->first)) /
                       static_cast<double>(above->first - below->first);
  auto layers = below->second;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& more = above->second[i];
    layers[i].forward_seconds += share * (more.forward_seconds - layers[i].forward_seconds);
    layers[i].backward_seconds += share * (more.backward_seconds - layers[i].backward_seconds);
  }
  return layers;
}

double NetworkFloor(const ScaledCluster& cluster) {
  const double bytes = GradientBytes(cluster.steps->at.begin()->second);
  return cluster::AllreduceOf(*cluster.network, cluster.rules.algorithm, 2, bytes).seconds;
}

std::vector<ScaleRow> WeakScaling(const ScaledCluster& cluster, double batch,
                                  const std::vector<int>& nodes) {
  std::vector<ScaleRow> rows;
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return rows;
  const double single = StepOn(cluster, *layers, 1).bucketed;
  for (const int n : nodes) {
    rows.push_back(RowOf(StepOn(cluster, *layers, n), n, batch, n * batch));
    rows.back().efficiency = single / rows.back().step.bucketed;
  }
  return rows;
}

std::vector<ScaleRow> StrongScaling(const ScaledCluster& cluster, double batch,
                                    const std::vector<int>& nodes) {
  std::vector<ScaleRow> rows;
  const auto single = StrongSeconds(cluster, batch, 1, Overlap::kBucketed);
  for (const int n : nodes) {
    const double of_node = BatchPerNode(batch, n);
    const auto layers = LayersAt(*cluster.steps, of_node);
    if (!layers || n > batch) continue;
    rows.push_back(RowOf(StepOn(cluster, *layers, n), n, of_node, batch));
    if (single) rows.back().efficiency = *single / (n * rows.back().step.bucketed);
  }
  return rows;
}

std::optional<double> HidingBatch(const ScaledCluster& cluster, double batch) {
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return std::nullopt;
  return 2 * GradientBytes(*layers) / cluster::Bandwidth(*cluster.network) /
         (ComputeSeconds(*layers) / batch);
}

double SecondsOf(const StepSeconds& step, Overlap overlap) {
  if (overlap == Overlap::kNone) return step.none;
  return overlap == Overlap::kBucketed ? step.bucketed : step.full;
}

BreakEven WeakBreakEven(const ScaledCluster& cluster, double batch, double samples_per_second,
                        Overlap overlap) {
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return Without("cannot say: this batch was not measured");
  for (int n = 1; n <= kMostNodes; ++n)
    if (n * batch / SecondsOf(StepOn(cluster, *layers, n), overlap) >= samples_per_second)
      return {.nodes = n, .reason = std::nullopt};
  return Without(fmt::format("never up to {} nodes", kMostNodes));
}

BreakEven StrongBreakEven(const ScaledCluster& cluster, double batch, double seconds,
                          Overlap overlap) {
  const auto& steps = *cluster.steps;
  const int most = static_cast<int>(std::min<double>(batch, kMostNodes));
  bool all_known = true;
  for (int n = 1; n <= most; ++n) {
    const auto step = StrongSeconds(cluster, batch, n, overlap);
    if (step && *step <= seconds) return {.nodes = n, .reason = std::nullopt};
    all_known = all_known && step.has_value();
  }
  const double floor = NetworkFloor(cluster);
  // A batch above the measured batch sizes takes at least as long as the largest measured batch.
  const double computing = ComputeSeconds(steps.at.rbegin()->second);
  const bool single_node_is_slower =
      all_known || StrongSeconds(cluster, batch, 1, overlap) ||
      (batch > static_cast<double>(steps.most_batch()) && computing > seconds);
  if (floor > seconds && single_node_is_slower)
    return Without(fmt::format("never: the network's floor is {}", text::WithPrefix(floor, "s")));
  if (all_known)
    return Without(
        fmt::format("never: {} samples are too few for more nodes", text::ThreeDigits(batch)));
  return Without(fmt::format("cannot say: batch sizes per node from {} to {} were measured",
                             steps.least_batch(), steps.most_batch()));
}

std::vector<MeasuredScale> ReadMeasuredScale(std::string_view text, const std::string& where) {
  const auto rows = text::ReadCsv(text, where);
  if (rows.size() < 2)
    throw BadInput("{}:1: expected a header and a row for each measurement", where);
  const auto columns = text::CsvColumns(rows.front(), kScaleColumns, 2, where);
  const auto label = columns[2];
  std::vector<MeasuredScale> found;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    text::RequireFields(rows[i], rows.front(), where);
    const auto& nodes_field = rows[i][*columns[0]];
    const auto nodes = text::CsvNumber(nodes_field, where).value_or(0);
    if (nodes < 1 || nodes > kMostNodesMeasured || nodes != std::floor(nodes))
      throw BadInput("{}: '{}': expected a number of nodes", text::PlaceOf(nodes_field, where),
                     nodes_field.text);
    const auto& samples_field = rows[i][*columns[1]];
    const auto samples = text::CsvNumber(samples_field, where).value_or(0);
    if (!(samples > 0))
      throw BadInput("{}: '{}': expected samples per second above 0",
                     text::PlaceOf(samples_field, where), samples_field.text);
    found.push_back(
        {static_cast<int>(nodes), samples, label ? rows[i][*label].text : std::string()});
  }
  return found;
}

const ScaleRow* RowOfNodes(const std::vector<ScaleRow>& rows, int nodes) {
  const auto found = std::ranges::find(rows, nodes, &ScaleRow::nodes);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace dlroof::scaling
