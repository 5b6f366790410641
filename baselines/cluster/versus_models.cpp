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

// Returns whether the data type has 8-bit integers. Models are not trained in these.
bool IsInteger(const std::string& type) {
  return type.find("u8") != type.npos || type.find("s8") != type.npos || type == "int8";
}

std::string KeyOf(const std::string& op, const std::string& direction, const std::string& problem,
                  const std::vector<std::string>& options) {
  return fmt::format("{}/{}/{}/{}", op, direction, problem, fmt::join(options, "/"));
}

using Calls = std::map<std::string, VersusCall>;  // by KeyOf, without implementation options

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
  for (const auto& [key, i] : FastestByKey(cluster.run, key_of))
    if (!IsFallback(cluster.run.places[i])) calls[key] = CallOf(cluster, i, options.prices);
  return calls;
}

// Sums over calls on one cluster. The energy and the cost exist only if every call has one.
struct CallSum {
  QuantitySum seconds;
  QuantitySum joules;
  std::optional<double> cost = 0;

  void Add(const std::vector<VersusCall>& calls, double count) {
    for (const auto& call : calls) {
      seconds.Add(call.seconds, count);
      cost = cost && call.call_cost ? std::optional(*cost + count * *call.call_cost) : std::nullopt;
      if (call.energy) joules.Add(*call.energy, count);
    }
  }
  std::optional<Quantity> Energy() const {
    return joules.added() == seconds.added() ? joules.Total() : std::nullopt;
  }
};

// Sums over the same calls on both clusters.
struct BothSums {
  CallSum a, b;

  // Adds `count` times the calls of a row or a layer.
  void Add(const std::vector<VersusCall>& of_a, const std::vector<VersusCall>& of_b, double count) {
    a.Add(of_a, count);
    b.Add(of_b, count);
  }

  VersusSums Total(const VersusCluster& cluster_a, const VersusCluster& cluster_b) const {
    VersusSums sums{.a = a.seconds.Total(),
                    .b = b.seconds.Total(),
                    .energy_a = a.Energy(),
                    .energy_b = b.Energy()};
    if (!sums.a) return sums;
    sums.nodes_of_a = NodesOfA(cluster_a, *sums.a, cluster_b, *sums.b);
    if (a.cost && b.cost) sums.cost_ratio = *a.cost / *b.cost;
    sums.energy_ratio = EnergyRatio(sums.energy_a, sums.energy_b);
    return sums;
  }
};

// Returns the layer's calls in a pass ("inference", "training"), or nullopt if a call has no time.
// The two gradients may be one call ("bwd") or two.
std::optional<std::vector<VersusCall>> PassCalls(const Calls& calls, const VersusLayer& layer,
                                                 std::string_view pass) {
  std::vector<VersusCall> all;
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

// Compares the model's layers by the fastest calls of one pass on each cluster.
VersusModel CompareModel(const VersusCluster& a, const VersusCluster& b, const Model& model,
                         std::string_view pass, const std::string& type,
                         const VersusOptions& options) {
  const auto in_a = FastestCalls(a, type, pass, options);
  const auto in_b = FastestCalls(b, type, pass, options);
  VersusModel row{.model = model.name, .pass = std::string(pass), .type = type};
  BothSums sums;
  for (const auto& layer : model.layers) {
    row.layers += layer.count;
    const auto of_a = PassCalls(in_a, layer, pass), of_b = PassCalls(in_b, layer, pass);
    if (of_a) row.in_a += layer.count;
    if (of_b) row.in_b += layer.count;
    if (!of_a || !of_b) {
      row.missing.push_back(layer.problem);
      continue;
    }
    row.in_both += layer.count;
    sums.Add(*of_a, *of_b, layer.count);
  }
  static_cast<VersusSums&>(row) = sums.Total(a, b);
  return row;
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

}  // namespace

Model ModelOf(const roofline::Suite& suite,
              const IsImplementationOption& is_implementation_option) {
  Model model{.name = suite.name, .layers = {}};
  using Key = std::tuple<std::string, std::string, std::vector<std::string>>;
  std::map<Key, std::size_t> index_of;
  for (const auto& [name, count] : suite.layers) {
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
  for (const auto* cluster : {&a, &b})
    for (const auto& suite : roofline::SuitesOf(cluster->run.file.context)) {
      const bool known = std::ranges::count(models, suite.name, &Model::name) > 0;
      auto model = ModelOf(suite, is_implementation_option);
      if (!known && !model.layers.empty()) models.push_back(std::move(model));
    }
  return models;
}

std::vector<VersusTotal> TotalsOf(const VersusCluster& a, const VersusCluster& b,
                                  const std::vector<VersusRow>& rows) {
  text::InOrder<std::pair<VersusTotal, BothSums>> totals;
  for (const auto& row : rows) {
    const auto end = row.key.find('/'), type = row.key.find('/', end + 1) + 1;
    const auto of =
        row.key.substr(0, end) + ' ' + row.key.substr(type, row.key.find('/', type) - type);
    auto& [total, sums] = totals[of];
    const bool fallback = row.a.fallback || row.b.fallback;
    ++(fallback ? total.fallbacks : total.operators);
    if (!fallback)
      sums.Add({{row.a.seconds, row.a.call_cost}}, {{row.b.seconds, row.b.call_cost}}, 1);
  }
  return VectorOf<VersusTotal>(totals.all, [&](auto& of_and_sums) {
    auto& [total, sums] = of_and_sums.second;
    static_cast<VersusSums&>(total) = sums.Total(a, b);
    total.of = of_and_sums.first;
    return total;
  });
}

std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const VersusOptions& options) {
  std::vector<VersusModel> rows;
  const auto types_b = Types(b, options);
  for (const auto& model : models) {
    const auto before = rows.size();
    for (const auto& type : Types(a, options)) {
      if (std::ranges::find(types_b, type) == types_b.end()) continue;
      for (const char* pass : {"inference", "training"})
        if (auto row = CompareModel(a, b, model, pass, type, options);
            row.in_both > 0 && HasPass(model, pass))
          rows.push_back(std::move(row));
    }
    if (rows.size() > before) continue;
    auto& none = rows.emplace_back();
    none.model = model.name;
    for (const auto& layer : model.layers) none.layers += layer.count;
  }
  return rows;
}

}  // namespace dlroof::cluster
