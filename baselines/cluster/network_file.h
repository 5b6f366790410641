// Networks as files: written by people or by dlroof_net, and the fit of measured times (latency and
// bandwidth by message size) with its validation. Pure, but for ReadNetwork.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/network.h"

namespace dlroof::cluster {

struct NetworkValidation {
  double worst_bytes = 0;            // [byte] size with the largest residual
  double worst_residual = 0;         // [1] |fitted / measured - 1| at that size
  double doubling = 0;               // [1] measured time of twice the bytes over that of once
  std::optional<double> spread;      // [1] half of the largest size's interval over its time
  std::optional<double> over_bound;  // [1] allreduce time over its lower bound
  std::optional<Reason> reason;      // set if the fit is not validated
};

struct NetworkFit {
  Network network;
  NetworkValidation validation;
};

// Returns the fewest pieces, at most three, that predict each size's time within 10 %, by least
// absolute relative residuals; the best three if none do. Returns nothing below 3 sizes.
std::optional<std::vector<NetworkPiece>> FitPieces(const std::vector<NetworkPoint>& points);

// Fits the typical pair. The fit is validated if each size's time is within 10 %, the largest size
// takes twice the time of half of it within 10 %, its repetitions agree within 5 %, and no
// allreduce is 5 % faster than its bound. Returns nothing below 3 sizes.
std::optional<NetworkFit> FitNetwork(const MeasuredNetwork& measured);

// Writes what ParseNetwork reads; unknown values have no key.
nlohmann::json ToJson(const Network& network);
// Writes the same with the name and "proof".
nlohmann::json ToJson(const NetworkFit& fit);

// Reads an object with
//   "name"                  for people, optional
//   "latency_seconds", "bytes_per_second"   of a message; or instead of both
//   "pieces"                [{"up_to_bytes", "latency_seconds", "bytes_per_second"}, ...] by rising
//                           size, the last one without "up_to_bytes"
//   "allreduce_over_model"  measured time of an allreduce over the best closed form's, optional
//   "proof"                 the validation as dlroof_net writes it, optional
// or a file of dlroof_net, which has this object as its member "network". Throws BadInput with
// FILE:LINE:COLUMN for anything else.
Network ReadNetwork(const std::string& path);
Network ParseNetwork(const std::string& text, const std::string& where);

}  // namespace dlroof::cluster
