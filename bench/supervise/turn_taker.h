// A process of dlroof_bench that measures a window in each of its turns and pauses between them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/supervised_program.h"
#include "counters/base/process.h"

namespace dlroof::supervise {

// Windows of one side in one block.
inline constexpr int kWindows = 5;

// Returns the flags of a process that takes turns: its repetitions, and their length. Windows are
// so short that most slow spells of a shared machine meet all sides, and long enough that the cost
// of a turn (filling the caches, waking threads) is no part of them. Blocks are short, because
// their number counts.
const std::vector<std::string>& WindowFlags();

class TurnTaker {
 public:
  // Starts `command`, of one benchmark, with WindowFlags() beside it. `timeout_seconds` [s]: for
  // each answer.
  TurnTaker(std::vector<std::string> command, ProcessPaths paths, double timeout_seconds,
            const Variables& variables = {});

  // Waits until it is ready to measure. False: it ended, or does not answer.
  bool Ready();
  // Lets it measure until its repetitions are alike. False: it ended, or does not answer.
  bool Settle();
  // Lets it measure one window; returns its iterations. Absent: it ended, or does not answer.
  std::optional<std::string> Turn();
  // Absent: it has not ended after so long.
  std::optional<ProcessEnd> End(double seconds);

  const ProcessPaths& paths() const { return paths_; }

 private:
  ProcessPaths paths_;
  double timeout_seconds_;
  std::unique_ptr<WatchedProcess> process_;
};

}  // namespace dlroof::supervise
