// The cluster file: a run file whose repetitions are of different nodes, with "cluster" beside it.
// Every program that reads run files reads it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster {

inline constexpr int kClusterSchema = 1;

// "context", "machines", "records" as in a run file, with a "node" in each repetition (an index
// into cluster.nodes) and its time to the last digit; "benchmarks", an entry of Google Benchmark's
// for each benchmark, with the median over nodes; "cluster": "schema", "asked", "kinds", "nodes",
// "remarks", "findings". `command` is context.dlroof.command.
nlohmann::json ToJson(const Cluster& cluster, const std::string& command);

// Reads what ToJson wrote. Throws BadInput, which begins with `path`: as ReadRunFile, and for a run
// file that is none of a cluster, a newer schema, nodes that are not there.
Cluster ReadClusterFile(const std::string& path);

}  // namespace dlroof::cluster
