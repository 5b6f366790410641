// dlroof export: runs in the formats of other tools.
#include "baselines/formats/export.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/history/history.h"
#include "bench/commands/commands.h"
#include "counters/base/error.h"

namespace dlroof::commands {
namespace {

struct ExportFlags {
  std::vector<std::string> files;
  std::string db;
  std::size_t last = 0;
  std::string format;
  std::string output;
};

std::vector<compare::NamedRun> ReadRuns(const ExportFlags& flags) {
  if (flags.files.empty() == flags.db.empty())
    throw BadInput("export: expected run files, or --db with a history");
  std::vector<compare::NamedRun> runs;
  for (const auto& file : flags.files) runs.push_back({file, record::ReadRunFile(file, std::cerr)});
  if (flags.db.empty()) return runs;
  const history::History history(flags.db, history::Access::kRead);
  const auto unchanging = history.Unchanging();
  const auto stored = history.Runs();
  const std::size_t count = flags.last == 0 ? stored.size() : std::min(flags.last, stored.size());
  for (std::size_t i = stored.size() - count; i < stored.size(); ++i)
    runs.push_back(history.Read(stored[i]));
  return runs;
}

void RunExport(const ExportFlags& flags) {
  auto runs = ReadRuns(flags);
  std::ostringstream out;
  formats::Export(flags.format, std::move(runs), out, std::cerr);
  WriteOutput(flags.output, out.str());
}

void AddExportCommand(CLI::App& program, int& /*exit_code*/) {
  auto flags = std::make_shared<ExportFlags>();
  std::string formats;
  for (const auto& exporter : formats::Exporters())
    formats += fmt::format("{}{} ({})", formats.empty() ? "" : "; ", exporter.format,
                           exporter.description);
  auto* command = program.add_subcommand("export", "runs in the formats of other tools");
  command->add_option("FILES", flags->files, "run files, or Google Benchmark JSON");
  command->add_option("--db", flags->db, "a history instead: all its runs, or --last of them");
  command->add_option("--last", flags->last, "only the newest N runs of the history");
  command->add_option("--format", flags->format, formats)->required();
  command->add_option("-o,--output", flags->output, "a file (without: standard output)");
  command->callback([flags] { RunExport(*flags); });
}

[[maybe_unused]] const bool export_registered = RegisterCommand("export", AddExportCommand);
}  // namespace

}  // namespace dlroof::commands
