// A loop over many small, independent pieces of work.
#pragma once

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

namespace dlroof {

// Calls body(i) for each i below `count`, in any order, on as many CPUs as the work is worth.
// Throws what a call throws.
template <class Body>
void ParallelFor(std::size_t count, const Body& body) {
  constexpr std::size_t kWorthAThread = 1024;
  const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(count / kWorthAThread, 1, cpus);
  const auto run = [&](std::size_t part) {
    for (std::size_t i = part * count / parts; i < (part + 1) * count / parts; ++i) body(i);
  };
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part)
    others.push_back(std::async(std::launch::async, run, part));
  run(0);
  for (auto& other : others) other.get();
}

}  // namespace dlroof
