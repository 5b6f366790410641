// A machine and records whose rooflines can be worked out by hand.
#pragma once

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"
#include "tests/fakes/ceilings.h"

namespace dlroof::fakes {

// 100 flop/s and 10 byte/s: the ridge is at 10 flop/byte.
inline machine::Machine MachineWithRidge() {
  machine::Machine machine{.device = "cpu"};
  machine::CeilingSet& all = machine.by_threads[2];
  all.flops["fp32.vector"] = Validated(100);
  all.flops["bf16.matrix"] = Validated(1000);
  all.bytes[Level::kDram] = Validated(10);
  all.bytes[Level::kL2] = Validated(50);
  all.launch_seconds = 0.5;
  return machine;
}

inline record::Record Measured(double seconds, double flops, double dram_bytes) {
  record::Record record{.threads = 2, .cache = "warm", .repetitions = {{.seconds = seconds}}};
  Work& work = record.work[Provenance::kModelled];
  work.flops["fp32.vector"] = flops;
  work.bytes[Level::kDram] = dram_bytes;
  work.launches = 1;
  return record;
}

}  // namespace dlroof::fakes
