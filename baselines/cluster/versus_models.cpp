#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "baselines/cluster/versus.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

struct LayerCall {
  Quantity seconds;
  Energies energies;
  std::optional<double> cost;  // [currency]
};

// Returns whether the data type has 8-bit integers. Models are not trained in these.
bool IsInteger(const std::string& type) {
  return type.find("u8") != type.npos || type.find("s8") != type.npos || type == "int8";
}

std::string KeyOf(const std::string& op, const std::string& direction, const std::string& problem,
                  const std::vector<std::string>& options) {
  return fmt::format("{}/{}/{}/{}", op, direction, problem, fmt::join(options, "/"));
}

using Calls = std::map<std::string, LayerCall>;  // by KeyOf, without implementation options

// Returns a cluster's fastest call of each operator in one type (ComparedType), or for the type
// "best" in any type that the pass can use. Omits fallbacks.
Calls FastestCalls(const VersusCluster& cluster, const std::string& type, std::string_view pass,
                   const VersusOptions& options) {
  const auto key_of = [&](const record::Record& record) {
    const bool fits = type == "best" ? pass == "inference" || !IsInteger(record.type)
                                     : ComparedType(record) == type;
    if (!fits) return std::string();
    return KeyOf(record.op, record.direction, record.problem,
                 WithoutImplementationOptions(record.options, options.is_implementation_option));
  };
  Calls calls;
  for (const auto& [key, i] : FastestByKey(cluster.run, key_of)) {
    if (IsFallback(cluster.run.places[i])) continue;
    const auto seconds = QuantityOf(*cluster.run.places[i].timing);
    const auto& record = cluster.run.file.records[i];
    calls[key] = {seconds, EnergiesOf(cluster, i, options.prices),
                  CallCost(options.prices, cluster, record, seconds.value)};
  }
  return calls;
}

// Sums over the calls of a pass. Sums of energies and costs exist only if every call has them.
struct PassSum {
  QuantitySum seconds;
  std::map<EnergyClass, QuantitySum> joules;
  std::optional<double> cost = 0;

  // Returns the time of these calls [s].
  double Add(const std::vector<LayerCall>& calls, double count) {
    double all = 0;
    for (const auto& call : calls) {
      all += count * call.seconds.value;
      seconds.Add(call.seconds, count);
      cost = cost && call.cost ? std::optional(*cost + count * *call.cost) : std::nullopt;
      for (const auto& [kind, energy] : call.energies) joules[kind].Add(energy, count);
    }
    return all;
  }
  Energies TotalEnergies() const {
    Energies total;
    for (const auto& [kind, sum] : joules)
      if (sum.added() == seconds.added()) total[kind] = *sum.Total();
    return total;
  }
};

// Returns the layer's calls in a pass ("inference", "training"), or nullopt if a call has no time.
// The two gradients may be one call ("bwd") or two.
std::optional<std::vector<LayerCall>> PassCalls(const Calls& calls, const VersusLayer& layer,
                                                std::string_view pass) {
  std::vector<LayerCall> all;
  const auto add = [&](const std::string& direction) {
    const auto* call = FindValue(calls, KeyOf(layer.op, direction, layer.problem, layer.options));
    if (call != nullptr) all.push_back(*call);
    return call != nullptr;
  };
  if (pass == "inference")
    return add("fwd_inference") || add("fwd") ? std::optional(all) : std::nullopt;
  if (!add("fwd") && !add("fwd_training")) return std::nullopt;
  const bool data = layer.directions.contains("bwd_data");
  const bool weights = layer.directions.contains("bwd_weights");
  const bool both = layer.directions.contains("bwd") || (data && weights);
  const auto forward = all;
  if ((!data && !both) || add("bwd_data"))
    if ((!weights && !both) || add("bwd_weights")) return all;
  all = forward;
  return both && add("bwd") ? std::optional(all) : std::nullopt;
}

// Returns the model's row (without type, nodes_of_a, largest), and its layers' times for `largest`.
std::pair<VersusModel, std::vector<SummedTime>> CompareModel(const Model& model,
                                                             std::string_view pass,
                                                             const Calls& in_a, const Calls& in_b) {
  VersusModel row{.model = model.name, .pass = std::string(pass), .type = ""};
  PassSum sum_a, sum_b;
  std::vector<SummedTime> times;
  for (const auto& layer : model.layers) {
    row.layers += layer.count;
    const auto a = PassCalls(in_a, layer, pass), b = PassCalls(in_b, layer, pass);
    if (a) row.in_a += layer.count;
    if (b) row.in_b += layer.count;
    if (!a || !b) {
      row.missing.push_back(layer.problem);
      continue;
    }
    row.in_both += layer.count;
    auto& time = times.emplace_back(SummedTime{layer.problem});
    time.a = sum_a.Add(*a, layer.count);
    time.b = sum_b.Add(*b, layer.count);
  }
  if (sum_a.cost && sum_b.cost && *sum_b.cost > 0) row.cost_ratio = *sum_a.cost / *sum_b.cost;
  row.a = sum_a.seconds.Total();
  row.b = sum_b.seconds.Total();
  row.energies_a = sum_a.TotalEnergies();
  row.energies_b = sum_b.TotalEnergies();
  row.energy_ratios = EnergyRatios(row.energies_a, row.energies_b);
  return {std::move(row), std::move(times)};
}

std::vector<std::string> Types(const VersusCluster& cluster, const VersusOptions& options) {
  if (options.best_type) return {"best"};
  std::vector<std::string> types;
  for (const auto& record : cluster.run.file.records)
    if (const auto type = ComparedType(record); std::ranges::find(types, type) == types.end())
      types.push_back(type);
  return types;
}

bool HasPass(const Model& model, std::string_view pass) {
  if (pass == "inference") return true;
  return std::ranges::any_of(model.layers, [](const VersusLayer& layer) {
    return std::ranges::any_of(layer.directions, [](const std::string& direction) {
      return direction.starts_with("bwd");
    });
  });
}

void AddRows(const VersusCluster& a, const VersusCluster& b, const Model& model,
             const std::string& type, const VersusOptions& options,
             std::vector<VersusModel>& rows) {
  for (const char* pass : {"inference", "training"}) {
    auto [row, times] = CompareModel(model, pass, FastestCalls(a, type, pass, options),
                                     FastestCalls(b, type, pass, options));
    if (row.in_both == 0 || !HasPass(model, pass)) continue;
    row.type = type;
    row.nodes_of_a = NodesOfA(a, *row.a, b, *row.b);
    row.largest = LargestEffectIn(times, row.nodes_of_a->value);
    rows.push_back(std::move(row));
  }
}

std::vector<std::pair<std::string, double>> LayerNames(const nlohmann::json& suite) {
  std::vector<std::pair<std::string, double>> names;
  const auto& layers = record::Member(suite, "layers");
  if (!layers.is_array()) return names;
  for (const auto& layer : layers) {
    const auto& count = record::Member(layer, "count");
    const double calls = count.is_number() ? count.get<double>() : 1;
    if (calls >= 1) names.emplace_back(record::Text(layer, "name"), calls);
  }
  return names;
}

}  // namespace

Model ModelFromNames(const std::string& suite,
                     const std::vector<std::pair<std::string, double>>& names,
                     const IsImplementationOption& is_implementation_option) {
  Model model{.name = suite, .layers = {}};
  using Key = std::tuple<std::string, std::string, std::vector<std::string>>;
  std::map<Key, std::size_t> index_of;
  for (const auto& [name, count] : names) {
    record::Record record{.name = name};
    record::SplitName(record);
    if (record.problem.empty()) continue;
    const auto options = WithoutImplementationOptions(record.options, is_implementation_option);
    const auto [found, added] =
        index_of.try_emplace({record.op, record.problem, options}, model.layers.size());
    if (added)
      model.layers.push_back({.op = record.op,
                              .problem = record.problem,
                              .options = options,
                              .directions = {},
                              .count = count});
    auto& layer = model.layers[found->second];
    layer.directions.insert(record.direction);
    layer.count = std::max(layer.count, count);
  }
  return model;
}

std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsImplementationOption& is_implementation_option) {
  std::vector<Model> models;
  for (const auto* cluster : {&a, &b}) {
    const auto& suites =
        record::Member(record::Member(cluster->run.file.context, "dlroof"), "suites");
    if (!suites.is_array()) continue;
    for (const auto& suite : suites) {
      const auto name = record::Text(suite, "name");
      const bool known =
          std::ranges::any_of(models, [&](const Model& model) { return model.name == name; });
      auto model = ModelFromNames(name, LayerNames(suite), is_implementation_option);
      if (!known && !model.layers.empty()) models.push_back(std::move(model));
    }
  }
  return models;
}

std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const VersusOptions& options) {
  std::vector<VersusModel> rows;
  const auto types_b = Types(b, options);
  for (const auto& model : models) {
    const auto before = rows.size();
    for (const auto& type : Types(a, options))
      if (std::ranges::find(types_b, type) != types_b.end())
        AddRows(a, b, model, type, options, rows);
    if (rows.size() > before) continue;
    VersusModel none{.model = model.name, .pass = "", .type = ""};
    for (const auto& layer : model.layers) none.layers += layer.count;
    rows.push_back(std::move(none));
  }
  return rows;
}

}  // namespace dlroof::cluster
