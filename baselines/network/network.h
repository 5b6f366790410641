// A network between nodes: the time of a message by its size. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlroof {

// Messages of one protocol (eager, rendezvous).
struct NetworkPiece {
  std::optional<double> up_to_bytes;  // [byte] largest message of it; absent: the last piece
  double latency_seconds = 0;         // [s] > 0
  double bytes_per_second = 0;        // [byte/s] > 0
};

struct Network {
  std::string name;                  // for people; empty: not known
  std::vector<NetworkPiece> pieces;  // by rising size, at least one
  // [1] Measured time of an allreduce over that of the best closed form, at the most nodes
  // measured; absent: not measured.
  std::optional<double> allreduce_over_model;
  std::string doubt;  // why a measured network is not proved; empty: it is, or it was given
};

// Returns the time from the start of a send to the end of its receipt [s].
double MessageSeconds(const Network& network, double bytes);

// Returns the bandwidth that lasts [byte/s]: that of the largest messages. Smaller ones may go
// faster, as long as buffers take them.
double Bandwidth(const Network& network);

// "10 GbE: 20.0 µs + 1 byte / 1.25 GB/s"
std::string NetworkText(const Network& network);

}  // namespace dlroof
