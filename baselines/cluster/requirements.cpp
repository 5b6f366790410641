#include "baselines/cluster/requirements.h"

#include <fmt/format.h>

#include "baselines/cluster/node_effects.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

std::map<std::string, double> LimitsIn(const machine_file::LocatedJson& file,
                                       const machine_file::LocatedObject& whole, const char* key) {
  std::map<std::string, double> limits;
  if (!whole.Has(key)) return limits;
  const auto& object = whole.Needed(key);
  if (!object.is_object())
    throw BadInput("{}: '{}': expected an object of names and numbers", whole.Where(key), key);
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  const machine_file::LocatedObject named(file, object, whole.PathOf(key), names);
  for (const auto& name : names) limits[name] = named.Number(name);
  return limits;
}

}  // namespace

Requirements ParseRequirements(const std::string& text, const std::string& where) {
  const machine_file::LocatedJson file(text, where);
  if (!file.value().is_object())
    throw BadInput(BadInput::Place{where, 1}, "expected an object with 'roofs' or 'times'");
  const machine_file::LocatedObject whole(file, file.value(), {}, {"roofs", "times"});
  Requirements requirements{LimitsIn(file, whole, "roofs"), LimitsIn(file, whole, "times")};
  if (requirements.least_roofs.empty() && requirements.most_times.empty())
    throw BadInput(BadInput::Place{where, 1}, "expected a limit in 'roofs' or 'times'");
  return requirements;
}

std::vector<Unmet> UnmetOf(const Cluster& cluster, const Requirements& requirements) {
  std::vector<std::map<std::string, double>> roofs(cluster.nodes.size()),
      times(cluster.nodes.size());
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node)
    for (const auto& [row, value] : cluster.nodes[node].ceilings)
      roofs[node][RoofText(row)] = value;
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i)
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j)
      times[cluster.nodes_of[i][j]][cluster.run.records[i].name] =
          cluster.run.records[i].repetitions[j].seconds;
  std::vector<Unmet> unmet;
  const auto check = [&](std::size_t node, const std::map<std::string, double>& values,
                         const std::map<std::string, double>& limits, bool is_time) {
    for (const auto& [name, limit] : limits) {
      const auto found = values.find(name);
      Unmet one{.node = node, .what = name, .is_time = is_time, .limit = limit, .value = {}};
      if (found != values.end()) one.value = found->second;
      if (!one.value || (is_time ? *one.value > limit : *one.value < limit))
        unmet.push_back(std::move(one));
    }
  };
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    const auto status = cluster.nodes[node].status;
    if (status != NodeStatus::kComplete && status != NodeStatus::kPartial) continue;
    check(node, roofs[node], requirements.least_roofs, false);
    check(node, times[node], requirements.most_times, true);
  }
  return unmet;
}

std::string TextOf(const Unmet& unmet, const Cluster& cluster) {
  const auto value = [&](double number) {
    if (unmet.is_time) return text::WithPrefix(number, "s");
    const bool flops = unmet.what.ends_with("vector") || unmet.what.ends_with("matrix");
    return text::WithPrefix(number, flops ? "FLOP/s" : "B/s");
  };
  return fmt::format("{}: {} {}, at {} {} required", cluster.nodes[unmet.node].name, unmet.what,
                     unmet.value ? "is " + value(*unmet.value) : "was not measured",
                     unmet.is_time ? "most" : "least", value(unmet.limit));
}

}  // namespace dlroof::cluster
