#include "counters/cupti/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlroof::cupti {
namespace {

std::string Ordinal(int number) {
  return fmt::format("{}{}", number, number == 2 ? "nd" : number == 3 ? "rd" : "th");
}

bool Holds(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::count(texts, text) > 0;
}

// The table's sets that are asked for; tensor sets in the order of `types`, at the place of the
// first.
std::vector<const CuptiSet*> WantedSets(const CuptiTable& table,
                                        const std::vector<std::string>& types,
                                        const CuptiWish& wish) {
  auto order = types;
  if (wish.every_type)
    for (const auto& type : TensorTypes(table))
      if (!Holds(order, type)) order.push_back(type);
  const auto tensor = [&](const CuptiSet& set) { return !set.free && !set.type.empty(); };
  std::vector<const CuptiSet*> wanted;
  bool placed = false;
  for (const auto& set : table.sets) {
    if (!tensor(set)) {
      if ((!set.alone || wish.link) && (set.type.empty() || Holds(order, set.type)))
        wanted.push_back(&set);
      continue;
    }
    if (placed) continue;
    placed = true;
    for (const auto& type : order)
      for (const auto& other : table.sets)
        if (tensor(other) && other.type == type) wanted.push_back(&other);
  }
  return wanted;
}

class Planner {
 public:
  Planner(const CuptiChip& chip, const CuptiWish& wish, const PassesOf& passes_of)
      : chip_(chip), wish_(wish), passes_of_(passes_of) {}

  void Add(const CuptiSet& set, const std::vector<const CuptiMetric*>& metrics) {
    if (metrics.empty()) return Refuse(set, fmt::format("{} has no counter for it", chip_.name));
    CuptiConfig with = set.alone ? CuptiConfig{} : config_;
    for (const auto* metric : metrics) {
      with.metrics.push_back(metric->name);
      if (set.free) with.free.push_back(metric->name);
    }
    if (set.patches && !wish_.patched)
      return Refuse(set, "its patched kernels could wait for blocks that find no room on the GPU");
    const auto passes = passes_of_(with.metrics);
    if (!passes) return Refuse(set, "this device does not give it (a part of a divided GPU?)");
    const int most = set.free ? std::max(config_.passes, 1) : wish_.most_passes;
    with.passes = *passes;
    with.alone = set.alone;
    // PCIe is asked for expressly and has its own runs.
    if (!set.alone && with.passes > most)
      return Refuse(set, fmt::format("would take a {} pass", Ordinal(most + 1)));
    (set.alone ? link_ : config_) = with;
    for (const auto* metric : metrics) plan_.metrics.push_back(*metric);
  }

  CuptiPlan Finish() {
    for (const auto& config : {config_, link_})
      if (!config.metrics.empty()) plan_.configs.push_back(config);
    plan_.passes = config_.passes + link_.passes;
    return plan_;
  }

 private:
  void Refuse(const CuptiSet& set, const std::string& reason) {
    if (!set.free) plan_.left_out.push_back({set.name, reason});
  }

  const CuptiChip& chip_;
  const CuptiWish& wish_;
  const PassesOf& passes_of_;
  CuptiConfig config_, link_;
  CuptiPlan plan_;
};

}  // namespace

std::vector<std::string> TensorTypesOf(const std::vector<std::string>& pipes) {
  std::vector<std::string> types, siblings;
  for (const auto& pipe : pipes) {
    const auto type = pipe.substr(0, pipe.find('.'));
    const bool matrix = pipe.find(".matrix") != std::string::npos;
    auto& list = matrix ? types : siblings;
    const auto& name = !matrix && type == "fp32" ? std::string("tf32") : type;
    if (!Holds(list, name)) list.push_back(name);
  }
  return types.empty() ? siblings : types;
}

CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CuptiWish& wish,
                       const PassesOf& passes_of) {
  Planner planner(chip, wish, passes_of);
  for (const auto* set : WantedSets(table, types, wish))
    planner.Add(*set, MetricsOf(table, *set, chip));
  return planner.Finish();
}

}  // namespace dlroof::cupti
