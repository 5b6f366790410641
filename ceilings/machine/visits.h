// Joins several measurements (visits) of one machine's rows. Other programs, a host that lowers the
// clock and a busy sibling thread only lower a rate. So the best of many visits is the best
// evidence, and visits at different times that agree with it validate it, even if no visit alone is
// validated. Pure.
#pragma once

#include <string>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {

inline constexpr double kArithmeticAgreement = 0.03, kMemoryAgreement = 0.05;  // [1] `tolerance`
inline constexpr double kApartSeconds = 60;  // [s] see LearnedShared

// How many visits of a row agree with its fastest clean visit. Agreeing visits have at least one
// clean repetition, a rate within `tolerance`, a clock (if known) within 5 % of the row's highest,
// and operations per cycle (if known) within 4 % of a value that the CPU allows.
struct Agreement {
  int visits = 0;    // all visits
  int agreeing = 0;  // agreeing visits, including the fastest
  double best = 0;   // [flop/s] or [byte/s] fastest rate with a clean repetition; 0: none
};
Agreement AgreementOf(const Ceiling& ceiling, double tolerance);

// Joins a new measurement `now` of a DRAM or L3 row with the `stored` one (null: none). Returns the
// fastest rate, validated only if visits at least kApartSeconds apart agree on it: programs on
// other cores slow these levels for seconds, and no other check shows it.
Ceiling LearnedShared(const Ceiling* stored, const Ceiling& now);

// Joins a new measurement `now` of a row with the stored one. Returns the ceiling with the visits
// of both (at most 8, the fastest):
// - The faster validated rate, if there is one, unless two visits agree on a rate that is more than
//   `tolerance` faster. A lower or a not validated rate never replaces it.
// - Otherwise the fastest rate; validated if two visits agree on it.
// If one of the ceilings is `unbounded`, returns the other one.
Ceiling Learned(const Ceiling& stored, const Ceiling& now, double tolerance);

// Joins a new measurement with the stored set: rows as above, the lower launch cost and overheads,
// the new value of everything else. Call AddRoofs afterwards to choose the roofs again.
CeilingSet Learned(const CeilingSet& stored, const CeilingSet& now);

}  // namespace dlroof::machine
