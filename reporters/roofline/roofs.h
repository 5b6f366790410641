// The choice of the ceiling that a record's FLOPs or bytes are placed under. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ceilings/machine/machine.h"
#include "counters/base/work.h"

namespace dlroof::roofline {

// A ceiling that work is placed under: the roof, or a rate that the machine was seen to reach,
// which is a lower limit of the roof.
struct UsedCeiling {
  std::string name;                           // of its row, mix or level
  const machine::Ceiling* ceiling = nullptr;  // null: every candidate may be wrong by any factor
  bool replaced = false;  // it is not the best one, which may be wrong by any factor
  // By the name of a ceiling, why the true rate may be higher; empty: the ceiling is the roof.
  std::map<std::string, std::string> not_validated = {};
};

// Returns the best ceiling of a pipe among the rows whose instructions `isa` allows. If `isa` is
// unknown (empty) or allows no row, uses the plain row, which is the best of all. If the rate of
// the best one may be wrong by any factor, it is no evidence, and the best of the others that is
// replaces it. Returns nullopt if the machine has no ceiling for the pipe.
std::optional<UsedCeiling> RoofOf(const std::string& pipe, const std::string& isa,
                                  const machine::CeilingSet& ceilings);

// Returns the ceiling of a memory level. One of its mixes replaces it, as above. Returns nullopt if
// the machine has no ceiling for the level.
std::optional<UsedCeiling> RoofOf(Level level, const machine::CeilingSet& ceilings);

// Returns the highest ceiling of the matrix units; another one replaces it, as above. Returns
// nullopt if the machine has none.
std::optional<UsedCeiling> MatrixRoof(const machine::CeilingSet& ceilings);

}  // namespace dlroof::roofline
