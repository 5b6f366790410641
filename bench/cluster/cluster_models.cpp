#include "bench/cluster/cluster_models.h"

#include <algorithm>

#include "bench/suites/suite_selection.h"
#include "bench/workload/op.h"
#include "counters/base/error.h"
#include "reporters/record/context.h"

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

std::vector<cluster::Model> ModelsOfSuites(const std::vector<std::string>& suites, const cluster::VersusCluster& a,
                                  const cluster::VersusCluster& b) {
  if (suites.empty()) return cluster::ModelsIn(a, b, IsMannerOption);
  std::vector<cluster::Model> models;
  for (const auto& suite : suites::SelectSuites(suites, {.cpu = true, .gpu = true}, "--suite")) {
    // The default set is not meant where a model is named.
    const bool named = std::ranges::any_of(suites, [&](const std::string& value) {
      return ("," + value + ",").find("," + suite.name + ",") != std::string::npos;
    });
    if (!named) continue;
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
  } catch (const BadInput&) {  // another program's name
  } catch (const Unsupported&) {
  }
  return std::nullopt;
}

std::optional<int> DevicesPerNode(const record::RunFile& file) {
  const auto& count = record::Member(record::Member(file.context, "dlroof"), "devices_per_node");
  if (count.is_number_integer() && count.get<int>() >= 1) return count.get<int>();
  return std::nullopt;
}

}  // namespace dlroof::cluster_run
