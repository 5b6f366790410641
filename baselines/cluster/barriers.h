// File barriers of nodes that measure at once: each node waits for the others before each
// benchmark. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::cluster {

// One node's record of one barrier.
struct Barrier {
  std::string benchmark;      // as the program lists it
  double began_seconds = 0;   // [s] since 1970-01-01T00:00:00Z by the node's clock: barrier left
  double waited_seconds = 0;  // [s]
  std::size_t with = 0;       // [1] other nodes that had arrived
  std::size_t ahead = 0;      // [1] other nodes that had already started this benchmark or finished
  std::vector<std::string> late;  // nodes that missed the deadline; later barriers skip them
};
nlohmann::json ToJson(const Barrier& barrier);
// Reads an array of ToJson's objects. Throws BadInput, which begins with `where`.
std::vector<Barrier> BarriersFromJson(const nlohmann::json& json, const std::string& where);

// A node that missed a deadline, so that the others no longer waited for it.
struct LateNode {
  std::string name;
  std::string benchmark;  // the earliest one that started without it, by the other nodes' clocks
  std::size_t by = 0;     // [1] nodes that had waited for it
};

// All barriers of a cluster.
struct ClusterBarriers {
  std::size_t nodes = 0;       // [1] that waited for others
  std::size_t benchmarks = 0;  // [1] that several nodes started together
  // [s] between the first and the last node to start a benchmark, by the nodes' clocks: median and
  // maximum over the benchmarks that several nodes started together.
  std::optional<double> median_spread_seconds, most_spread_seconds;
  double median_waited_seconds = 0;  // [s] a node's total wait, the median over nodes
  std::vector<LateNode> late;        // by name
  std::map<std::string, std::size_t>
      apart;  // node -> [1] benchmarks that it started without any other node
};

// Summarizes the barriers of all nodes, given by node name. The spread leaves out late nodes and
// nodes of another job (starts that are 10 s or more apart). Returns nothing if no node has any.
std::optional<ClusterBarriers> ClusterBarriersOf(
    const std::vector<std::pair<std::string, std::vector<Barrier>>>& by_node);

nlohmann::json ToJson(const ClusterBarriers& barriers);
// Throws BadInput, which begins with `where`.
ClusterBarriers ClusterBarriersFromJson(const nlohmann::json& json, const std::string& where);

// Returns sentences: how far apart nodes started, which were late, which started alone.
std::vector<std::string> BarrierNotes(const ClusterBarriers& barriers);

}  // namespace dlroof::cluster
