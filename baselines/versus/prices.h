// Prices of nodes, from a file that the user writes. No price has a default.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof::cluster {

// The price of nodes that match.
struct PriceKind {
  std::string name;             // part of the machine's name; empty: any name
  std::string fingerprint;      // of the machine; empty: any fingerprint
  double per_node_hour = 0;     // [currency/h] of a node with all its devices, > 0
  std::optional<int> devices;   // [1] of a node; absent: the file does not say
  std::optional<double> watts;  // [W] of a node that works; absent: the file does not say
  std::string how;              // "1.2 USD per node and hour": how `per_node_hour` came about
};

struct Prices {
  std::string currency;  // "USD"
  std::vector<PriceKind> kinds;
};

// Reads {"currency": "USD", "kinds": [KIND, ...]}. A kind has "match" (an object of "name",
// "fingerprint" or both), may have "devices", and has one of two prices:
//   "per_node_hour" and, if known, "watts" (of a node that works)
//   "capital", "years", "utilisation" (above 0, at most 1) and, all three or none, "watts", "pue"
//   (at least 1), "per_kwh"
// Throws BadInput with FILE:LINE:COLUMN for anything else.
Prices ReadPrices(const std::string& path);
Prices ParsePrices(const std::string& text, const std::string& where);

// Returns the first kind that matches; null where none does.
const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine);

}  // namespace dlroof::cluster
