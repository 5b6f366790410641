// Measures a network by messages between pairs of ranks and by allreduces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/network.h"

namespace dlroof::network {

// The functions of a message passing library (MPI) that measuring a network needs.
class Messages {
 public:
  virtual ~Messages() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string Library() const = 0;
  virtual std::string NodeName() const = 0;  // of this rank
  virtual double Now() const = 0;            // [s] of this rank's clock

  // Send and Receive block. The contents are arbitrary.
  virtual void Send(int to, std::size_t bytes) = 0;
  virtual void Receive(int from, std::size_t bytes) = 0;
  // Exchange a number between the two ends of a pair.
  virtual void SendNumber(int to, double number) = 0;
  virtual double ReceiveNumber(int from) = 0;
  // Waits for all ranks. A waiting rank sleeps, so that it does not occupy its CPU.
  virtual void WaitForAll() = 0;
  // Sums up vectors of floats of the first `ranks` ranks, after these have waited for each other.
  // Returns the longest of their times [s], the same on all of them; the others return 0 at once.
  virtual double Sum(int ranks, std::size_t bytes) = 0;
  // Returns the texts of all ranks on rank 0, and nothing on the others.
  virtual std::vector<std::string> Gather(const std::string& text) = 0;
};

struct ProbeRules {
  std::size_t most_bytes = 4 << 20;  // [byte] largest message, a multiple of 4
  int repetitions = 9;               // [1] of each size
  int least_repetitions = 3;         // [1] of sizes that take longer than `most_seconds`
  double most_seconds = 1;           // [s] time for a size and direction
  int all_pairs = 8;                 // [1] ranks up to which every pair is measured, one by one
  int matchings = 6;                 // [1] number of random pairings of all ranks beyond that
};

// Returns the pairings in order. Pairs of one pairing send at the same time. Up to rules.all_pairs
// ranks a pairing is one pair; beyond, it has every rank once (except one of an odd number). The
// result is the same on every rank.
std::vector<std::vector<std::pair<int, int>>> Pairings(int ranks, const ProbeRules& rules);

// Measures the network. Call it on every rank. Returns the network on rank 0, nothing on the
// others. A message's time is that of sending it and receiving an empty answer, less half of the
// time of two empty messages.
std::optional<cluster::MeasuredNetwork> MeasureNetwork(Messages& messages, const ProbeRules& rules);

}  // namespace dlroof::network
