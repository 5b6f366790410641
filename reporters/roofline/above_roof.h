// Calls that are faster than a roof allows: decides whether the roof or the call's FLOPs or bytes
// are wrong, and writes a remark. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ceilings/machine/machine.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {

// Returns the upper limit [s] of the measured time `seconds` [s]: scaled by upper end / median of
// the record's 95 % interval, at least by 1.02. A call whose roof time is longer exceeds the roof.
double LongestSeconds(const record::Record& record, double seconds);

// Returns whether the modelled DRAM bytes of a GPU call may include data that later waves of thread
// blocks read again: the traffic model that adds such bytes also adds a note to record.counting.
bool HasModelledRereads(const record::Record& record);

// A call's bytes at one memory level, and that level's roof.
struct LevelUse {
  const record::Record& record;
  const machine::Machine& machine;
  const machine::Ceiling& ceiling;  // the level's roof
  Level level = Level::kDram;
  double bytes = 0;  // [byte]
  Provenance bytes_from = Provenance::kModelled;
  double seconds = 0;  // [s] measured time of the call
};

// Returns what is wrong if the call moved the level's bytes faster than its roof allows. Returns
// nullopt if it did not.
//
// - Counted bytes were moved, so the roof is too low (kRoof).
// - Compulsory bytes (all tensors, each once) at DRAM: kBytes if the call is below the roof without
//   the bytes that a warm cache may hold. Otherwise kUnknown for a specified roof, else kRoof.
// - Other modelled or simulated bytes: kBytes if the roof is validated, else kUnknown.
std::optional<WrongPart> WrongPartOf(const LevelUse& use);

// Returns "above the l2 roof by 50 %, so l2 does not count as its bound: ...".
std::string AboveRoofRemark(const LevelUse& use, WrongPart wrong);

// Returns a sentence that says whether the record's modelled FLOPs include products with padding.
// Returns nullopt if the two counts (ProductFlops) differ by at most 1 %.
std::optional<std::string> FlopCountText(const record::Record& record, const OpWords* words);

// Registers the FLOP count of an op without padding, computed from a record's name: the FLOPs of
// its matrix products, or of all its steps if it has no products. `flops` throws BadInput if the
// problem's text is invalid. Returns true.
using NamedFlops = std::function<double(const record::Record& record)>;
bool RegisterNamedFlops(const std::string& op, NamedFlops flops);

// Removes the modelled FLOPs of a record if they contradict the problem in its name, and adds a
// counting note. Returns what is wrong, or nullopt. Readers of run files call it for each record.
std::optional<std::string> DropWrongFlops(const OpWords* words, record::Record& record);

// Adds a remark if the call's FLOP/s exceed its arithmetic roof. The remark says whether the roof
// is wrong or the FLOP count, which may include FLOPs that the call skips (Winograd, padding).
// Requires placement.time.
void ReportAboveArithmeticRoof(const record::Record& record, const OpWords* words,
                               const machine::CeilingSet& ceilings, Placement& placement);

}  // namespace dlroof::roofline
