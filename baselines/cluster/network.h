// A network between nodes: the time of a message by its size, closed forms of allreduce (n nodes
// each have a vector and all get the sum), measured times of both, and slow nodes and links. Pure,
// but for SimulateAllreduce, which runs SimGrid's smpirun.
//
// The closed forms are those of Thakur, Rabenseifner and Gropp, "Optimization of Collective
// Communication Operations in MPICH" (2005), with the time of a message in place of latency +
// bytes / bandwidth. Links are full duplex, as many messages as nodes pass at once, and adding
// takes no time.
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
  std::optional<double> up_to_bytes;  // [byte] its largest message; the last piece has no limit
  double latency_seconds = 0;         // [s] > 0
  double bytes_per_second = 0;        // [byte/s] > 0
};

struct Network {
  std::string name;                  // for people; may be empty
  std::vector<NetworkPiece> pieces;  // by rising size, at least one
  // [1] Measured time of an allreduce over that of the best closed form, at the most nodes
  // measured.
  std::optional<double> allreduce_over_model;
  std::optional<Reason> reason;  // set for a measured network that is not validated
};

// Returns the time from the start of a send to the end of its receipt [s].
double MessageSeconds(const Network& network, double bytes);

// Returns the sustained bandwidth [byte/s]: that of the largest messages. Smaller messages may be
// faster while they fit in buffers.
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

// Returns a lower bound of an allreduce by any algorithm [s]: each node sends and receives
// 2(n-1)/n of the bytes (Patarasuk and Yuan 2009).
double AllreduceBound(const Network& network, int nodes, double bytes);

struct AllreduceTime {
  double seconds = 0;
  Allreduce algorithm = Allreduce::kRing;
};

// Returns the time by `algorithm`, or by the fastest one if it is not set. The fastest one's time
// is scaled by network.allreduce_over_model if that is known, since libraries are slower than the
// closed form. No time is below the bound.
AllreduceTime AllreduceOf(const Network& network, std::optional<Allreduce> algorithm, int nodes,
                          double bytes);

// Measured times of one message size.
struct NetworkPoint {
  double bytes = 0;                               // [byte]
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s]; from 6 repetitions on
  int repetitions = 0;                            // [1]
};

// Measured messages in one direction.
struct PairTimes {
  std::size_t from = 0, to = 0;      // ranks
  std::vector<NetworkPoint> points;  // by rising size
};

// Measured allreduces among the first `nodes` ranks.
struct AllreduceTimes {
  int nodes = 2;
  std::vector<NetworkPoint> points;  // by rising size
};

struct MeasuredNetwork {
  std::string mpi;                 // "Open MPI v4.1.4"
  std::string started_at;          // ISO 8601
  bool pairs_at_once = false;      // pairs without a common rank sent at the same time
  std::vector<std::string> ranks;  // the name of each rank's node, all different
  std::vector<PairTimes> pairs;
  std::vector<AllreduceTimes> allreduce;  // by rising nodes
};

// Returns {"dlroof_net": 1, "mpi", "ranks", "pairs", "allreduce", "network"}. "network" is the fit
// (network_file.h); it is missing if FitNetwork returns none.
nlohmann::json ToJson(const MeasuredNetwork& measured);

// Read what ToJson writes, except for "network". Throw BadInput.
MeasuredNetwork ReadMeasuredNetwork(const std::string& path);
MeasuredNetwork ParseMeasuredNetwork(const std::string& text, const std::string& where);

inline constexpr double kSlowLink = 0.9;           // [1] of the median; slower links are reported
inline constexpr std::size_t kLeastLinkRanks = 3;  // with fewer the slow one is undecidable

// A node that sends or receives slowly with every partner, or a link that is slower than both its
// nodes.
struct SlowLink {
  std::optional<std::size_t> from, to;  // ranks; only one is set for a slow node
  double bytes_per_second = 0;          // [byte/s] at the largest size; of a node its best link
  double ratio = 1;  // [1] to the median node's rate, or to the rate of the slower of its nodes
};

// Returns slow nodes and links, the slowest first. A node's rate in a direction is that of its best
// partner. Returns nothing below kLeastLinkRanks ranks.
std::vector<SlowLink> SlowLinks(const MeasuredNetwork& measured);

// The best rate of each rank in one direction [byte/s], where measured.
using BestRates = std::vector<std::optional<double>>;
// Returns the rates by one end of each pair: &PairTimes::from sends, &PairTimes::to receives.
BestRates BestOf(const MeasuredNetwork& measured, std::size_t PairTimes::*end);

// Returns the rate at the largest size [byte/s], if the pair has a point.
std::optional<double> RateOf(const PairTimes& pair);

// Returns sentences: how the network was measured, its fit and validation, and what is slow.
std::vector<std::string> NetworkNotes(const MeasuredNetwork& measured);

// smpirun rejected the network, or ended without a time.
struct SimulationFailed : BadInput {
  using BadInput::BadInput;
};

// Returns the platform file: `nodes` nodes, each with a link to one switch, so that a message
// between two nodes takes the network's latency and bandwidth, here those of large messages.
std::string SmpiPlatform(const Network& network, int nodes);

// Returns one rank's trace: an allreduce of `elements` floats.
std::string SmpiTrace(int nodes, long elements);

struct SimulatedAllreduce {
  int nodes = 2;
  double bytes = 0;  // [byte] per node: a multiple of 4 x nodes
  Allreduce algorithm = Allreduce::kRing;
  double closed_seconds = 0;     // [s] closed form of the same network
  double simulated_seconds = 0;  // [s]
};

// Runs smpirun. `bytes` is rounded up to a multiple of 4 x nodes. Throws BadInput if smpirun is not
// installed, and SimulationFailed.
SimulatedAllreduce SimulateAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                     double bytes);

}  // namespace dlroof::cluster
