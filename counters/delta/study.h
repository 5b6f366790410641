// The fast model judged by the exact count, over random layers: how far it can be trusted.
#pragma once

#include <string>
#include <vector>

namespace dlroof::delta {

struct LayerError {
  double relative = 0;  // [1] model / exact - 1
  std::string layer;    // shape, direction, layout, element size, tile
};

struct LevelStudy {
  std::string level;               // "L1", "L2 step", "L2 tile", "DRAM"
  double median = 0;               // [1] of the absolute relative errors
  double percentile95 = 0;         // [1]
  std::vector<LayerError> errors;  // of every layer, the worst first
};

// Layers of all directions and layouts, groups, dilation, strides, padding, element sizes 1 to 8,
// tiles and caches, from a generator that is the same everywhere. `count` at least 1.
std::vector<LevelStudy> StudyRandomLayers(int count, unsigned seed);

}  // namespace dlroof::delta
