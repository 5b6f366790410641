#include "counters/delta/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "counters/base/order_statistics.h"
#include "counters/delta/model.h"

namespace dlroof::delta {
namespace {

struct Trial {
  ConvLayer layer;
  CtaTile tile;
  CacheShape caches;
};

// std::mt19937_64's numbers are the same everywhere, the standard distributions' are not.
class Choice {
 public:
  explicit Choice(unsigned seed) : random_(seed) {}
  int64_t Of(std::initializer_list<int64_t> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(random_() % choices.size()));
  }

 private:
  std::mt19937_64 random_;
};

ConvShape RandomShape(Choice& choice) {
  ConvShape s;
  s.groups = choice.Of({1, 1, 1, 1, 2, 4});
  s.n = choice.Of({1, 2, 4, 8});
  s.c = s.groups * choice.Of({3, 8, 16, 24, 32, 48, 64});
  s.k = s.groups * choice.Of({8, 16, 32, 48, 64, 96, 128});
  s.r = choice.Of({1, 1, 3, 3, 3, 5, 7});
  s.s = choice.Of({0, 0, 0, 0, 0, 1, 3});
  if (s.s == 0) s.s = s.r;
  s.h = choice.Of({7, 9, 13, 14, 19, 23, 27, 28, 32, 35});
  s.w = choice.Of({0, 0, 7, 10, 14, 17, 28, 31, 40, 55});
  if (s.w == 0) s.w = s.h;
  s.stride_h = s.stride_w = choice.Of({1, 1, 1, 2, 2, 3, 4});
  s.dilation_h = s.dilation_w = choice.Of({1, 1, 1, 1, 2, 3});
  if (choice.Of({0, 1, 1, 1}) == 1) {
    s.pad_top = s.pad_bottom = (s.r - 1) / 2 * s.dilation_h;
    s.pad_left = s.pad_right = (s.s - 1) / 2 * s.dilation_w;
  }
  return s;
}

Trial RandomTrial(Choice& choice) {
  Trial trial;
  do {
    trial.layer.shape = RandomShape(choice);
  } while (OutputRows(trial.layer.shape) < 1 || OutputColumns(trial.layer.shape) < 1);
  trial.layer.direction = static_cast<ProductDirection>(choice.Of({0, 1, 2}));
  trial.layer.layout = static_cast<TensorLayout>(choice.Of({0, 1}));
  trial.layer.element_bytes = choice.Of({1, 2, 2, 4, 4, 4, 8});
  trial.tile = {choice.Of({64, 128, 128, 256}), choice.Of({32, 64, 128}),
                choice.Of({4, 8, 8, 16, 32})};
  if (trial.layer.direction == ProductDirection::kBackwardWeights)
    trial.tile.slices = choice.Of({1, 2, 4, 8});
  // Small chips and caches, so that most layers do not fit.
  trial.caches.l2 = {static_cast<double>(choice.Of({30, 100, 400, 2000})) * 1e3,
                     static_cast<double>(choice.Of({5, 20, 54, 108}))};
  return trial;
}

std::string Text(const Trial& trial) {
  const auto& s = trial.layer.shape;
  return fmt::format(
      "{} {} {} byte n{}c{}h{}w{}k{}r{}s{}_s{}p{}x{}d{}g{} tile {}x{}x{}, K in {}, {} CTAs a wave, "
      "L2 {} kB",
      Key(trial.layer.direction), trial.layer.layout == TensorLayout::kNhwc ? "nhwc" : "nchw",
      trial.layer.element_bytes, s.n, s.c, s.h, s.w, s.k, s.r, s.s, s.stride_h, s.pad_top,
      s.pad_left, s.dilation_h, s.groups, trial.tile.m, trial.tile.n, trial.tile.k,
      trial.tile.slices, trial.caches.l2.ctas_per_wave, trial.caches.l2.bytes / 1e3);
}

std::array<double, 4> Levels(const TrafficBytes& bytes) {
  return {L1Bytes(bytes), L2StepBytes(bytes), L2TileBytes(bytes), Total(bytes.dram)};
}

void Summarize(LevelStudy& study) {
  std::ranges::sort(study.errors, [](const auto& a, const auto& b) {
    return std::abs(a.relative) > std::abs(b.relative);
  });
  std::vector<double> sizes;
  for (const auto& error : study.errors) sizes.push_back(std::abs(error.relative));
  study.median = Median(sizes);
  study.percentile95 = sizes[sizes.size() / 20];  // sizes fall
}

}  // namespace

std::vector<LevelStudy> StudyRandomLayers(int count, unsigned seed) {
  std::vector<LevelStudy> studies = {
      {"L1", 0, 0, {}}, {"L2 step", 0, 0, {}}, {"L2 tile", 0, 0, {}}, {"DRAM", 0, 0, {}}};
  Choice choice(seed);
  for (int i = 0; i < count; ++i) {
    const auto trial = RandomTrial(choice);
    const auto model = Levels(ModelTraffic(trial.layer, trial.tile, trial.caches));
    const auto exact = Levels(EnumerateTraffic(trial.layer, trial.tile, trial.caches).bytes);
    for (size_t level = 0; level < studies.size(); ++level)
      studies[level].errors.push_back({model[level] / exact[level] - 1, Text(trial)});
  }
  for (auto& study : studies) Summarize(study);
  return studies;
}

}  // namespace dlroof::delta
