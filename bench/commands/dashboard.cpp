// dlroof dashboard: a static site of many runs.
#include "baselines/dashboard/dashboard.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "baselines/compare/stored_run.h"
#include "bench/commands/commands.h"
#include "counters/base/error.h"

namespace dlroof::commands {
namespace {

struct DashboardFlags {
  std::string folder;
  std::string db;
  std::string output = "site";
};

// A folder of run files becomes a history that lives as long as the program.
history::History HistoryOfFolder(const std::string& folder) {
  history::History history(":memory:", history::Access::kWrite);
  int others = 0;
  const auto files = compare::JsonFiles(folder);
  for (const auto& file : files) {
    const auto run = compare::ReadIfRun(file);
    if (run)
      history.Add(*run);
    else
      ++others;
  }
  if (others == static_cast<int>(files.size()))
    throw BadInput("{}: none of its {} JSON files is a run file", folder, files.size());
  if (others > 0)
    std::cerr << fmt::format("{}: passed over {} JSON files that are no run files\n", folder,
                             others);
  return history;
}

void RunDashboard(const DashboardFlags& flags) {
  if (flags.folder.empty() == flags.db.empty())
    throw BadInput("dashboard: expected a folder of run files, or --db with a history");
  const history::History history =
      flags.db.empty() ? HistoryOfFolder(flags.folder) : history::History(flags.db, history::Access::kRead);
  const auto counts = dashboard::WriteDashboard(history, flags.output);
  std::cerr << fmt::format("wrote {}/index.html: {} benchmarks, {} dates, {} changed their level\n",
                           flags.output, counts.series, counts.runs, counts.changed);
}

void AddDashboardCommand(CLI::App& program, int& /*exit_code*/) {
  auto flags = std::make_shared<DashboardFlags>();
  auto* command =
      program.add_subcommand("dashboard", "a static site of many runs: open index.html");
  command->add_option("DIR", flags->folder, "a folder of run files");
  command->add_option("--db", flags->db, "or a history (dlroof history)");
  command->add_option("-o,--output", flags->output, "the site's folder (site)");
  command->callback([flags] { RunDashboard(*flags); });
}

[[maybe_unused]] const bool dashboard_registered =
    RegisterCommand("dashboard", AddDashboardCommand);
}  // namespace

}  // namespace dlroof::commands
