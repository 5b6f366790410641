// A measured time as a sum of named parts, from what the roof needs to what is not explained. Pure.
//
// Parallel part: the POP project's efficiencies (Performance Optimisation and Productivity,
// "standard metrics"), whose product is the mean useful time of a thread over the time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parallel_time.h"
#include "counters/work.h"

namespace dlroof {

enum class PartKind {
  kRoof,         // the binding roof's own time: arithmetic, or bytes of one level
  kFunctions,    // sigmoid, tanh and such, by the library's own primitives
  kUnexplained,  // the rest of the threads' busy time
  kImbalance,    // the slowest thread of each region less the mean
  kForkJoin,     // starting and ending parallel regions
  kSerial,       // one thread works, the others wait
  kCall,         // one call of the library, as an empty primitive has it
  kStolen,       // threads were ready and had no CPU
};
std::string_view Key(PartKind kind);    // "fork_join"
std::string_view Words(PartKind kind);  // "fork and join of parallel regions"

struct LedgerPart {
  PartKind kind = PartKind::kRoof;
  double seconds = 0;  // [s] > 0
  Provenance from = Provenance::kMeasured;
  std::string how;  // "33 regions, 1.0 us each"

  bool operator==(const LedgerPart&) const = default;
};

// [1] In ]0, 1]; absent with one thread.
struct Efficiencies {
  double load_balance = 1;   // mean over longest busy time in regions
  double serialisation = 1;  // what is left of the threads' time by one that works alone
  double transfer = 1;       // what fork, join and calls leave
  double parallel = 1;       // their product: mean useful time of a thread over the time
};

// The facts that a ledger is made of.
struct LedgerFacts {
  double seconds = 0;       // [s] measured time of one call
  double roof_seconds = 0;  // [s] that the binding roof asks for; 0: not known
  Provenance roof_from = Provenance::kModelled;
  std::string roof;                    // "arithmetic" or "DRAM"
  std::optional<double> call_seconds;  // [s] of an empty call, by the ceilings
  ParallelTime parallel;
};

struct Ledger {
  std::vector<LedgerPart> parts;  // from the roof on, their sum is `seconds`; none is 0
  double seconds = 0;
  std::optional<Efficiencies> efficiencies;

  const LedgerPart* Find(PartKind kind) const;
  // The largest part above the roof; null where there is none.
  const LedgerPart* Largest() const;
  // [1] Share of the gap (all but the roof's part) that is not explained; 0 without a gap.
  double UnexplainedShare() const;
};

// The passes' times are scaled to `seconds`. A part that another estimate leaves no room for is
// shortened: functions after the roof, waits for a CPU within imbalance and fork and join.
Ledger MakeLedger(const LedgerFacts& facts);

// One sentence for the largest part: its share and what it proposes; empty without a part.
std::string LedgerAdvice(const Ledger& ledger, const ParallelTime& parallel);

}  // namespace dlroof
