// Throughput that a program was measured to have on some nodes, beside the band that is predicted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/scale/scaling.h"

namespace dlroof {

struct MeasuredScale {
  int nodes = 1;
  double samples_per_second = 0;  // [1/s] of all nodes
  std::string label;              // "PyTorch DDP"; may be empty
};

// Reads CSV with the columns nodes, samples_per_second and, where wanted, label, in any order.
// Throws BadInput ("WHERE:LINE: column N: ...") for another column, a missing one, a number of
// nodes that is none, a throughput that is not above 0, and for no row at all.
std::vector<MeasuredScale> ReadMeasuredScale(std::string_view text, const std::string& where);

// The predicted row of as many nodes; null: there is none.
const ScaleRow* RowOfNodes(const std::vector<ScaleRow>& rows, int nodes);

}  // namespace dlroof
