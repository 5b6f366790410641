// A network between nodes: the time of a message by its size, and closed forms of allreduce, in
// which n nodes each have a vector and all get the sum. Pure.
//
// Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH"
// (2005), with the time of a message in place of latency + bytes / bandwidth. Links are full
// duplex, as many messages as nodes pass at once, and adding takes no time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::cluster {

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

enum class Allreduce {
  kRing,               // 2(n-1) messages of S/n
  kRecursiveDoubling,  // log2(n) of S; two more of S where n is no power of two
  kTree,               // binomial tree to one node and back: 2 ceil(log2(n)) of S
  kRabenseifner,       // halves, then doubles: 2 of S/2, S/4, ...; two more of S as above
};
std::string_view Key(Allreduce algorithm);
std::optional<Allreduce> AllreduceFromKey(std::string_view key);

// Returns the time of one allreduce of `bytes` per node [s]; 0 for one node.
double AllreduceSeconds(Allreduce algorithm, const Network& network, int nodes, double bytes);

// Returns the time that no algorithm is faster than: each node sends and receives 2(n-1)/n of the
// bytes (Patarasuk and Yuan 2009) [s].
double AllreduceBound(const Network& network, int nodes, double bytes);

struct AllreduceTime {
  double seconds = 0;
  Allreduce algorithm = Allreduce::kRing;
};

// Returns the time by `algorithm`, or by the fastest without one. The fastest one's time is scaled
// by network.allreduce_over_model where that is known: libraries do not reach the closed form. No
// time is below the bound.
AllreduceTime AllreduceOf(const Network& network, std::optional<Allreduce> algorithm, int nodes,
                          double bytes);

}  // namespace dlroof::cluster
