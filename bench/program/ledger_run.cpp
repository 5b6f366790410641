#include "bench/program/ledger_run.h"

#include <sstream>

#include "bench/program/program_run.h"
#include "bench/program/spoken_run.h"
#include "counters/base/error.h"
#include "counters/base/folders.h"
#include "reporters/program/program_summary.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof {

std::optional<ProgramLedger> RunForLedger(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  const auto log = folder / "onednn.log";
  std::string remark;
  const auto run = RunSpoken(
      {.command = command, .variables = SpeakingVariables(remark), .shown = false, .log = log});
  const auto& end = run.end;
  if (end.passed_signal != 0 || end.end.signal != 0 || end.end.exit_code != 0) return std::nullopt;
  if (run.executed == 0) return std::nullopt;
  std::ostringstream unused;
  try {
    const auto placed =
        PlaceRun(ProgramRun(log, {.wall_seconds = end.wall_seconds}, std::nullopt, unused));
    const auto summary = ProgramOf(placed.file.context);
    if (!summary) return std::nullopt;
    return LedgerOf(UsesOf(placed, *summary), *summary);
  } catch (const BadInput&) {  // its lines are of no version that can be read
    return std::nullopt;
  }
}

}  // namespace dlroof
