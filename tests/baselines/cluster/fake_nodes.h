// Nodes with two benchmarks, and the cluster that they make.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/cluster_file.h"
#include "tests/fakes/small_run.h"

namespace dlroof::cluster {

struct FakeNode {
  std::string name;
  double seconds = 2;  // [s] of the benchmark n1; n2 takes twice as long
  double speed = 1;    // of its ceilings
  std::string fingerprint = "00";
  std::vector<std::string> arguments = {"--x"};
  std::function<void(record::RunFile& run)> change = [](record::RunFile&) {};
};

inline record::RunFile RunOfNode(const FakeNode& node) {
  auto run = fakes::RunOf(
      node.name, {fakes::Measured("n1", node.seconds), fakes::Measured("n2", 2 * node.seconds)});
  run.file.machines = {fakes::SmallMachine("2020-01-01T00:00:00Z", node.speed)};
  run.file.machines[0].fingerprint = node.fingerprint;
  NodeFacts facts;
  facts.name = node.name;
  facts.known_by = "hostname";
  facts.arguments = node.arguments;
  run.file.context["dlroof"]["node"] = ToJson(facts);
  node.change(run.file);
  return run.file;
}

// Returns the cluster of the nodes, whose files are NAME.json.
inline Cluster Gathered(const std::vector<FakeNode>& nodes,
                        const std::optional<std::vector<std::string>>& asked = std::nullopt,
                        std::vector<NodeSummary> more = {}) {
  std::map<std::string, record::RunFile> files;
  for (const auto& node : nodes) {
    const auto file = node.name + ".json";
    files[file] = RunOfNode(node);
    more.push_back(SummaryOf(files[file], file));
  }
  return Gather(std::move(more), asked, [&](const std::string& file) { return files.at(file); });
}

// Six nodes, of which the last takes 2.4 s instead of 2 s.
inline std::vector<FakeNode> LastNodeIsSlower() {
  return {{"n1"}, {"n2"}, {"n3"}, {"n4"}, {"n5"}, {"n6", 2.4}};
}

}  // namespace dlroof::cluster
