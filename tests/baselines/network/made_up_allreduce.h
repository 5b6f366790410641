// Allreduce message by message: each node has a clock and a vector. A message starts when sender
// and receiver are free in its direction, and takes the time that the network says.
#pragma once

#include <bit>
#include <numeric>
#include <vector>

#include "baselines/network/network.h"

namespace dlroof {

class MadeUpAllreduce {
 public:
  // Each node i begins with a vector of `elements` numbers, all i + 1.
  MadeUpAllreduce(const Network& network, int nodes, int elements, double bytes)
      : network_(network),
        element_bytes_(bytes / elements),
        elements_(elements),
        clocks_(nodes, 0.0),
        vectors_(nodes) {
    for (int node = 0; node < nodes; ++node) vectors_[node].assign(elements, node + 1.0);
  }

  void Ring() {
    const int n = Nodes(), part = elements_ / n;
    for (int round = 0; round < 2 * (n - 1); ++round) {
      std::vector<Message> messages;
      for (int node = 0; node < n; ++node) {
        // The first n - 1 rounds add up, the others hand on the sums.
        const int shift = round < n - 1 ? round : round - n;
        const int chunk = ((node - shift) % n + n) % n;
        messages.push_back({node, (node + 1) % n, chunk * part, part, round < n - 1});
      }
      Round(messages);
    }
  }

  void RecursiveDoubling() {
    const int power = Fold();
    for (int distance = 1; distance < power; distance *= 2)
      Round(Exchanges(
          power, distance, [&](int) { return std::pair(0, elements_); }, true));
    Unfold(power);
  }

  void Tree() {
    std::vector<int> distances;
    for (int distance = 1; distance < Nodes(); distance *= 2) distances.push_back(distance);
    for (const int distance : distances) TreeRound(distance, true);
    for (auto it = distances.rbegin(); it != distances.rend(); ++it) TreeRound(*it, false);
  }

  void Rabenseifner() {
    const int power = Fold();
    // After the halving rounds node i holds the sums of its own part.
    for (int distance = power / 2, size = elements_ / 2; distance >= 1; distance /= 2, size /= 2)
      Round(Exchanges(
          power, distance, [&](int to) { return std::pair(to / distance * size, size); }, true));
    for (int distance = 1, size = elements_ / power; distance < power; distance *= 2, size *= 2)
      Round(Exchanges(
          power, distance,
          [&](int to) { return std::pair((to ^ distance) / distance * size, size); }, false));
    Unfold(power);
  }

  // [s] until the last node has finished.
  double Seconds() const { return *std::max_element(clocks_.begin(), clocks_.end()); }
  bool AllHaveTheSum() const {
    const double sum = Nodes() * (Nodes() + 1) / 2.0;
    return std::all_of(vectors_.begin(), vectors_.end(), [&](const auto& vector) {
      return std::all_of(vector.begin(), vector.end(), [&](double x) { return x == sum; });
    });
  }

 private:
  struct Message {
    int from, to, first, count;
    bool adds;
  };

  int Nodes() const { return static_cast<int>(clocks_.size()); }

  // Messages that are on their way at the same time.
  void Round(const std::vector<Message>& messages) {
    const auto before = vectors_;
    const auto clocks = clocks_;
    for (const auto& m : messages) {
      const double end = std::max(clocks[m.from], clocks[m.to]) +
                         MessageSeconds(network_, m.count * element_bytes_);
      clocks_[m.from] = std::max(clocks_[m.from], end);
      clocks_[m.to] = std::max(clocks_[m.to], end);
      for (int i = m.first; i < m.first + m.count; ++i)
        vectors_[m.to][i] = before[m.from][i] + (m.adds ? vectors_[m.to][i] : 0);
    }
  }

  template <class RangeOfReceiver>
  std::vector<Message> Exchanges(int power, int distance, const RangeOfReceiver& range, bool adds) {
    std::vector<Message> messages;
    for (int node = 0; node < power; ++node) {
      const int to = node ^ distance;
      const auto [first, count] = range(to);
      messages.push_back({node, to, first, count, adds});
    }
    return messages;
  }

  // Nodes from the largest power of two on hand their vectors to the first ones.
  int Fold() {
    const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(Nodes())));
    std::vector<Message> messages;
    for (int node = power; node < Nodes(); ++node)
      messages.push_back({node, node - power, 0, elements_, true});
    Round(messages);
    return power;
  }
  void Unfold(int power) {
    std::vector<Message> messages;
    for (int node = power; node < Nodes(); ++node)
      messages.push_back({node - power, node, 0, elements_, false});
    Round(messages);
  }
  void TreeRound(int distance, bool towards_root) {
    std::vector<Message> messages;
    for (int node = 0; node + distance < Nodes(); node += 2 * distance)
      messages.push_back(towards_root ? Message{node + distance, node, 0, elements_, true}
                                      : Message{node, node + distance, 0, elements_, false});
    Round(messages);
  }

  Network network_;
  double element_bytes_;
  int elements_;
  std::vector<double> clocks_;
  std::vector<std::vector<double>> vectors_;
};

}  // namespace dlroof
