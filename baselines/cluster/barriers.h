// Meetings of nodes that measure at once: before each benchmark every node waits for the others.
// Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::cluster {

// One node's part of a meeting.
struct Barrier {
  std::string benchmark;          // as the program lists it
  double began_seconds = 0;       // [s] since 1970-01-01T00:00:00Z by the node's clock: it went on
  double waited_seconds = 0;      // [s]
  std::size_t with = 0;           // [1] other nodes that had come
  std::size_t ahead = 0;          // [1] other nodes that had begun it, or had nothing left to do
  std::vector<std::string> late;  // nodes that had not come by the deadline; not awaited again
};
nlohmann::json ToJson(const Barrier& barrier);
// Reads an array of ToJson's objects. Throws BadInput, which begins with `where`.
std::vector<Barrier> BarriersFromJson(const nlohmann::json& json, const std::string& where);

// A node that others did not wait for any longer.
struct LateNode {
  std::string name;
  std::string benchmark;  // the first that began without it, by the first of the others' clocks
  std::size_t by = 0;     // [1] nodes that had waited for it
};

// Meetings over the nodes of a cluster.
struct ClusterBarriers {
  std::size_t nodes = 0;       // [1] that met others
  std::size_t benchmarks = 0;  // [1] that several nodes began together
  // [s] between the first and the last of the nodes that began a benchmark together, by the nodes'
  // clocks: over the benchmarks. Absent: none was begun together.
  std::optional<double> median_spread_seconds, most_spread_seconds;
  double median_waited_seconds = 0;  // [s] of all its meetings, over nodes
  std::vector<LateNode> late;        // by name
  std::map<std::string, std::size_t>
      apart;  // by node: [1] benchmarks that began without all others
};

// Returns the meetings of all nodes, by name. Nodes that came late, and those of another job, count
// in no spread: times that are 10 s and more apart are no meeting. Absent: no node met others.
std::optional<ClusterBarriers> ClusterBarriersOf(
    const std::vector<std::pair<std::string, std::vector<Barrier>>>& by_node);

nlohmann::json ToJson(const ClusterBarriers& barriers);
// Throws BadInput, which begins with `where`.
ClusterBarriers ClusterBarriersFromJson(const nlohmann::json& json, const std::string& where);

// Returns sentences: how far apart nodes began, which were late, which began alone.
std::vector<std::string> BarrierNotes(const ClusterBarriers& barriers);

}  // namespace dlroof::cluster
