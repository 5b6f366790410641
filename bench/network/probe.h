// Measures a network: messages between pairs of ranks, and allreduces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/network.h"

namespace dlroof::network {

// The part of a message passing library that measuring a network needs. MPI is one.
class Messages {
 public:
  virtual ~Messages() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string Library() const = 0;
  virtual std::string NodeName() const = 0;  // of this rank
  virtual double Now() const = 0;            // [s] of this rank's clock

  // Both block. Contents do not matter.
  virtual void Send(int to, std::size_t bytes) = 0;
  virtual void Receive(int from, std::size_t bytes) = 0;
  // A number that the other end has and this one needs.
  virtual void SendNumber(int to, double number) = 0;
  virtual double ReceiveNumber(int from) = 0;
  // Waits for all ranks, asleep: a waiting rank leaves its CPU to others.
  virtual void WaitForAll() = 0;
  // Sums up vectors of floats of the first `ranks` ranks, after these have waited for each other.
  // Returns the longest of their times [s], the same on all of them; the others return 0 at once.
  virtual double Sum(int ranks, std::size_t bytes) = 0;
  // Returns all ranks' texts on rank 0; empty on the others.
  virtual std::vector<std::string> Gather(const std::string& text) = 0;
};

struct ProbeRules {
  std::size_t most_bytes = 4 << 20;  // [byte] largest message, a multiple of 4
  int repetitions = 9;               // [1] of each size
  int least_repetitions = 3;         // [1] of sizes that take longer than `most_seconds`
  double most_seconds = 1;           // [s] of a size and direction
  int all_pairs = 8;                 // [1] ranks up to which every pair is measured, one by one
  int matchings = 6;                 // [1] beyond: random pairings of all, each at once
};

// Returns the pairings in order; pairs of one pairing send at the same time. Up to rules.all_pairs
// ranks each pairing is one pair, beyond it holds every rank once (but for one of an odd number),
// the same on every rank.
std::vector<std::vector<std::pair<int, int>>> Pairings(int ranks, const ProbeRules& rules);

// Returns the network on rank 0, nothing on the others. Every rank calls it. A message's time is
// that of sending it and an empty answer, less half of an empty message both ways.
std::optional<cluster::MeasuredNetwork> MeasureNetwork(Messages& messages, const ProbeRules& rules);

}  // namespace dlroof::network
