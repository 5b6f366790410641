// The cells and sentences that show scaling: the same in the terminal and in Markdown.
#pragma once

#include <string>
#include <vector>

#include "baselines/scale/write_scale.h"

namespace dlroof {

// "resnet50, f32, onednn: weak scaling, 16 samples per node"
std::string WeakTitle(const ScaleCase& one);
std::string StrongTitle(const ScaleCase& one);
Cells ScaleCells(const std::vector<ScaleRow>& rows);
Cells SimulatedCells(const ScaleReport& report);  // a title alone where nothing was simulated
// Throughput that was measured, beside the band of each case that has a row of as many nodes; a
// title alone where nothing was measured.
Cells MeasuredCells(const ScaleReport& report);
// Sentences about one case: coverage, gradients, the batch that hides the network, break-even.
std::vector<std::string> CaseNotes(const ScaleCase& one, const ScaleReport& report);
// Sentences about all: network, overlap, stragglers.
std::vector<std::string> ScaleNotes(const ScaleReport& report);

}  // namespace dlroof
