// Requests to the cache simulator that runs the program (callgrind):
// simulation_marks_valgrind .cpp, or, where valgrind's headers were not there,
// simulation_marks_none.cpp.
#pragma once

namespace dlroof {

// Instructions run simulated from here on; the simulated caches are empty.
void StartSimulation();
// The counts so far are forgotten; the caches stay as they are.
void ForgetCounts();
// Writes the counts since then to callgrind's file, and ends the simulation.
void KeepCounts();

// True if this build has the marks.
bool CanMarkSimulation();

}  // namespace dlroof
