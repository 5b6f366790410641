#include "baselines/scale/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "counters/base/error.h"
#include "reporters/text/csv.h"
#include "reporters/text/units.h"

namespace dlroof::scaling {
namespace {

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

// Returns the samples of the node with the most.
double BatchPerNode(double batch, int nodes) { return std::ceil(batch / nodes); }

std::optional<double> StrongSeconds(const ScaledCluster& cluster, double batch, int nodes,
                                    Overlap overlap) {
  const auto layers = LayersAt(*cluster.steps, BatchPerNode(batch, nodes));
  if (!layers) return std::nullopt;
  return SecondsOf(StepOn(cluster, *layers, nodes), overlap);
}

std::string NeverUpTo() { return fmt::format("never up to {} nodes", kMostNodes); }

constexpr double kMostNodesMeasured = 1e6;

constexpr std::array<std::string_view, 3> kScaleColumns = {"nodes", "samples_per_second", "label"};

}  // namespace

double NetworkFloor(const ScaledCluster& cluster) {
  const double bytes = GradientBytes(cluster.steps->at.begin()->second);
  return cluster::AllreduceOf(*cluster.network, cluster.rules.algorithm, 2, bytes).seconds;
}

std::vector<ScaleRow> WeakScaling(const ScaledCluster& cluster, double batch,
                                  const std::vector<int>& nodes) {
  std::vector<ScaleRow> rows;
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return rows;
  const double alone = StepOn(cluster, *layers, 1).bucketed;
  for (const int n : nodes) {
    rows.push_back(RowOf(StepOn(cluster, *layers, n), n, batch, n * batch));
    rows.back().efficiency = alone / rows.back().step.bucketed;
  }
  return rows;
}

std::vector<ScaleRow> StrongScaling(const ScaledCluster& cluster, double batch,
                                    const std::vector<int>& nodes) {
  std::vector<ScaleRow> rows;
  const auto alone = StrongSeconds(cluster, batch, 1, Overlap::kBucketed);
  for (const int n : nodes) {
    const double of_node = BatchPerNode(batch, n);
    const auto layers = LayersAt(*cluster.steps, of_node);
    if (!layers || n > batch) continue;
    rows.push_back(RowOf(StepOn(cluster, *layers, n), n, of_node, batch));
    if (alone) rows.back().efficiency = *alone / (n * rows.back().step.bucketed);
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
  if (!layers) return {.nodes = std::nullopt, .why = "cannot say: this batch was not measured"};
  for (int n = 1; n <= kMostNodes; ++n)
    if (n * batch / SecondsOf(StepOn(cluster, *layers, n), overlap) >= samples_per_second)
      return {.nodes = n, .why = ""};
  return {.nodes = std::nullopt, .why = NeverUpTo()};
}

BreakEven StrongBreakEven(const ScaledCluster& cluster, double batch, double seconds,
                          Overlap overlap) {
  const auto& steps = *cluster.steps;
  const int most = static_cast<int>(std::min<double>(batch, kMostNodes));
  bool all_known = true;
  for (int n = 1; n <= most; ++n) {
    const auto step = StrongSeconds(cluster, batch, n, overlap);
    if (step && *step <= seconds) return {.nodes = n, .why = ""};
    all_known = all_known && step.has_value();
  }
  const double floor = NetworkFloor(cluster);
  // A larger batch than the largest measured one takes no less time.
  const double computing = ComputeSeconds(steps.at.rbegin()->second);
  const bool not_alone = all_known || StrongSeconds(cluster, batch, 1, overlap) ||
                         (batch > static_cast<double>(steps.most_batch()) && computing > seconds);
  if (floor > seconds && not_alone)
    return {.nodes = std::nullopt,
            .why = fmt::format("never: the network's floor is {}", text::WithPrefix(floor, "s"))};
  if (all_known)
    return {.nodes = std::nullopt,
            .why = fmt::format("never: {} samples are too few for more nodes", text::ThreeDigits(batch))};
  return {.nodes = std::nullopt,
          .why = fmt::format("cannot say: batch sizes per node from {} to {} were measured",
                             steps.least_batch(), steps.most_batch())};
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
      throw BadInput("{}: '{}': expected samples per second above 0", text::PlaceOf(samples_field, where),
                     samples_field.text);
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
