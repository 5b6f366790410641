// The child of the counter source "simulate": one call of one benchmark, marked so that valgrind's
// cache simulator counts it and nothing else.
#pragma once

#include <string>
#include <vector>

namespace dlroof::runner {

// Makes dlroof_bench such a child: "--dlroof_simulated_call=NAME [--dlroof_seed=N]".
inline constexpr const char* kSimulatedCallFlag = "--dlroof_simulated_call=";

bool AsksForSimulatedCall(const std::vector<std::string>& args);

// Prepares the benchmark with one thread, puts the simulated caches into the state that its name
// asks for (warm: one call before; cold: one call of the same on other tensors before;
// cold-weights: that, then every tensor but the weights read), counts one call, and prints
// {"algorithm", "isa", "loops": how they are modelled, "tensor_bytes": as laid out, padding and
// all, "modelled": {"l2": bytes, ...}} as JSON. Without valgrind around it the marks do nothing.
// Throws as the benchmark's prepare does; BadInput for other arguments. Returns the exit code.
int RunSimulatedCall(const std::vector<std::string>& args);

}  // namespace dlroof::runner
