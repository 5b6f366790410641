// What several measurements of one machine say together about its rows. Other programs, a host that
// holds the clock down, or a neighbour on the core only lower a rate: the best of many visits is
// the best evidence, and visits at different times that agree with it validate it, though none
// could alone. Pure.
#pragma once

#include <string>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {

inline constexpr double kArithmeticAgreement = 0.03, kMemoryAgreement = 0.05;  // [1] of two visits
inline constexpr double kApartSeconds = 60;  // [s] see LearnedShared

// Which visits of a row agree with its fastest undisturbed one: those with at least one clean
// repetition, a rate within `tolerance`, a clock (if known) within 5 % of the row's highest, and
// (if known) operations per cycle within 4 % of what the CPU allows.
struct Agreement {
  int visits = 0;    // all
  int agreeing = 0;  // with the fastest, itself included
  double best = 0;   // [flop/s] or [byte/s] the fastest rate with a clean repetition; 0: none
};
Agreement AgreementOf(const Ceiling& ceiling, double tolerance);

// Returns a row of DRAM or L3 after a measurement `now`, the first if `stored` is null: the fastest
// rate, validated only if visits at least kApartSeconds apart agree on it. Programs on other cores
// slow these levels for seconds and leave no other trace.
Ceiling LearnedShared(const Ceiling* stored, const Ceiling& now);

// Returns the row after another measurement `now`, with the visits of both (at most 8, the
// fastest):
// - A validated rate stays until another validated rate is more than `tolerance` faster, or two
//   visits agree on a faster one. It is never replaced by a lower or a not validated rate.
// - Without a validated rate, the fastest one; validated if two visits agree on it.
// A ceiling that is `unbounded` is no evidence and gives way to one that is not.
Ceiling Learned(const Ceiling& stored, const Ceiling& now, double tolerance);

// Returns the set after another measurement: each row as above, of costs the lower one, of all else
// the newer. Plain pipes and the roofs of levels are those of `now` where only that has them; call
// AddRoofs afterwards.
CeilingSet Learned(const CeilingSet& stored, const CeilingSet& now);

}  // namespace dlroof::machine
