#include "bench/cluster_run/scale_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <tuple>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/network_file.h"
#include "baselines/cluster/node_effects.h"
#include "baselines/scaling/write_scale.h"
#include "bench/suites/suite_selection.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/record/run_file.h"

namespace dlroof::cluster_run {

bool IsMannerOption(std::string_view option) {
  if (option == "best" || option.starts_with("engine") || option.starts_with("threads"))
    return true;
  return std::ranges::any_of(workload::AllOps(), [&](const workload::Op* op) {
    return std::ranges::any_of(op->variants, [&](const workload::OpVariants& variants) {
      return std::ranges::find(variants.options, option) != variants.options.end();
    });
  });
}

std::vector<cluster::Model> ModelsOfSuites(const std::vector<std::string>& suites,
                                           const cluster::VersusCluster& a,
                                           const cluster::VersusCluster& b) {
  if (suites.empty()) return cluster::ModelsIn(a, b, IsMannerOption);
  std::vector<cluster::Model> models;
  for (const auto& suite : suites::SelectSuites(suites, {.cpu = true, .gpu = true}, "--suite")) {
    std::vector<std::pair<std::string, double>> names;
    for (const auto& layer : suite.layers)
      names.emplace_back(layer.name, static_cast<double>(layer.count));
    models.push_back(cluster::ModelFromNames(suite.name, names, IsMannerOption));
  }
  return models;
}

std::optional<scaling::LayerShape> ShapeOfRecord(const record::Record& record) {
  const auto* op = workload::FindOp(record.op);
  if (op == nullptr || !op->trained || !op->with_batch) return std::nullopt;
  const workload::BenchmarkName name{.op = record.op,
                                     .device = record.device,
                                     .library = record.library,
                                     .direction = record.direction,
                                     .type = record.type,
                                     .problem = record.problem,
                                     .options = record.options};
  try {
    const auto trained = op->trained(name);
    return scaling::LayerShape{trained.batch, trained.parameters, op->with_batch(name, 1)};
  } catch (const BadInput&) {  // not a name of a dlroof benchmark
  } catch (const Unsupported&) {
  }
  return std::nullopt;
}

std::optional<int> DevicesPerNode(const record::RunFile& file) {
  const auto& count = record::Member(record::Member(file.context, "dlroof"), "devices_per_node");
  if (count.is_number_integer() && count.get<int>() >= 1) return count.get<int>();
  return std::nullopt;
}

namespace {

// Measured results: a run of one node, or the nodes of a cluster file.
struct ScaleSource {
  cluster::VersusCluster cluster;
  std::vector<double> node_ratios;
};

ScaleSource ReadSource(const std::string& paths) {
  std::vector<std::pair<std::string, record::RunFile>> files;
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ',');)
    files.emplace_back(path, record::ReadRunFile(path, std::cerr));
  if (files.empty()) throw BadInput("cluster scale: expected a run file, not ''");
  ScaleSource source;
  const bool several_nodes =
      files.size() == 1 &&
      record::Member(record::Member(files.front().second.context, "dlroof"), "cluster").is_number();
  if (several_nodes) {
    const auto cluster = cluster::ReadClusterFile(paths);
    for (const auto& effect : cluster::MakeNodeEffects(cluster).nodes)
      source.node_ratios.push_back(effect.ratio);
  }
  auto run =
      files.size() == 1 ? std::move(files.front().second) : record::JoinedRun(std::move(files));
  cluster::UseTimes(cluster::CallTime::kThroughput, run);
  const auto devices = DevicesPerNode(run);
  source.cluster = {.where = paths,
                    .run = roofline::PlaceRun(std::move(run)),
                    .devices = devices.value_or(1),
                    .devices_known = devices.has_value()};
  return source;
}

// Returns the DRAM roof [byte/s] of the run's first machine at its largest number of threads.
std::optional<double> DramRoof(const record::RunFile& file) {
  if (file.machines.empty() || file.machines.front().by_threads.empty()) return std::nullopt;
  const auto& bytes = file.machines.front().by_threads.rbegin()->second.bytes;
  const auto dram = bytes.find(Level::kDram);
  return dram == bytes.end() ? std::nullopt : std::optional(dram->second.per_second);
}

// Returns the models to scale. Models whose names differ only in " batch N" are one model.
std::vector<cluster::Model> ModelsToScale(const ScaleFlags& flags,
                                          const cluster::VersusCluster& cluster) {
  std::vector<cluster::Model> models;
  for (auto& model : ModelsOfSuites(flags.suites, cluster, cluster)) {
    model.name = model.name.substr(0, model.name.find(" batch "));
    const auto known = std::ranges::find(models, model.name, &cluster::Model::name);
    if (known == models.end()) models.push_back(std::move(model));
  }
  if (models.empty())
    throw BadInput("{}: names no model; expected --suite NAME, such as --suite resnet50",
                   cluster.where);
  return models;
}

// A layer without its batch size: operator, problem, options.
using BatchlessLayer = std::tuple<std::string, std::string, std::vector<std::string>>;

BatchlessLayer WithoutBatch(const cluster::VersusLayer& layer) {
  record::Record record;
  std::tie(record.op, record.problem, record.options) =
      std::tie(layer.op, layer.problem, layer.options);
  const auto shape = ShapeOfRecord(record);
  return {layer.op, shape ? shape->problem : layer.problem, layer.options};
}

// Removes the layers with these problems, for every batch size.
cluster::Model WithoutLayers(cluster::Model model, const std::vector<std::string>& problems) {
  std::set<BatchlessLayer> removed;
  for (const auto& layer : model.layers)
    if (std::ranges::find(problems, layer.problem) != problems.end())
      removed.insert(WithoutBatch(layer));
  std::erase_if(model.layers,
                [&](const auto& layer) { return removed.contains(WithoutBatch(layer)); });
  return model;
}

bool Wanted(const ScaleFlags& flags, const scaling::MeasuredSteps& steps) {
  return flags.type.value_or(steps.type) == steps.type &&
         flags.library.value_or(steps.library) == steps.library;
}

// Returns the training steps of data type `type` with the most timed layers, the fastest among
// equals. Returns null if there are no steps of the type.
const scaling::MeasuredSteps* FastestOf(const std::vector<scaling::MeasuredSteps>& all,
                                        const std::string& type) {
  const scaling::MeasuredSteps* best = nullptr;
  const auto seconds = [](const scaling::MeasuredSteps& steps) {
    return scaling::ComputeSeconds(steps.at.rbegin()->second) /
           static_cast<double>(steps.most_batch());
  };
  for (const auto& steps : all) {
    if (steps.type != type) continue;
    if (best == nullptr || steps.timed > best->timed ||
        (steps.timed == best->timed && seconds(steps) < seconds(*best)))
      best = &steps;
  }
  return best;
}

// The cluster to compare with.
struct ScaleOpponent {
  ScaleSource source;
  cluster::Network network;
};

std::optional<scaling::MeasuredSteps> StepsOfLibrary(std::vector<scaling::MeasuredSteps> all,
                                                     const scaling::MeasuredSteps& like) {
  for (auto& steps : all)
    if (steps.type == like.type && steps.library == like.library) return std::move(steps);
  return std::nullopt;
}

// Returns the training steps of both clusters with the layers that both have timed, if any.
std::optional<std::pair<scaling::MeasuredSteps, scaling::MeasuredSteps>> CommonSteps(
    const cluster::Model& model, const cluster::VersusCluster& a, const cluster::VersusCluster& b,
    const scaling::MeasuredSteps& of_a, double parameter_bytes) {
  const auto steps_of = [&](const cluster::VersusCluster& cluster, const cluster::Model& of) {
    return scaling::StepsOf(cluster.run, of, ShapeOfRecord, IsMannerOption, parameter_bytes);
  };
  const auto all_b = steps_of(b, model);
  const auto* of_b = FastestOf(all_b, of_a.type);
  if (of_b == nullptr) return std::nullopt;
  const auto common = WithoutLayers(WithoutLayers(model, of_a.missing), of_b->missing);
  auto left = StepsOfLibrary(steps_of(a, common), of_a);
  auto right = StepsOfLibrary(steps_of(b, common), *of_b);
  if (!left || !right || left->timed != left->layers || right->timed != right->layers)
    return std::nullopt;
  for (auto* steps : {&*left, &*right}) steps->layers = of_a.layers;
  for (const auto& layer : model.layers)
    if (std::ranges::find(common.layers, layer.problem, &cluster::VersusLayer::problem) ==
        common.layers.end())
      left->missing.push_back(layer.problem);
  return std::pair(std::move(*left), std::move(*right));
}

double BatchOf(const std::optional<double>& requested, const scaling::MeasuredSteps& steps) {
  return requested && scaling::LayersAt(steps, *requested)
             ? *requested
             : static_cast<double>(steps.most_batch());
}

// Returns `nodes` and the numbers of nodes at a break-even that are among or just beyond them.
std::vector<int> WithBreakEven(
    std::vector<int> nodes,
    const std::vector<std::pair<std::string, scaling::BreakEven>>& results) {
  std::set<int> all(nodes.begin(), nodes.end());
  for (const auto& [overlap, result] : results)
    if (result.nodes) all.insert(*result.nodes);
  return {all.begin(), all.end()};
}

void AddFigureRows(const ScaleFlags& flags, const scaling::ScaledCluster& ours, double batch,
                   const scaling::ScaledCluster& other, scaling::ScaleGoal& goal) {
  const auto nodes = ReadNodeCounts(flags.nodes);
  const double samples = goal.nodes * goal.batch;
  goal.ours_weak = scaling::WeakScaling(ours, batch, WithBreakEven(nodes, goal.weak));
  goal.ours_strong = scaling::StrongScaling(ours, samples, WithBreakEven(nodes, goal.strong));
  goal.theirs_weak = scaling::WeakScaling(other, goal.batch, nodes);
  goal.theirs_strong = scaling::StrongScaling(other, samples, nodes);
  if (const double floor = scaling::NetworkFloor(ours); floor > 0) goal.floor_seconds = floor;
}

scaling::ScaleGoal GoalOf(const ScaleFlags& flags, const scaling::ScaledCluster& ours, double batch,
                          const ScaleOpponent& opponent, const scaling::MeasuredSteps& theirs) {
  const scaling::ScaledCluster other{&theirs, &opponent.network, opponent.source.node_ratios,
                                     ours.rules};
  scaling::ScaleGoal goal{
      .nodes = flags.against_nodes,
      .batch = BatchOf(flags.batch_per_node, theirs),
      .where = fmt::format("{}, {}", opponent.source.cluster.where, theirs.library),
      .library = theirs.library,
      .network = cluster::NetworkText(opponent.network)};
  const auto rows = scaling::WeakScaling(other, goal.batch, {goal.nodes});
  goal.step = rows.front().step;
  const double samples = goal.nodes * goal.batch;
  for (const auto& [name, overlap] : {std::pair("no overlap", scaling::Overlap::kNone),
                                      {"bucketed", scaling::Overlap::kBucketed},
                                      {"full", scaling::Overlap::kFull}}) {
    const double seconds = scaling::SecondsOf(goal.step, overlap);
    goal.weak.emplace_back(name, scaling::WeakBreakEven(ours, batch, samples / seconds, overlap));
    goal.strong.emplace_back(name, scaling::StrongBreakEven(ours, samples, seconds, overlap));
  }
  AddFigureRows(flags, ours, batch, other, goal);
  return goal;
}

scaling::ScaleCase CaseOf(const ScaleFlags& flags, const cluster::Network& network,
                          const scaling::ScaleReport& report, scaling::MeasuredSteps steps,
                          const scaling::MeasuredSteps* theirs, const ScaleOpponent* opponent) {
  scaling::ScaleCase one{.steps = std::move(steps)};
  const scaling::ScaledCluster cluster{&one.steps, &network, report.node_ratios, report.rules};
  const auto nodes = ReadNodeCounts(flags.nodes);
  if (flags.batch_per_node && !scaling::LayersAt(one.steps, *flags.batch_per_node))
    throw BadInput("--batch-per-node={:g}: {} of {} has times from {} to {} samples",
                   *flags.batch_per_node, one.steps.type, one.steps.model, one.steps.least_batch(),
                   one.steps.most_batch());
  one.batch = BatchOf(flags.batch_per_node, one.steps);
  one.weak = scaling::WeakScaling(cluster, one.batch, nodes);
  one.hiding_batch = scaling::HidingBatch(cluster, one.batch);
  if (flags.batch_of_all)
    one.batch_of_all = *flags.batch_of_all;
  else if (one.steps.at.size() > 1)
    one.batch_of_all = static_cast<double>(one.steps.most_batch());
  if (one.batch_of_all) one.strong = scaling::StrongScaling(cluster, *one.batch_of_all, nodes);
  if (theirs != nullptr) one.goal = GoalOf(flags, cluster, one.batch, *opponent, *theirs);
  return one;
}

void AddCases(const ScaleFlags& flags, const cluster::Model& model, const ScaleSource& source,
              const std::optional<ScaleOpponent>& opponent, scaling::ScaleReport& report) {
  for (auto& steps : scaling::StepsOf(source.cluster.run, model, ShapeOfRecord, IsMannerOption,
                                      flags.parameter_bytes)) {
    if (!Wanted(flags, steps)) continue;
    if (!opponent) {
      report.cases.push_back(
          CaseOf(flags, report.network, report, std::move(steps), nullptr, nullptr));
      continue;
    }
    auto common =
        CommonSteps(model, source.cluster, opponent->source.cluster, steps, flags.parameter_bytes);
    if (!common) continue;
    report.cases.push_back(CaseOf(flags, report.network, report, std::move(common->first),
                                  &common->second, &*opponent));
  }
}

// Sets the prices of both clusters. Throws BadInput if neither has one.
void SetPrices(const ScaleFlags& flags, const ScaleSource& source,
               const std::optional<ScaleOpponent>& opponent, scaling::ScaleReport& report) {
  if (!flags.prices) return;
  const auto prices = cluster::ReadPrices(*flags.prices);
  const auto price_of = [&](const ScaleSource& of) {
    return scaling::DevicePrice(prices, of.cluster.run.file.machines, of.cluster.devices);
  };
  report.currency = prices.currency;
  report.price = price_of(source);
  if (opponent) report.their_price = price_of(opponent->source);
  if (!report.price && !report.their_price)
    throw BadInput("--prices={}: no kind matches a machine of {}{}", *flags.prices, flags.files,
                   opponent ? " or " + *flags.against : "");
}

// Simulates each distinct allreduce of the rows' gradients once, until a simulation fails.
void Simulate(const ScaleFlags& flags, scaling::ScaleReport& report) {
  std::set<std::tuple<int, double, cluster::Allreduce>> done;
  for (const auto& one : report.cases) {
    const double bytes = scaling::GradientBytes(one.steps.at.begin()->second);
    for (const auto& row : one.weak) {
      const auto algorithm = row.step.algorithm;
      if (row.nodes < 2 || row.nodes > flags.most_simulated ||
          !done.emplace(row.nodes, bytes, algorithm).second)
        continue;
      if (!cluster::CanSimulate()) {
        report.simulated.push_back(
            cluster::ClosedAllreduce(report.network, algorithm, row.nodes, bytes));
        report.not_simulated = Reason{
            "smpirun is not installed, so nothing is simulated (apt-get install libsimgrid-dev)"};
        continue;
      }
      try {
        report.simulated.push_back(
            cluster::SimulateAllreduce(report.network, algorithm, row.nodes, bytes));
      } catch (const cluster::SimulationFailed& failure) {
        report.simulation_failure =
            Reason{fmt::format("--simulate, {} nodes: {}", row.nodes, failure.what())};
        return;
      }
    }
  }
  if (report.simulated.empty())
    throw BadInput("--simulate: no row has from 2 to {} nodes (--simulate-nodes)",
                   flags.most_simulated);
}

}  // namespace

std::vector<int> ReadNodeCounts(const std::string& text) {
  const auto refuse = [&] {
    throw BadInput("--nodes={}: expected numbers of nodes from 1 to {}, such as 1,2,4 or 1:1024",
                   text, scaling::kMostNodes);
  };
  std::set<int> nodes;
  std::vector<int> ends;
  const bool range = text.find(':') != std::string::npos;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, range ? ':' : ',');) {
    int value = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc() || end != item.data() + item.size() || value < 1 ||
        value > scaling::kMostNodes)
      refuse();
    nodes.insert(value);
    ends.push_back(value);
  }
  if (nodes.empty() || (range && (ends.size() != 2 || ends[0] >= ends[1]))) refuse();
  for (int power = 1; range && power < ends[1]; power *= 2)
    if (power > ends[0]) nodes.insert(power);
  return {nodes.begin(), nodes.end()};
}

scaling::ScaleReport MakeScaleReport(const ScaleFlags& flags) {
  scaling::ScaleReport report{.where = flags.files,
                              .network = cluster::ReadNetwork(flags.network),
                              .rules = {.bucket_bytes = flags.bucket_bytes,
                                        .algorithm = cluster::AllreduceFromKey(flags.allreduce)},
                              .parameter_bytes = static_cast<double>(flags.parameter_bytes)};
  ReadNodeCounts(flags.nodes);
  if (flags.measured)
    report.measured =
        scaling::ReadMeasuredScale(ReadFile(*flags.measured, "a CSV file"), *flags.measured);
  const auto source = ReadSource(flags.files);
  report.node_ratios = source.node_ratios;
  report.dram_bytes_per_second = DramRoof(source.cluster.run.file);
  std::optional<ScaleOpponent> opponent;
  if (flags.against)
    opponent = {ReadSource(*flags.against), flags.against_network
                                                ? cluster::ReadNetwork(*flags.against_network)
                                                : report.network};
  SetPrices(flags, source, opponent, report);
  const auto models = ModelsToScale(flags, source.cluster);
  for (const auto& model : models) AddCases(flags, model, source, opponent, report);
  if (flags.simulate && !report.cases.empty()) Simulate(flags, report);
  if (!report.cases.empty()) return report;
  std::vector<std::string> names;
  std::ranges::transform(models, std::back_inserter(names), &cluster::Model::name);
  throw BadInput(
      "{}{}: no layer of {} has all times of a training step (fwd, bwd_data and "
      "bwd_weights, or fwd_training and bwd){}",
      flags.files, opponent ? " and " + *flags.against : "", fmt::join(names, ", "),
      flags.type || flags.library ? " of the type and library" : "");
}

}  // namespace dlroof::cluster_run
