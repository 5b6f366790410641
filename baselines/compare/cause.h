// Why a benchmark moved: what else changed between its two records. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof {

enum class ChangeKind { kAlgorithm, kFlops, kBytes, kLaunches, kClock, kDisturbed };
std::string_view Key(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::kAlgorithm;
  std::optional<Level> level;   // of bytes
  std::optional<double> ratio;  // [1] NEW / BASE, of what is a quantity
  std::string text;             // "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
};

// [1] Counters and simulations repeat themselves within this share.
inline constexpr double kCountedCount = 0.05;

// In the order in which they explain a time: algorithm, FLOPs per pipe, bytes per level, launches
// (each of one provenance that both records have, best known first), clock (of a GPU's SMs in
// clean repetitions where both runs know it, else under the ceilings of the record's pipes, where
// both runs measured it), disturbed repetitions. Machines may be null.
std::vector<Change> FindChanges(const Record& base, const Machine* base_machine,
                                const Record& fresh, const Machine* fresh_machine);

// One line: the changes' texts; "unexplained: ..." when there is none. A clock or a quantity that
// went the other way (`slower`, but fewer bytes) is said to be so by its text alone.
std::string WhyItMoved(const std::vector<Change>& changes);

}  // namespace dlroof
