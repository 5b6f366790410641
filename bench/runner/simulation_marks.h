// Requests to the cache simulator that runs the program (callgrind): valgrind/simulation_marks.cpp,
// or, where valgrind's headers were not there, no_valgrind/simulation_marks.cpp.
#pragma once

namespace dlroof::runner {

// Instructions run simulated from here on; the simulated caches are empty.
void StartSimulation();
// The counts so far are forgotten; the caches stay as they are.
void ForgetCounts();
// Writes the counts since then to callgrind's file, and ends the simulation.
void KeepCounts();

// True if this build has the marks.
bool CanMarkSimulation();

}  // namespace dlroof::runner
