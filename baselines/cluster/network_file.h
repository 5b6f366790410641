// A network from measured times: latency and bandwidth by message size, with a proof. Pure.
//
// Networks as people and dlroof_net write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/network.h"

namespace dlroof::cluster {

struct NetworkValidation {
  double worst_bytes = 0;            // [byte] size that the fit misses by most
  double worst_residual = 0;         // [1] |fitted / measured - 1| of the worst size
  double doubling = 0;               // [1] measured time of twice the bytes over that of once
  std::optional<double> spread;      // [1] half of the largest size's interval over its time
  std::optional<double> over_bound;  // [1] allreduce time over what none is faster than
  std::string reason;                // empty: validated
};

struct NetworkFit {
  Network network;
  NetworkValidation validation;
};

// Returns the least pieces, at most three, of which each size's time is within 10 %, by least
// absolute relative residuals; the best three where none are. Absent below 3 sizes.
std::optional<std::vector<NetworkPiece>> FitPieces(const std::vector<NetworkPoint>& points);

// Fits the typical pair. Validated: each size's time within 10 %; the largest size takes twice the
// time of half of it, within 10 %; its repetitions agree within 5 %; no allreduce is 5 % faster
// than its bound. Absent below 3 sizes.
std::optional<NetworkFit> FitNetwork(const MeasuredNetwork& measured);

// As ParseNetwork reads it; unknown is absent.
nlohmann::json ToJson(const Network& network);
// The same with its name and "proof".
nlohmann::json ToJson(const NetworkFit& fit);

// Reads an object of
//   "name"                  for people; may be missing
//   "latency_seconds", "bytes_per_second"   of a message; or in their place
//   "pieces"                [{"up_to_bytes", "latency_seconds", "bytes_per_second"}, ...] by rising
//                           size, the last one without "up_to_bytes"
//   "allreduce_over_model"  measured time of an allreduce over the best closed form's; may be
//                           missing
//   "proof"                 as dlroof_net writes it; may be missing
// A file of dlroof_net has it as its member "network". Throws BadInput with FILE:LINE:COLUMN for
// anything else.
Network ReadNetwork(const std::string& path);
Network ParseNetwork(const std::string& text, const std::string& where);

}  // namespace dlroof::cluster
