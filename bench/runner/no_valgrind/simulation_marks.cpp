#include "bench/runner/simulation_marks.h"

namespace dlroof::runner {

void StartSimulation() {}
void ForgetCounts() {}
void KeepCounts() {}
bool CanMarkSimulation() { return false; }

}  // namespace dlroof::runner
