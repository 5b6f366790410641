// Graphs of cuDNN's frontend for GPUs that are not there. cuDNN proposes kernels that it compiles
// at run time only where there is a driver: the toolkit's stub of one is enough. It refuses to load
// what was compiled, and no earlier step fails.
#pragma once

#include <functional>
#include <string>

#include "bench/cudnn/graph.h"

namespace dlroof::fakes {

// Returns "proposed" if cuDNN proposes plans for the call that `describe` describes, with `compile`
// "compiled" if it also compiles one up to its load (seconds), or else the reason.
std::string Planned(const std::function<void(cudnn::GraphCall& call)>& describe,
                    int compute_capability, bool compile = false);

// Returns what `text` writes in a process with the stub of a driver, which would affect other
// tests.
std::string WithStub(const std::function<std::string()>& text);

}  // namespace dlroof::fakes
