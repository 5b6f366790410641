// A network from measured times: latency and bandwidth by message size, with a proof. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/network/allreduce.h"
#include "baselines/network/measured_network.h"

namespace dlroof::cluster {

struct NetworkProof {
  double worst_bytes = 0;            // [byte] size that the fit misses by most
  double worst_residual = 0;         // [1] |fitted / measured - 1| of the worst size
  double doubling = 0;               // [1] measured time of twice the bytes over that of once
  std::optional<double> spread;      // [1] half of the largest size's interval over its time
  std::optional<double> over_bound;  // [1] allreduce time over what none is faster than
  std::string doubt;                 // empty: proved
};

struct NetworkFit {
  Network network;
  NetworkProof proof;
};

// Returns the least pieces, at most three, of which each size's time is within 10 %, by least
// absolute relative residuals; the best three where none are. Absent below 3 sizes.
std::optional<std::vector<NetworkPiece>> FitPieces(const std::vector<NetworkPoint>& points);

// Fits the typical pair. Proved: each size's time within 10 %; the largest size takes twice the
// time of half of it, within 10 %; its repetitions agree within 5 %; no allreduce is 5 % faster
// than its bound. Absent below 3 sizes.
std::optional<NetworkFit> FitNetwork(const MeasuredNetwork& measured);

// As ParseNetwork reads it; unknown is absent.
nlohmann::json ToJson(const Network& network);
// The same with its name and "proof".
nlohmann::json ToJson(const NetworkFit& fit);

}  // namespace dlroof::cluster
