// Trials of settings: what measures them, and what they found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "baselines/tune/setting.h"
#include "reporters/record/record.h"

namespace dlroof::tuning {

// The times of one setting in one block.
struct TrialResult {
  std::vector<record::Repetition> windows;  // in the order measured; as many as the others of its block
  std::string failed;               // reason: it crashed, hung, has no result; empty: none
  bool unsupported = false;         // it failed because it cannot be here, which is no defect
};

// Settings that were measured by turns, each in fresh processes.
struct TrialBlock {
  std::string stage;                 // "threads", "confirmation"
  std::vector<Setting> settings;     // of a search the first is the one to beat
  std::vector<TrialResult> results;  // one per setting
  double seconds = 0;                // [s] duration
};

// Measures the settings by turns in an order drawn from `seed`, and sets `results` and `seconds`.
// Returns false: interrupted, and the block is void. A setting that fails is a result.
using MeasureBlock = std::function<bool(TrialBlock& block, std::uint64_t seed)>;

// Runs one setting alone, at most so many seconds: a command, and how its result is read. Absent:
// interrupted.
using Trial = std::function<std::optional<TrialResult>(const Setting& setting, double seconds)>;

// Returns the MeasureBlock of a program that cannot pause: its settings take turns run by run,
// `rounds` times, in a drawn order. `now` is a clock [s]. A trial that fails is not run again in
// the block.
MeasureBlock ByTurns(Trial trial, int rounds, double most_seconds, std::function<double()> now);

// Returns the logarithm of the ratio of the times of setting `fresh` of the block to those of
// setting 0. Absent: one of the two failed, or too few windows of both are undisturbed
// (BlockLogRatios).
std::optional<double> LogRatio(const TrialBlock& block, std::size_t fresh, std::size_t base = 0);

// Returns whether the block has no ratio, although two settings have times.
bool IsDisturbed(const TrialBlock& block);

}  // namespace dlroof::tuning
