// A simulated program with known times for each setting and random noise.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "baselines/settings/tuning.h"

namespace dlroof::settings {

struct MadeUpNoise {
  double window = 0.01;   // [1] deviation of a window's logarithm
  double process = 0.01;  // [1] between processes of the same program
  double spell = 0.05;    // [1] of a block, which all its settings share
  double wild = 0.02;     // [1] share of windows that take 1.5 times as long
  double noisy = 0;       // [1] share of windows that are marked noisy
};

class MadeUpProgram {
 public:
  MadeUpProgram(std::function<double(const Setting&)> seconds, MadeUpNoise noise, unsigned seed)
      : seconds_(std::move(seconds)), noise_(noise), engine_(seed) {}

  // Returns a simulated block: a process takes 0.2 s, a window 20 ms.
  MeasureBlock Measure() {
    return [this](TrialBlock& block, std::uint64_t) {
      if (stop_after == 0) return false;
      --stop_after;
      const double spell = Draw(noise_.spell);
      for (const auto& setting : block.settings) {
        block.results.push_back(Result(setting, spell));
        block.seconds += 0.2 + 7 * 0.02;
        ++measured;
      }
      return true;
    };
  }

  std::map<Setting, std::string> failures;  // by the settings that fail
  int stop_after = -1;                      // blocks until the interrupt, if not below 0
  int measured = 0;                         // settings in all blocks

 private:
  double Draw(double deviation) { return std::exp(deviation * normal_(engine_)); }

  TrialResult Result(const Setting& setting, double spell) {
    if (const auto found = failures.find(setting); found != failures.end())
      return {{}, Reason{found->second}, false};
    TrialResult result;
    const double process = spell * Draw(noise_.process);
    std::uniform_real_distribution<double> chance(0, 1);
    for (int i = 0; i < 5; ++i) {
      const double wild = chance(engine_) < noise_.wild ? 1.5 : 1;
      result.windows.push_back({.seconds = seconds_(setting) * process * wild * Draw(noise_.window),
                                .iterations = 100,
                                .noisy = chance(engine_) < noise_.noisy});
    }
    return result;
  }

  std::function<double(const Setting&)> seconds_;
  MadeUpNoise noise_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

// A coordinate with one knob of the same name.
inline Coordinate Knob(const std::string& name, const std::vector<std::string>& values) {
  Coordinate coordinate{name, {}};
  for (const auto& value : values) coordinate.choices.push_back({{{name, value}}, "a reason"});
  return coordinate;
}

inline std::string ValueOf(const Setting& setting, const std::string& knob) {
  const auto found = setting.find(knob);
  return found == setting.end() ? "" : found->second;
}

}  // namespace dlroof::settings
