// Client requests to callgrind, the cache simulator; without it they do nothing.
#pragma once

namespace dlroof::runner {

void StartSimulation();  // with empty caches
void ForgetCounts();     // sets the counts to zero without changing the simulated caches
void WriteCounts();      // writes the counts to callgrind's output file and ends the simulation

}  // namespace dlroof::runner
