#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster {
namespace {

using Traits = std::map<std::string, std::string>;

constexpr const char* kMemory = "memory";
constexpr const char* kAlgorithms = "algorithms";
constexpr double kSameMemory = 1.03;  // [1] firmware and kernel reserve different amounts

// Returns the number at the begin of "23.5 GiB", or nullopt.
std::optional<double> NumberIn(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() || value <= 0 ? std::nullopt : std::optional(value);
}

// Returns for each size of memory the text that represents all sizes close to it.
std::map<std::string, std::string> SameMemory(const std::vector<Traits>& all) {
  std::vector<std::pair<double, std::string>> sizes;
  std::set<std::string> seen;
  for (const auto& traits : all) {
    const auto found = traits.find(kMemory);
    if (found == traits.end() || !seen.insert(found->second).second) continue;
    if (const auto number = NumberIn(found->second)) sizes.emplace_back(*number, found->second);
  }
  std::ranges::sort(sizes);
  std::map<std::string, std::string> same;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // "1.5 TiB" and "1.5 GiB" have the same number and other units.
    const auto unit = [](const std::string& text) { return text.substr(text.rfind(' ') + 1); };
    if (sizes[i].first > kSameMemory * sizes[first].first ||
        unit(sizes[i].second) != unit(sizes[first].second))
      first = i;
    same[sizes[i].second] = sizes[first].second;
  }
  return same;
}

// Returns the most frequent algorithm of each benchmark over the nodes, of tied ones the first.
std::map<std::string, std::string> UsualAlgorithms(const std::vector<NodeSummary>& summaries,
                                                   const std::vector<std::size_t>& nodes) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto node : nodes)
    for (const auto& [benchmark, algorithm] : summaries[node].algorithms)
      ++counts[benchmark][algorithm];
  std::map<std::string, std::string> usual;
  for (const auto& [benchmark, of_benchmark] : counts)
    usual[benchmark] = std::ranges::max_element(of_benchmark, {}, [](const auto& count) {
                         return count.second;
                       })->first;
  return usual;
}

// Returns "3 benchmarks, such as X: ref, most nodes: jit", or nullopt if no algorithm is unusual.
std::optional<std::string> UnusualAlgorithms(const NodeSummary& summary,
                                             const std::map<std::string, std::string>& usual) {
  std::size_t count = 0;
  std::string first;
  for (const auto& [benchmark, algorithm] : summary.algorithms) {
    const auto& most = usual.at(benchmark);
    if (algorithm == most) continue;
    if (count++ == 0) first = fmt::format("{}: {}, most nodes: {}", benchmark, algorithm, most);
  }
  if (count == 0) return std::nullopt;
  return fmt::format("{} benchmark{}, such as {}", count, count == 1 ? "" : "s", first);
}

// Adds the node to the kind with these machines and traits.
void AddNode(const NodeSummary& summary, const Traits& traits, std::size_t node,
             std::vector<ClusterKind>& kinds) {
  auto found = std::ranges::find_if(kinds, [&](const ClusterKind& kind) {
    return kind.fingerprints == summary.machines && kind.traits == traits;
  });
  if (found == kinds.end())
    found = kinds.insert(kinds.end(), {summary.machine_name, summary.machines, traits, {}});
  found->nodes.push_back(node);
}

void LargestFirst(std::vector<ClusterKind>& kinds) {
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const ClusterKind& kind) { return kind.nodes.size(); });
}

}  // namespace

std::vector<ClusterKind> KindsOf(const std::vector<NodeSummary>& summaries,
                                 const std::vector<bool>& counts, bool mix_unlike) {
  std::vector<Traits> traits(summaries.size());
  if (!mix_unlike)
    for (std::size_t i = 0; i < summaries.size(); ++i) traits[i] = summaries[i].traits;
  const auto memory = SameMemory(traits);
  for (auto& of_node : traits)
    if (const auto found = of_node.find(kMemory); found != of_node.end())
      if (const auto same = memory.find(found->second); same != memory.end())
        found->second = same->second;
  std::vector<ClusterKind> by_traits, kinds;
  for (std::size_t i = 0; i < summaries.size(); ++i)
    if (counts[i]) AddNode(summaries[i], traits[i], i, by_traits);
  LargestFirst(by_traits);
  if (mix_unlike) return by_traits;
  for (const auto& kind : by_traits) {
    const auto usual = UsualAlgorithms(summaries, kind.nodes);
    for (const auto node : kind.nodes) {
      auto of_node = traits[node];
      if (const auto unusual = UnusualAlgorithms(summaries[node], usual))
        of_node[kAlgorithms] = *unusual;
      AddNode(summaries[node], of_node, node, kinds);
    }
  }
  LargestFirst(kinds);
  return kinds;
}

std::vector<std::string> DifferencesOf(const ClusterKind& kind, const ClusterKind& most_common) {
  std::vector<std::string> differences;
  if (kind.fingerprints != most_common.fingerprints)
    differences.push_back(fmt::format("machine: {}, most nodes: {}", kind.name, most_common.name));
  std::set<std::string> keys;
  for (const auto* of : {&kind, &most_common})
    for (const auto& [key, value] : of->traits) keys.insert(key);
  const auto text = [](const ClusterKind& of, const std::string& key) {
    const auto found = of.traits.find(key);
    return found == of.traits.end() ? std::string("unknown") : found->second;
  };
  for (const auto& key : keys) {
    if (text(kind, key) == text(most_common, key)) continue;
    if (key == kAlgorithms)
      differences.push_back(fmt::format("algorithms of {}", text(kind, key)));
    else
      differences.push_back(
          fmt::format("{}: {}, most nodes: {}", key, text(kind, key), text(most_common, key)));
  }
  return differences;
}

}  // namespace dlroof::cluster
