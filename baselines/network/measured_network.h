// Times of messages and allreduces between the ranks of one MPI job, as dlroof_net measures them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::cluster {

// Times of one size.
struct NetworkPoint {
  double bytes = 0;                               // [byte]
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s]; absent below 6 repetitions
  int repetitions = 0;                            // [1]
};

// Messages in one direction.
struct PairTimes {
  std::size_t from = 0, to = 0;      // ranks
  std::vector<NetworkPoint> points;  // by rising size
};

// Allreduces among the first `nodes` ranks.
struct AllreduceTimes {
  int nodes = 2;
  std::vector<NetworkPoint> points;  // by rising size
};

struct MeasuredNetwork {
  std::string mpi;                 // "Open MPI v4.1.4"
  std::string started_at;          // ISO 8601
  bool pairs_at_once = false;      // pairs without a common rank sent at the same time
  std::vector<std::string> ranks;  // their nodes' names, each once
  std::vector<PairTimes> pairs;
  std::vector<AllreduceTimes> allreduce;  // by rising nodes
};

// Returns {"dlroof_net": 1, "mpi", "ranks", "pairs", "allreduce", "network"}. "network" is the fit
// (network_fit.h), or absent where the points allow none.
nlohmann::json ToJson(const MeasuredNetwork& measured);

// Reads what ToJson writes, but for "network". Throws BadInput.
MeasuredNetwork ReadMeasuredNetwork(const std::string& path);
MeasuredNetwork ParseMeasuredNetwork(const std::string& text, const std::string& where);

}  // namespace dlroof::cluster
