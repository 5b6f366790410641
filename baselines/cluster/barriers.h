// File barriers: nodes that measure together wait for each other before each benchmark. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::cluster {

// One node's record of its wait at the file barrier before one benchmark.
struct Barrier {
  std::string benchmark;          // as the program lists it
  double began_seconds = 0;       // [s] since 1970 UTC, by the node's clock: it left the barrier
  double waited_seconds = 0;      // [s]
  std::size_t with = 0;           // [1] other nodes that had arrived when it left
  std::size_t ahead = 0;          // [1] other nodes that had already left this barrier or finished
  std::vector<std::string> late;  // nodes that missed the deadline; later barriers skip them
};
nlohmann::json ToJson(const Barrier& barrier);
// Reads an array of objects of ToJson. Throws BadInput, which begins with `where`, for other JSON.
std::vector<Barrier> BarriersFromJson(const nlohmann::json& json, const std::string& where);

// A node that missed a deadline, so that the others no longer waited for it.
struct LateNode {
  std::string name;
  std::string benchmark;  // the earliest that others started without it, by their clocks
  std::size_t by = 0;     // [1] nodes that waited for it in vain
};

// Summary of all barriers of a cluster's nodes.
struct ClusterBarriers {
  std::size_t nodes = 0;       // [1] nodes that waited for others
  std::size_t benchmarks = 0;  // [1] benchmarks that several nodes started together
  // [s] time between the first and the last node's start of a benchmark, by the nodes' clocks:
  // median and maximum over the benchmarks that several nodes started together.
  std::optional<double> median_spread_seconds, most_spread_seconds;
  double median_waited_seconds = 0;  // [s] a node's total wait, the median over nodes
  std::vector<LateNode> late;        // by name
  std::map<std::string, std::size_t>
      apart;  // node -> [1] benchmarks that it started without any other node
};

// Summarizes the barriers in `by_node` (node's name, barriers). The spread leaves out late nodes
// and nodes of another job (starts that are 10 s or more apart). Returns nothing without barriers.
std::optional<ClusterBarriers> ClusterBarriersOf(
    const std::vector<std::pair<std::string, std::vector<Barrier>>>& by_node);

nlohmann::json ToJson(const ClusterBarriers& barriers);
// Throws BadInput, which begins with `where`.
ClusterBarriers ClusterBarriersFromJson(const nlohmann::json& json, const std::string& where);

// Returns sentences: how far apart nodes started, which nodes were late, which started alone.
std::vector<std::string> BarrierNotes(const ClusterBarriers& barriers);

}  // namespace dlroof::cluster
