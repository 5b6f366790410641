// Calls that are faster than a roof allows: which of the roof and the counted or modelled work is
// wrong, and the remark that says so. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ceilings/machine/machine.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {

// [s] Returns the time that a call which took `seconds` can have taken at most, with the upper end
// of the median's interval, at least 2 % more. A roof time above it puts the call above this roof.
double LongestSeconds(const record::Record& record, double seconds);

// Returns whether modelled DRAM bytes of a GPU call may include data that later waves of its kernel
// read again. The model that adds them leaves a counting note.
bool HasModelledRereads(const record::Record& record);

// The bytes of one level, and the roof that they are compared with.
struct LevelUse {
  const record::Record& record;
  const machine::Machine& machine;
  const machine::Ceiling& ceiling;  // of the level
  Level level = Level::kDram;
  double bytes = 0;  // [byte]
  Provenance bytes_from = Provenance::kModelled;
  double seconds = 0;  // [s] measured time of the call
};

// Returns what is wrong if the call moved the level's bytes faster than its roof allows. Returns
// nullopt if it did not.
//
// Counted bytes were moved, so the roof is too low. Compulsory bytes pass DRAM, so its roof is too
// low too, unless the part of them that a warm cache can still contain makes the difference.
// Other modelled or simulated bytes are wrong if the roof is validated. Otherwise, and under a
// specified roof, it is not known which of the two is wrong.
std::optional<WrongPart> WrongPartOf(const LevelUse& use);

// Returns "above the l2 roof by 50 %, so l2 does not count as its bound: its bytes were counted,
// ...".
std::string AboveRoofRemark(const LevelUse& use, WrongPart wrong);

// Returns a sentence on the count that the record's modelled FLOPs are, if the op's two counts of
// its problem differ by more than 1 % (ProductFlops).
std::optional<std::string> FlopCountText(const record::Record& record, const OpWords* words);

// Registers the count of an op without padding: the FLOPs of the products of a record's name, or of
// all its steps if it has no products. `flops` throws BadInput if the problem is none of the op's.
// Returns true.
using NamedFlops = std::function<double(const record::Record& record)>;
bool RegisterNamedFlops(const std::string& op, NamedFlops flops);

// Removes modelled FLOPs that are not those of the record's name or not the sum of
// their parts, and adds a counting note that says so. Returns what is wrong with them. Readers of
// run files call it for each record.
std::optional<std::string> DropWrongFlops(const OpWords* words, record::Record& record);

// Adds a remark if the call computes faster than its arithmetic roof: whether the FLOP count (an
// algorithm with fewer FLOPs, an older file's taps in the padding) or the roof is wrong. Needs
// placement.time.
void ReportAboveArithmeticRoof(const record::Record& record, const OpWords* words,
                               const machine::CeilingSet& ceilings, Placement& placement);

}  // namespace dlroof::roofline
