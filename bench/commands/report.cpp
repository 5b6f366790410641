// dlroof report: run files as tables and a picture in the terminal, or as a page or figure.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "bench/commands/commands.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"
#include "reporters/page/page.h"
#include "reporters/program/program_report.h"
#include "reporters/record/joined_run.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_json.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

constexpr int kPictureColumns = 100;  // where the output is not a terminal

struct ReportFlags {
  std::vector<std::string> files;
  std::vector<std::string> outputs;
  std::string show = "all";
  std::vector<std::string> levels;
  std::string balance = "pipe";
  std::string level, sweep, before;
  bool verbose = false;
};

PlaceView ViewOf(const ReportFlags& flags) {
  PlaceView view;
  view.tensor_balance = flags.balance == "tensor";
  for (const auto& key : flags.levels) view.levels.push_back(LevelFromKey(key).value());
  return view;
}

std::vector<std::string> LevelKeys() {
  std::vector<std::string> keys;
  for (const auto level : AllLevels()) keys.emplace_back(Key(level));
  return keys;
}

FigureChoice ChoiceOf(const ReportFlags& flags, const PlacedRun* before) {
  FigureChoice choice;
  choice.all_levels = flags.level == "all";
  choice.sweep = flags.sweep;
  choice.before = before;
  if (!flags.level.empty() && !choice.all_levels) {
    choice.level = LevelFromKey(flags.level);
    if (!choice.level)
      throw BadInput("--level {}: no memory level; expected l1, l2, l3, dram, host or all",
                     flags.level);
  }
  return choice;
}

void WriteHtml(const PlacedRun& run, const FigureChoice& choice, const std::string& path) {
  std::ostringstream page;
  WritePage(run, page, choice.before);
  WriteFile(path, page.str());
}

// Writes the run file without Google Benchmark's own entries: all that a report needs, small enough
// to store.
void WriteStored(const PlacedRun& run, const FigureChoice&, const std::string& path) {
  WriteFile(path, ToStoredJson(run.file, run.view).dump() + '\n');
}

void WriteDrawn(const PlacedRun& run, const FigureChoice& choice, const std::string& path) {
  WriteFigure(run, path, choice);
}

struct Writer {
  std::string_view extension;
  void (*write)(const PlacedRun& run, const FigureChoice& choice, const std::string& path);
};
constexpr Writer kWriters[] = {{".html", WriteHtml},
                               {".json", WriteStored},
                               {".svg", WriteDrawn},
                               {".pdf", WriteDrawn},
                               {".png", WriteDrawn}};

const Writer& WriterFor(const std::string& path) {
  for (const auto& writer : kWriters)
    if (path.ends_with(writer.extension)) return writer;
  throw BadInput("-o {}: unknown extension, expected .html, .json, .svg, .pdf or .png", path);
}

// Beside the tables a picture is a help, not the answer: without one (nothing to draw, no gnuplot)
// the reason is a sentence.
void ShowPicture(const PlacedRun& run, int columns, bool alone) {
  try {
    std::cout << TerminalPicture(run, columns > 0 ? columns : kPictureColumns);
  } catch (const BadInput& error) {
    if (alone) throw;
    std::cerr << "no picture: " << error.what() << '\n';
  }
}

// "batch, filters or steps".
std::string SweepNames() {
  const auto names = SweepNames(WordsOf(nullptr));
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

void WriteTerminalTables(const PlacedRun& run, const ReportFlags& flags) {
  const int columns = TerminalColumns();
  const bool program = IsProgram(run.file);
  if (program) WriteProgram(run, columns, std::cout);
  if (!program || flags.verbose) WriteTables(run, columns, std::cout, flags.verbose);
}

// Several files: the tables of each, under its name.
void WriteEachTables(const std::vector<std::pair<std::string, RunFile>>& files,
                     const ReportFlags& flags) {
  for (const auto& [path, file] : files) {
    std::cout << Printable(path) << '\n';
    WriteTerminalTables(PlaceRun(file, ViewOf(flags)), flags);
    std::cout << '\n';
  }
}

void Report(const ReportFlags& flags) {
  for (const auto& path : flags.outputs) WriterFor(path);
  const auto view = ViewOf(flags);
  std::vector<std::pair<std::string, RunFile>> files;
  for (const auto& path : flags.files) files.emplace_back(path, ReadRunFile(path, std::cerr));
  const bool several = files.size() > 1;
  if (several && !flags.before.empty())
    throw BadInput("report: --before is for one run file, not beside several");
  const bool tables = flags.outputs.empty() && flags.show != "picture";
  if (several && tables) WriteEachTables(files, flags);
  const auto run =
      PlaceRun(several ? SideBySide(std::move(files)) : std::move(files.front().second), view);
  PlacedRun before;
  if (!flags.before.empty()) before = PlaceRun(ReadRunFile(flags.before, std::cerr), view);
  const auto choice = ChoiceOf(flags, flags.before.empty() ? nullptr : &before);
  for (const auto& path : flags.outputs) {
    WriterFor(path).write(run, choice, path);
    std::cerr << "wrote " << path << '\n';
  }
  if (!flags.outputs.empty()) return;
  if (!several && tables) WriteTerminalTables(run, flags);
  if (flags.show != "table") ShowPicture(run, TerminalColumns(), flags.show == "picture");
  std::cout << std::flush;
}

void AddReportCommand(CLI::App& program, int& /*exit_code*/) {
  auto flags = std::make_shared<ReportFlags>();
  auto* command =
      program.add_subcommand("report", "a run file as tables and a picture, a page or a figure");
  command
      ->add_option(
          "FILES", flags->files,
          "run file, or any Google Benchmark JSON; several of one machine are drawn on one "
          "chart, a colour each")
      ->required();
  command->add_option("-o,--output", flags->outputs,
                      "write x.html (interactive), x.svg, x.pdf, x.png, or x.json (only records "
                      "and machines) instead");
  command->add_option("--show", flags->show, "in the terminal: all, table or picture")
      ->check(CLI::IsMember({"all", "table", "picture"}));
  command->add_flag("--verbose", flags->verbose,
                    "in the terminal: the names of benchmarks that were not measured, and remarks "
                    "about ceilings that take no number away");
  command
      ->add_option("--levels", flags->levels,
                   "only the bytes of these memory levels count, with commas: dram is the "
                   "time-based roofline paper's (default: all that are known)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(LevelKeys()));
  AddBalanceOption(*command, flags->balance);
  command->add_option("--level", flags->level,
                      "figures: draw the points of this level, or one per level: all (default: the "
                      "level that most benchmarks know)");
  command->add_option("--sweep", flags->sweep,
                      "figures: only benchmarks that differ in one parameter alone, joined in its "
                      "order: " +
                          SweepNames());
  command->add_option("--before", flags->before,
                      "pages and figures: an older run file, an arrow from each benchmark's point "
                      "there to its point here");
  command->callback([flags] { Report(*flags); });
}

[[maybe_unused]] const bool report_registered = RegisterCommand("report", AddReportCommand);
}  // namespace

}  // namespace dlroof
