#include "counters/base/work.h"

#include <algorithm>

#include "counters/base/keys.h"

namespace dlroof {
namespace {

constexpr KeyRow<ProductDirection> kDirections[] = {
    {ProductDirection::kForward, "fwd"},
    {ProductDirection::kBackwardData, "bwd_data"},
    {ProductDirection::kBackwardWeights, "bwd_weights"}};
constexpr KeyRow<Level> kLevels[] = {{Level::kL1, "l1"},
                                     {Level::kL2, "l2"},
                                     {Level::kL3, "l3"},
                                     {Level::kDram, "dram"},
                                     {Level::kHost, "host"}};
constexpr KeyRow<Provenance> kProvenances[] = {{Provenance::kMeasured, "measured"},
                                               {Provenance::kSimulated, "simulated"},
                                               {Provenance::kModelled, "modelled"}};

}  // namespace

std::string_view Key(ProductDirection direction) { return KeyIn(kDirections, direction); }

std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key) {
  return ValueIn(kDirections, key);
}

const std::vector<Level>& AllLevels() {
  static const auto values = ValuesOf(kLevels);
  return values;
}

const std::vector<Provenance>& AllProvenances() {
  static const auto values = ValuesOf(kProvenances);
  return values;
}

const std::vector<std::string>& AllPipeTypes() {
  static const std::vector<std::string> types = {"fp64", "fp32", "tf32", "fp16", "bf16",
                                                 "int8", "fp8",  "fp4",  "int32"};
  return types;
}

const std::vector<std::string>& AllPipeUnits() {
  static const std::vector<std::string> units = {"vector", "matrix"};
  return units;
}

std::string_view Key(Level level) { return KeyIn(kLevels, level); }
std::string_view Key(Provenance provenance) { return KeyIn(kProvenances, provenance); }

std::optional<Level> LevelFromKey(std::string_view key) { return ValueIn(kLevels, key); }

std::optional<Provenance> ProvenanceFromKey(std::string_view key) {
  return ValueIn(kProvenances, key);
}

bool IsPipeKey(std::string_view key) {
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) return false;
  const auto type = key.substr(0, dot);
  auto unit = key.substr(dot + 1);
  if (const auto finer = unit.find('.'); finer != std::string_view::npos) {
    if (finer + 1 == unit.size()) return false;
    unit = unit.substr(0, finer);
  }
  return std::ranges::count(AllPipeTypes(), type) > 0 &&
         std::ranges::count(AllPipeUnits(), unit) > 0;
}

std::optional<double> TotalFlops(const Work& work) {
  if (work.flops.empty()) return std::nullopt;
  double total = 0;
  for (const auto& [pipe, flops] : work.flops) total += flops;
  return total;
}

}  // namespace dlroof
