// Client requests to callgrind, the cache simulator; without it they do nothing.
#pragma once

namespace dlroof::runner {

// Starts the simulation with empty caches.
void StartSimulation();
// Sets the counts to zero without changing the simulated caches.
void ForgetCounts();
// Writes the counts to callgrind's output file and ends the simulation.
void WriteCounts();

}  // namespace dlroof::runner
