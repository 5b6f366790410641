// Kernels as a wrong compiler, a wrong flag or a wrong count would make them: what a ceiling's
// self-proof must find. Plain C++, fp32 on 16 accumulators of 16 bytes, a = a * x + y.
#pragma once

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof {

// The right one, of which the others are mutations.
FlopsProbe SoundProbe();

FlopsProbe DeadSumProbe();           // never stored, so the compiler deletes the loop
FlopsProbe HalfWidthProbe();         // 8-byte vectors, counted as 16 bytes
FlopsProbe HalfTheAccumulators();    // 8 in the loop, 16 counted
FlopsProbe UncountedAccumulators();  // 16 in the loop, 8 counted
FlopsProbe HoistedLoopProbe();       // the loop's work done once, whatever the iterations
FlopsProbe MissingIterationProbe();  // one iteration too few
FlopsProbe MissingSweepProbe();      // one sweep an iteration, two counted
FlopsProbe FusedProbe();             // one rounding where multiply and add are counted apart

// int8 dot products: the right one, and one that multiplies once and adds the product each time. It
// leaves the same sum, and runs as fast as additions do.
FlopsProbe SoundDotProbe();
FlopsProbe HoistedProductProbe();

}  // namespace dlroof
