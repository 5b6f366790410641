#include "bench/cluster_run/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "counters/base/files.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

std::string SentenceOf(const cluster::Cluster& cluster, const cluster::Finding& finding) {
  const auto& node = cluster.nodes[finding.node];
  const auto name = text::Printable(node.name);
  if (finding.verdict == cluster::NodeVerdict::kSlow)
    return fmt::format("{}: slow, by {:.1f} % ({})", name, 100 * (finding.ratio - 1), finding.what);
  if (finding.verdict == cluster::NodeVerdict::kLimited) {
    const auto& load = node.facts.load;
    auto text = fmt::format("{}: limited by a quota", name);
    if (load.quota_cpus && node.facts.cpus_specified)
      text += fmt::format(" of {:g} of {} CPUs", *load.quota_cpus, *node.facts.cpus_specified);
    if (load.throttled && load.periods)
      text += fmt::format(", stopped in {:.0f} of {:.0f} periods", *load.throttled, *load.periods);
    return text;
  }
  return fmt::format(
      "{}: disturbed by {}: {:.0f} % of its repetitions are noisy, they took {:.2f} "
      "times the time of clean ones",
      name, finding.what, 100 * node.interference.NoisyShare(), finding.ratio);
}

bool IsTold(const cluster::Finding& finding) {
  return finding.verdict != cluster::NodeVerdict::kSuspect &&
         finding.verdict != cluster::NodeVerdict::kNotConfirmed;
}

}  // namespace

std::vector<std::string> HostsToDrain(const cluster::Cluster& cluster) {
  std::set<std::string> hosts;
  for (const auto& finding : cluster.findings)
    if (finding.verdict == cluster::NodeVerdict::kSlow)
      hosts.insert(cluster::HostOf(cluster.nodes[finding.node]));
  std::vector<std::string> sorted(hosts.begin(), hosts.end());
  std::ranges::sort(sorted, cluster::NodeNameLess);
  return sorted;
}

void PrintVerdicts(const cluster::Cluster& cluster, const std::optional<std::string>& drain_list,
                   std::ostream& out) {
  for (const auto& finding : cluster.findings)
    if (IsTold(finding)) out << SentenceOf(cluster, finding) << '\n';
  const auto hosts = HostsToDrain(cluster);
  if (!hosts.empty())
    out << fmt::format(
        "to drain: scontrol update NodeName={} State=DRAIN Reason='slow by dlroof cluster'\n",
        fmt::join(hosts, ","));
  if (!drain_list) return;
  std::string lines;
  for (const auto& host : hosts) lines += host + '\n';
  WriteFile(*drain_list, lines);
}

int ExitCodeOf(const cluster::Cluster& cluster) {
  if (!HostsToDrain(cluster).empty()) return kSlowNode;
  const bool whole = std::ranges::all_of(cluster.nodes, [](const cluster::ClusterNode& node) {
    return node.status == cluster::NodeStatus::kComplete;
  });
  return whole ? 0 : kNotAllWhole;
}

}  // namespace dlroof::cluster_run
