// Messages between threads with clocks of their own, through a network that is made up: the same
// times on every run.
#pragma once

#include <barrier>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "bench/network/probe.h"

namespace dlroof {

struct FakeWorld {
  using MessageTime = std::function<double(int from, int to, double bytes)>;
  using SumTime = std::function<double(int ranks, double bytes)>;

  FakeWorld(int ranks, MessageTime message, SumTime sum)
      : message_seconds(std::move(message)),
        sum_seconds(std::move(sum)),
        clocks(ranks, 0.0),
        texts(ranks),
        all(ranks) {}

  // Runs the probe on all ranks. Returns what rank 0 returns.
  std::optional<MeasuredNetwork> Measure(const ProbeRules& rules);

  struct Letter {
    double arrives, number;
  };
  MessageTime message_seconds;
  SumTime sum_seconds;
  std::vector<double> clocks;
  std::vector<std::string> texts;
  std::barrier<> all;
  std::map<std::pair<int, int>, std::queue<Letter>> letters;
  std::mutex mutex;
  std::condition_variable posted;
};

class FakeMessages : public Messages {
 public:
  FakeMessages(FakeWorld& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_.clocks.size()); }
  std::string Library() const override { return "made up"; }
  std::string NodeName() const override { return rank_ < 2 ? "a" : "n" + std::to_string(rank_); }
  double Now() const override { return world_.clocks[rank_]; }
  void Send(int to, std::size_t bytes) override { Post(to, static_cast<double>(bytes), 0); }
  void Receive(int from, std::size_t) override { Take(from); }
  void SendNumber(int to, double number) override { Post(to, 0, number); }
  double ReceiveNumber(int from) override { return Take(from); }
  void WaitForAll() override { world_.all.arrive_and_wait(); }
  double Sum(int ranks, std::size_t bytes) override {
    return rank_ < ranks ? world_.sum_seconds(ranks, static_cast<double>(bytes)) : 0;
  }
  std::vector<std::string> Gather(const std::string& text) override {
    world_.texts[rank_] = text;
    WaitForAll();
    return rank_ == 0 ? world_.texts : std::vector<std::string>();
  }

 private:
  void Post(int to, double bytes, double number) {
    double& clock = world_.clocks[rank_];
    clock += world_.message_seconds(rank_, to, bytes);
    const std::lock_guard lock(world_.mutex);
    world_.letters[{rank_, to}].push({clock, number});
    world_.posted.notify_all();
  }
  double Take(int from) {
    std::unique_lock lock(world_.mutex);
    auto& queue = world_.letters[{from, rank_}];
    world_.posted.wait(lock, [&] { return !queue.empty(); });
    const auto letter = queue.front();
    queue.pop();
    double& clock = world_.clocks[rank_];
    clock = std::max(clock, letter.arrives);
    return letter.number;
  }

  FakeWorld& world_;
  int rank_;
};

inline std::optional<MeasuredNetwork> FakeWorld::Measure(const ProbeRules& rules) {
  std::optional<MeasuredNetwork> measured;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < static_cast<int>(clocks.size()); ++rank)
    threads.emplace_back([&, rank] {
      FakeMessages messages(*this, rank);
      auto result = MeasureNetwork(messages, rules);
      if (rank == 0) measured = std::move(result);
    });
  threads.clear();
  return measured;
}

}  // namespace dlroof
