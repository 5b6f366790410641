// Bytes that a call cannot have moved, being faster than that. Pure.
#pragma once

#include <string>
#include <utility>

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"

namespace dlroof::roofline {

// Factor by which an unproved ceiling may be too fast or too slow, unless it is `unbounded`. What
// the clock's proofs find is either too slow (other programs, repetitions or passes that disagree;
// two hardware threads halve a core), or too fast because a kernel did half of what it counts (half
// its vectors, twice the work in the same time): 2.
inline constexpr double kUnprovedFactor = 2;

struct TimedCall {
  const record::Record& record;
  const machine::Machine& machine;
  const machine::Ceiling& ceiling;  // of the level asked about
  double seconds = 0;      // [s] the call took
};

// Returns why bytes [byte] of that provenance, which nobody counted, are left out: the call is
// faster than they could move. Empty: it is not. Only what even a faster ceiling would refute is
// refuted. A given rate refutes nothing but DRAM traffic of what fits a cache: a point above its
// roof is drawn and reported.
std::string WhyRefuted(const TimedCall& call, Level level, std::pair<double, Provenance> known);

}  // namespace dlroof::roofline
