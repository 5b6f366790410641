// The processes of a log (verbose_line.h).
#include <algorithm>

#include "reporters/logs/verbose_line.h"

namespace dlroof::logs {
namespace {

bool HasAncestor(const VerboseLog& log, const LogProcess& process) {
  return std::ranges::any_of(process.ancestors, [&](std::int64_t ancestor) {
    return std::ranges::count(log.processes, ancestor, &LogProcess::id) > 0;
  });
}

}  // namespace

void SetApart(VerboseLog& log) {
  const auto count = log.processes.size();
  if (count < 2) return;
  std::vector<double> seconds(count);
  for (const auto& execution : log.executions) seconds[execution.process] += execution.seconds;
  std::optional<std::uint32_t> main;
  for (std::uint32_t i = 0; i < count; ++i)
    if (seconds[i] > 0 && !HasAncestor(log, log.processes[i]) &&
        (!main || seconds[i] > seconds[*main]))
      main = i;
  log.main_process = main.value_or(0);
  std::vector<std::uint32_t> used(log.primitives.size());  // 1: by the main process, 2: others
  for (const auto& execution : log.executions)
    used[execution.primitive] |= execution.process == log.main_process ? 1 : 2;
  std::vector<std::uint32_t> apart(log.primitives.size());
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    apart[i] = i;
    if ((used[i] & 2) == 0) continue;
    auto text = log.primitives[i];
    text.others.emplace_back(kProcessField, "other");
    if (used[i] == 2) {
      log.primitives[i] = std::move(text);
    } else {
      apart[i] = static_cast<std::uint32_t>(log.primitives.size());
      log.primitives.push_back(std::move(text));
    }
  }
  for (auto& execution : log.executions)
    if (execution.process != log.main_process) execution.primitive = apart[execution.primitive];
}

}  // namespace dlroof::logs
