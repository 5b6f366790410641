// Client requests to callgrind, the cache simulator under which the program runs. Implemented in
// valgrind/simulation_marks.cpp, or in no_valgrind/ for builds without valgrind's headers, where
// the requests do nothing.
#pragma once

namespace dlroof::runner {

// Starts the simulation with empty caches.
void StartSimulation();
// Sets the counts to zero without changing the simulated caches.
void ForgetCounts();
// Writes the counts to callgrind's output file and ends the simulation.
void WriteCounts();

// Returns whether this build can send the requests.
bool CanMarkSimulation();

}  // namespace dlroof::runner
