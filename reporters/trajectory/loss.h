// The threads' time for a unit of work at two points, and the causes of its change. Pure.
//
// A call of `seconds` on `threads` threads costs threads x seconds / work. Scaling is ideal where
// that stays the same, so its change is the loss (or the gain, below 0). The causes add up to it:
// - the roof's own time is max(arithmetic, bytes x time of a byte over the levels). Its change is
//   divided among the three factors by their Shapley values: each one's mean effect over all orders
//   in which the three can change.
// - the ledger's parts give the other causes.
// - the rest is not explained.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "counters/work.h"
#include "reporters/ledger/ledger.h"

namespace dlroof::trajectory {

enum class Cause {
  kBandwidth,    // a thread's share of a level's bandwidth
  kIntensity,    // bytes of a level for each unit of work
  kArithmetic,   // the arithmetic roof of a thread: clock, shared cores, another mix of pipes
  kOverhead,     // fork and join, one thread alone, calls, code that runs whatever the sizes
  kImbalance,    // waiting for the slowest thread
  kIdle,         // threads that no parallel region uses
  kStolen,       // threads were ready and had no CPU
  kSharing,      // threads slow each other
  kFunctions,    // sigmoid, tanh and such
  kProducts,     // the library's matrix products, less the roof
  kLanes,        // vector lanes that the shape leaves idle
  kKernel,       // what else the library's kernel takes with all tensors near
  kLevels,       // bytes of the levels that do not bind
  kUnexplained,  // the rest
};
std::string_view Key(Cause cause);

// The times that the roofs of a point ask for.
struct RoofTime {
  double arithmetic_seconds = 0;           // [s]
  std::map<Level, double> memory_seconds;  // [s]
  std::map<Level, double> bytes;           // [byte] of one call; the same levels, none is 0
  std::map<Level, Provenance> bytes_from;  // the same levels
};

struct CostFacts {
  double seconds = 0;            // [s] of one call
  int threads = 1;               // [1] that it may use
  double work = 1;               // [1] of one call: its FLOPs, or 1 where the problem is the same
  std::optional<RoofTime> roof;  // absent: not placed
  std::optional<breakdown::Ledger> ledger;  // absent: not watched, or not placed
  int team = 1;                  // [1] with a ledger: threads of the widest parallel region

  double Cost() const { return seconds * threads / work; }
};

struct Loss {
  double before = 0, after = 0;  // [s of one thread / unit of work]
  // [the same] change by cause, their sum is after - before. Causes that nobody measured at both
  // points are absent; kUnexplained always is there.
  std::map<Cause, double> by;
  std::map<Cause, std::map<breakdown::PartKind, double>> parts;  // [the same] of the causes from the ledger
  std::optional<Level> level;            // whose bytes bind at the worse point; absent: arithmetic
  bool placed = false, watched = false;  // both points

  double Total() const { return after - before; }
  // [1] The change over the larger cost: 0.2 says that a fifth of the threads' time is lost.
  double Share(double change) const;
  // The largest cause in the direction of the total but kUnexplained; absent without one.
  std::optional<Cause> Largest() const;
};

Loss LossOf(const CostFacts& before, const CostFacts& after);

}  // namespace dlroof::trajectory
