// GPU of `dlroof model`, and its measured figures. Pure.
#pragma once

#include <string>

#include "ceilings/machine/machine.h"
#include "counters/delta/gpu_spec.h"
#include "reporters/record/run_file.h"

namespace dlroof::predict {

// Ceilings that are given, or were measured on the GPU and passed their self-proof, in place of the
// parameter file's rates: bytes per level, FLOPs per pipe; and the launch. Throws BadInput for a
// machine that is no GPU.
delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine);

struct GpuChoice {
  std::string gpu;                   // --gpu: a built-in name or a file's path; empty: not given
  const machine::Machine* machine = nullptr;  // --machine; null: not given
  const record::RunFile* run = nullptr;      // the run file asked about; null: none
  std::string run_path;              // for messages
};

// The GPU that is named, else the one that ran the run file, else the machine file's, else "v100".
// Ceilings are the machine file's; without one, and where nobody named a GPU, the run file's.
// Throws BadInput in one sentence: what FindGpu and WithCeilings refuse, a GPU that is not named
// and not known, ceilings of another GPU than the built-in one (a parameter file of one's own takes
// any).
delta::GpuSpec ChosenGpu(const GpuChoice& choice);

}  // namespace dlroof::predict
