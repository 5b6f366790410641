// A seeded simulation of FindChangePoints (series_profile.h): prints the rates of false and of true
// detections, and the thresholds, as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "baselines/statistics/series_profile.h"
#include "counters/base/program.h"

namespace {

using Generator = std::mt19937_64;
using Noise = std::function<std::vector<double>(std::size_t count, Generator& random)>;

double Normal(Generator& random) { return std::normal_distribution<double>()(random); }

std::vector<double> Independent(std::size_t count, Generator& random) {
  std::vector<double> logs(count);
  for (auto& value : logs) value = Normal(random);
  return logs;
}

// Returns independent noise in which 1 of 20 values is far slower, as on shared machines.
std::vector<double> Spiked(std::size_t count, Generator& random) {
  auto logs = Independent(count, random);
  for (auto& value : logs)
    if (std::uniform_real_distribution<double>()(random) < 0.05)
      value += 10 * std::abs(Normal(random));
  return logs;
}

Noise Remembering(double memory) {
  return [memory](std::size_t count, Generator& random) {
    std::vector<double> logs(count);
    double last = Normal(random);
    for (auto& value : logs) {
      value = last;
      last = memory * last + std::sqrt(1 - memory * memory) * Normal(random);
    }
    return logs;
  };
}

// Returns times of a 1 ms benchmark with noise of `deviation`, slower by `step` from `at` on.
std::vector<double> SeriesOf(const std::vector<double>& logs, double deviation, double step,
                             std::size_t at) {
  std::vector<double> values;
  for (std::size_t i = 0; i < logs.size(); ++i)
    values.push_back(1e-3 * std::exp(deviation * logs[i]) * (i >= at ? 1 + step : 1));
  return values;
}

void Thresholds(int trials, std::uint64_t seed) {
  std::cout << "count,threshold_99\n";
  for (const std::size_t count : {10, 14, 20, 30, 50, 100, 200, 500, 1000, 2000}) {
    Generator random(seed);
    std::vector<double> scores;
    scores.reserve(static_cast<std::size_t>(trials));
    for (int i = 0; i < trials; ++i)
      scores.push_back(dlroof::statistics::LargestScore(Independent(count, random), 5));
    const auto rank = scores.begin() + static_cast<std::ptrdiff_t>(0.99 * trials);
    std::nth_element(scores.begin(), rank, scores.end());
    std::cout << fmt::format("{},{:.3f}\n", count, *rank) << std::flush;
  }
}

void Rates(int trials, std::uint64_t seed) {
  const std::pair<const char*, Noise> noises[] = {{"independent", Independent},
                                                  {"spiked", Spiked},
                                                  {"memory_0.3", Remembering(0.3)},
                                                  {"memory_0.6", Remembering(0.6)}};
  std::cout << "noise,count,step_in_deviations,after,found,within_2\n";
  for (const auto& [name, noise] : noises)
    for (const std::size_t count : {20, 50, 200, 500})
      for (const auto& [step, after] : {std::pair<double, std::size_t>{0, 0},
                                        {2, 10},
                                        {5, 6},
                                        {5, 10},
                                        {3, count / 2},
                                        {1, count / 2}}) {
        Generator random(seed);
        int found = 0, near = 0;
        const double deviation = 0.02;
        for (int i = 0; i < trials; ++i) {
          const std::size_t at = count - after;
          const auto points = dlroof::statistics::FindChangePoints(
              SeriesOf(noise(count, random), deviation, step * deviation, at), {5, 0});
          found += points.empty() ? 0 : 1;
          near += std::ranges::any_of(
                      points,
                      [&](const auto& point) { return point.at + 2 >= at && point.at <= at + 2; })
                      ? 1
                      : 0;
        }
        std::cout << fmt::format("{},{},{},{},{:.4f},{:.4f}\n", name, count, step, after,
                                 1.0 * found / trials, 1.0 * near / trials)
                  << std::flush;
      }
}

int Run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int trials = argc > 2 ? std::atoi(argv[2]) : 0;
  if ((what != "thresholds" && what != "rates") || trials < 1) {
    std::cerr << "usage: dlroof_change_points_study thresholds|rates TRIALS\n";
    return 2;
  }
  constexpr std::uint64_t kSeed = 20261121;
  if (what == "thresholds")
    Thresholds(trials, kSeed);
  else
    Rates(trials, kSeed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return dlroof::RunProgram("dlroof_change_points_study", [&] { return Run(argc, argv); });
}
