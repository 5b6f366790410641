// A network between nodes: the time of a message by its size, and closed forms of allreduce, in
// which n nodes each have a vector and all get the sum. Pure.
//
// Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH"
// (2005), with the time of a message in place of latency + bytes / bandwidth. Links are full
// duplex, as many messages as nodes pass at once, and adding takes no time.
//
// Times of messages and allreduces between the ranks of one MPI job, as dlroof_net measures them.
//
// Slow nodes and links of a measured network. Pure.
//
// Allreduce on a simulated network, by SimGrid's SMPI: the library's own algorithm, message by
// message, where the closed forms are formulas.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/error.h"

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
  std::string reason;  // why a measured network is not validated; empty: it is, or it was given
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

inline constexpr double kSlowLink = 0.9;           // [1] of the median: slower counts
inline constexpr std::size_t kLeastLinkRanks = 3;  // below, nobody can say which is the slow one

// A node that sends or receives slowly whoever the other one is, or a link that is slower than both
// its nodes.
struct SlowLink {
  std::optional<std::size_t> from, to;  // ranks; one is absent where a node is slow
  double bytes_per_second = 0;          // [byte/s] of the largest size; a node's best
  double ratio = 1;                     // [1] of the median node's, or of the slower of its nodes
};

// Returns them by how slow they are. A node's rate in a direction is the best of its partners'.
// Empty below kLeastLinkRanks ranks.
std::vector<SlowLink> SlowLinks(const MeasuredNetwork& measured);

// The best rate of each rank in one direction [byte/s]; absent: not measured.
using BestRates = std::vector<std::optional<double>>;
// Returns those of one end of each pair: &PairTimes::from sends, &PairTimes::to receives.
BestRates BestOf(const MeasuredNetwork& measured, std::size_t PairTimes::*end);

// Returns the rate of the largest size [byte/s]; absent without a point.
std::optional<double> RateOf(const PairTimes& pair);

// Sentences: how the network was measured, its fit and proof, and what is slow.
std::vector<std::string> NetworkNotes(const MeasuredNetwork& measured);

// smpirun refused the network, or it ended without a time.
struct SimulationFailed : BadInput {
  using BadInput::BadInput;
};

// Returns the platform: `nodes` nodes with a link each to one switch, so that a message between two
// takes the network's latency and bandwidth. Large messages' latency and bandwidth count for all.
std::string SmpiPlatform(const Network& network, int nodes);

// Returns one rank's trace: an allreduce of `elements` floats.
std::string SmpiTrace(int nodes, long elements);

struct SimulatedAllreduce {
  int nodes = 2;
  double bytes = 0;  // [byte] of each node: a multiple of 4 x nodes
  Allreduce algorithm = Allreduce::kRing;
  double closed_seconds = 0;     // [s] closed form of the same network
  double simulated_seconds = 0;  // [s]
};

// Runs smpirun. `bytes` is rounded up to a multiple of 4 x nodes. Throws BadInput: it is not
// installed. Throws SimulationFailed.
SimulatedAllreduce SimulateAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                     double bytes);

}  // namespace dlroof::cluster
