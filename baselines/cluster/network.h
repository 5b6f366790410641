// A network between nodes: the time of a message by its size, closed forms of allreduce (n nodes
// each have a vector and receive the sum), measured times of messages and allreduces, and slow
// nodes and links. Pure, but for SimulateAllreduce, which runs SimGrid's smpirun.
//
// The closed forms are those of Thakur, Rabenseifner and Gropp, "Optimization of Collective
// Communication Operations in MPICH" (2005), with the time of a message instead of latency plus
// bytes divided by bandwidth. Links are full duplex, all nodes can send at once, and adding takes
// no time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::cluster {

// The linear time model of one range of message sizes, for example of one protocol.
struct NetworkPiece {
  std::optional<double> up_to_bytes;  // [byte] its largest message; not set in the last piece
  double latency_seconds = 0;         // [s] > 0
  double bytes_per_second = 0;        // [byte/s] > 0
};

struct Network {
  std::string name;                  // for people; may be empty
  std::vector<NetworkPiece> pieces;  // by rising size, at least one
  // [1] Measured allreduce time divided by the best closed form's time, on the largest node count.
  std::optional<double> allreduce_over_model;
  std::optional<Reason> reason;  // set for a measured network that is not validated
};

// Returns the time from the start of a send to the end of its receipt [s].
double MessageSeconds(const Network& network, double bytes);

// Returns the bandwidth of the largest messages [byte/s]; smaller ones may be faster by buffering.
double Bandwidth(const Network& network);

// Returns "10 GbE: 20.0 µs + 1 byte / 1.25 GB/s".
std::string NetworkText(const Network& network);

enum class Allreduce {
  kRing,               // 2(n-1) messages of S/n
  kRecursiveDoubling,  // log2(n) messages of S; two more if n is no power of two
  kTree,               // binomial tree to one node and back: 2 ceil(log2(n)) messages of S
  kRabenseifner,  // halves, then doubles: 2 messages each of S/2, S/4, ...; two more of S as above
};
std::string_view Key(Allreduce algorithm);
std::optional<Allreduce> AllreduceFromKey(std::string_view key);

// Returns the time of one allreduce of `bytes` per node [s]; 0 for one node.
double AllreduceSeconds(Allreduce algorithm, const Network& network, int nodes, double bytes);

// Returns a lower bound of the time of an allreduce by any algorithm [s]: each node sends and
// receives 2(n-1)/n of the bytes (Patarasuk and Yuan 2009).
double AllreduceBound(const Network& network, int nodes, double bytes);

struct AllreduceTime {
  double seconds = 0;
  Allreduce algorithm = Allreduce::kRing;
};

// Returns the allreduce's time by the closed form of `algorithm`. If `algorithm` is not set,
// returns the fastest algorithm's time, multiplied by network.allreduce_over_model if that is
// known, since libraries are slower than closed forms. The time is at least AllreduceBound.
AllreduceTime AllreduceOf(const Network& network, std::optional<Allreduce> algorithm, int nodes,
                          double bytes);

// Time of a message or an allreduce of one size.
struct NetworkPoint {
  double bytes = 0;                               // [byte]
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s]; from 6 repetitions on
  int repetitions = 0;                            // [1]
};

// Measured times of messages from one rank to another.
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
// (network_file.h), if FitNetwork returns one.
nlohmann::json ToJson(const MeasuredNetwork& measured);

// Read what ToJson writes, except for "network". Throw BadInput for anything else.
MeasuredNetwork ReadMeasuredNetwork(const std::string& path);
MeasuredNetwork ParseMeasuredNetwork(const std::string& text, const std::string& where);

inline constexpr double kSlowLink = 0.9;  // [1] of the median rate; slower links are reported
inline constexpr std::size_t kLeastLinkRanks = 3;  // between two ranks either could be the slow one

// A node that is slow with all partners, or a link between two nodes that are faster with others.
struct SlowLink {
  std::optional<std::size_t> from, to;  // ranks; of a slow node only one is set
  double bytes_per_second = 0;  // [byte/s] at the largest message size; for a node: its best link's
  double ratio = 1;  // [1] rate / the median node's rate; of a link / its slower node's rate
};

// Returns slow nodes and links, the slowest first. A node's rate in a direction is that with its
// best partner. Returns nothing for fewer than kLeastLinkRanks ranks.
std::vector<SlowLink> SlowLinks(const MeasuredNetwork& measured);

// [byte/s] The best rate of each rank in one direction, if measured.
using BestRates = std::vector<std::optional<double>>;
// Returns the best rates of sending (`end` is &PairTimes::from) or receiving (&PairTimes::to).
BestRates BestOf(const MeasuredNetwork& measured, std::size_t PairTimes::*end);

// Returns the rate at the largest size [byte/s], if the pair has a point.
std::optional<double> RateOf(const PairTimes& pair);

// Returns sentences: how the network was measured, its fit, validation, slow nodes and links.
std::vector<std::string> NetworkNotes(const MeasuredNetwork& measured);

// Thrown if smpirun rejects the network or ends without a time.
struct SimulationFailed : BadInput {
  using BadInput::BadInput;
};

// Returns SimGrid's platform file: `nodes` nodes, each with a link to one switch. A message between
// two nodes has the latency and bandwidth of the network's largest messages.
std::string SmpiPlatform(const Network& network, int nodes);

// Returns one rank's trace: an allreduce of `elements` floats.
std::string SmpiTrace(int nodes, long elements);

struct SimulatedAllreduce {
  int nodes = 2;
  double bytes = 0;  // [byte] per node: a multiple of 4 x nodes
  Allreduce algorithm = Allreduce::kRing;
  double closed_seconds = 0;                // [s] closed form for the same network
  std::optional<double> simulated_seconds;  // [s]; not set without smpirun
};

// Simulates an allreduce with smpirun. `bytes` is rounded up to a multiple of 4 x nodes. Throws
// BadInput if smpirun is not installed, and SimulationFailed.
SimulatedAllreduce SimulateAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                     double bytes);

// Returns whether smpirun is installed.
bool CanSimulate();
// Returns the closed form alone, for the same bytes as SimulateAllreduce.
SimulatedAllreduce ClosedAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                   double bytes);

}  // namespace dlroof::cluster
