// Short texts of a prediction that table and page share.
#pragma once

#include <string>

#include "bench/predict/study.h"

namespace dlroof {

std::string TileText(const CtaTile& tile);  // "128x64x8", "128x64x8/4" with K in four slices
std::string BoundShares(
    const PredictedGroup& group);  // "compute 92 %, DRAM 8 %" of the time, from 0.5 % on
// "compute -> DRAM (9 calls)": layers that another resource bounds than before; "none".
std::string NewBottlenecks(const PredictedGroup& before, const PredictedGroup& after);
// Figures of a GPU that nobody measured or published.
int Assumptions(const GpuSpec& gpu);
// Figures that are ceilings of the machine itself.
int MeasuredCeilings(const GpuSpec& gpu);

}  // namespace dlroof
