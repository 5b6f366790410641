#include "bench/cluster/cluster_models.h"

#include <algorithm>

#include "bench/suites/suite_selection.h"
#include "bench/workload/op.h"
#include "counters/base/error.h"
#include "reporters/record/context.h"

namespace dlroof {

bool IsMannerOption(std::string_view option) {
  if (option == "best" || option.starts_with("engine") || option.starts_with("threads"))
    return true;
  return std::ranges::any_of(AllOps(), [&](const Op* op) {
    return std::ranges::any_of(op->variants, [&](const OpVariants& variants) {
      return std::ranges::find(variants.options, option) != variants.options.end();
    });
  });
}

std::vector<Model> ModelsOfSuites(const std::vector<std::string>& suites, const VersusCluster& a,
                                  const VersusCluster& b) {
  if (suites.empty()) return ModelsIn(a, b, IsMannerOption);
  std::vector<Model> models;
  for (const auto& suite : SelectSuites(suites, {.cpu = true, .gpu = true}, "--suite")) {
    // The default set is not meant where a model is named.
    const bool named = std::ranges::any_of(suites, [&](const std::string& value) {
      return ("," + value + ",").find("," + suite.name + ",") != std::string::npos;
    });
    if (!named) continue;
    std::vector<std::pair<std::string, double>> names;
    for (const auto& layer : suite.layers)
      names.emplace_back(layer.name, static_cast<double>(layer.count));
    models.push_back(ModelFromNames(suite.name, names, IsMannerOption));
  }
  return models;
}

std::optional<LayerShape> ShapeOfRecord(const Record& record) {
  const auto* op = FindOp(record.op);
  if (op == nullptr || !op->trained || !op->with_batch) return std::nullopt;
  const BenchmarkName name{.op = record.op,
                           .device = record.device,
                           .library = record.library,
                           .direction = record.direction,
                           .type = record.type,
                           .problem = record.problem,
                           .options = record.options};
  try {
    const auto trained = op->trained(name);
    return LayerShape{trained.batch, trained.parameters, op->with_batch(name, 1)};
  } catch (const BadInput&) {  // another program's name
  } catch (const Unsupported&) {
  }
  return std::nullopt;
}

std::optional<int> DevicesPerNode(const RunFile& file) {
  const auto& count = Member(Member(file.context, "dlroof"), "devices_per_node");
  if (count.is_number_integer() && count.get<int>() >= 1) return count.get<int>();
  return std::nullopt;
}

}  // namespace dlroof
