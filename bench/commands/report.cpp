// dlroof report: shows run files as tables and a picture in the terminal, a web page or a figure.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <regex>
#include <sstream>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_report.h"
#include "bench/commands/commands.h"
#include "counters/base/error.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "reporters/document/document.h"
#include "reporters/document/tables.h"
#include "reporters/figure/outputs.h"
#include "reporters/figure/page.h"
#include "reporters/record/run_context.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

constexpr int kPictureColumns = 100;  // width of the picture outside a terminal

struct ReportFlags {
  std::vector<std::string> files;
  std::vector<std::string> outputs;
  std::string show = "all";
  std::vector<std::string> levels;
  std::string balance = "pipe";
  std::optional<std::string> level, sweep, before, filter;
  document::TableOptions tables;
};

roofline::PlaceView ViewOf(const ReportFlags& flags) {
  roofline::PlaceView view;
  view.tensor_balance = flags.balance == "tensor";
  for (const auto& key : flags.levels) view.levels.push_back(LevelFromKey(key).value());
  return view;
}

std::vector<std::string> LevelKeys() {
  return VectorOf<std::string>(AllLevels(), [](const auto level) { return Key(level); });
}

figure::FigureOptions OptionsOf(const ReportFlags& flags, const roofline::PlacedRun* before) {
  figure::FigureOptions options;
  options.all_levels = flags.level == "all";
  options.sweep = flags.sweep.value_or("");
  options.before = before;
  if (flags.level && !options.all_levels) {
    options.level = LevelFromKey(*flags.level);
    if (!options.level)
      throw BadInput("--level {}: unknown memory level; expected l1, l2, l3, dram, host or all",
                     *flags.level);
  }
  return options;
}

std::string RunPage(const roofline::PlacedRun& run, const figure::FigureOptions& options,
                    const std::string&) {
  auto content = figure::PageContent(run, options.before);
  auto program = programs::ProgramDocument(run);
  for (auto& block : programs::GpuProgramDocument(run).blocks) program.Add(std::move(block));
  if (!program.blocks.empty()) content["program"] = document::ToJson(program);
  std::ostringstream page;
  figure::WritePage(content, page);
  return page.str();
}

// Returns the run file without Google Benchmark's entries, which dlroof does not need.
std::string RunJson(const roofline::PlacedRun& run, const figure::FigureOptions&,
                    const std::string&) {
  return JsonText(roofline::ToStoredJson(run.file, run.view)) + '\n';
}

std::string RunScript(const roofline::PlacedRun& run, const figure::FigureOptions& options,
                      const std::string& extension) {
  return figure::FigureScript(figure::MakeFigure(run, options), extension);
}

// Prints the picture. If it cannot be drawn, throws BadInput if `required`, else prints the reason.
void ShowPicture(const roofline::PlacedRun& run, int columns, bool required) {
  try {
    std::cout << figure::TerminalPicture(run, columns > 0 ? columns : kPictureColumns);
  } catch (const BadInput& error) {
    if (required) throw;
    std::cerr << "no picture: " << error.what() << '\n';
  }
}

std::string SweepNames() {
  const auto names = roofline::SweepNames(roofline::WordsOf(nullptr));
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

void WriteTables(const roofline::PlacedRun& run, const document::TableOptions& options) {
  document::Document document;
  if (programs::IsProgram(run.file)) document = programs::ProgramDocument(run);
  if (!document.blocks.empty()) document.Add(document::CaveatsDocument(run));
  document.Add(programs::GpuProgramDocument(run, options.full_names));
  if (document.blocks.empty() || options.verbose) document.Add(document::RunDocument(run, options));
  document::Print(std::move(document), options.full_names);
}

// Warns if the files count FLOPs by different conventions.
void SayOtherCounts(const std::string& path, const record::RunFile& file,
                    const std::string& other_path, const record::RunFile& other) {
  const auto conventions = record::OtherFlopConventions(file.context, other.context);
  if (conventions.empty()) return;
  std::cerr << fmt::format(
      "dlroof: {} and {} count FLOPs by different conventions ({}): FLOP/s and percentages of "
      "roofs of the two cannot be compared\n",
      path, other_path, fmt::join(conventions, ", "));
}

// Keeps the records in whose names the regular expression matches somewhere.
void Filter(const std::string& pattern, const std::string& path, record::RunFile& file) {
  try {
    const std::regex wanted(pattern);
    std::erase_if(file.records,
                  [&](const auto& record) { return !std::regex_search(record.name, wanted); });
  } catch (const std::regex_error&) {
    throw BadInput("--filter {}: expected a regular expression (ECMAScript)", pattern);
  }
  if (file.records.empty()) throw BadInput("--filter {}: {} has no such benchmark", pattern, path);
}

int Report(const ReportFlags& flags) {
  const figure::Outputs<roofline::PlacedRun, figure::FigureOptions> outputs(
      {{"html", RunPage}, {"json", RunJson}}, RunScript);
  auto inputs = flags.files;
  if (flags.before) inputs.push_back(*flags.before);
  outputs.Check(flags.outputs, inputs);
  const auto view = ViewOf(flags);
  std::vector<std::pair<std::string, record::RunFile>> files;
  for (const auto& path : flags.files)
    files.emplace_back(path, record::ReadRunFile(path, std::cerr));
  if (flags.filter)
    for (auto& [path, file] : files) Filter(*flags.filter, path, file);
  const bool several = files.size() > 1;
  if (several && flags.before)
    throw BadInput("report: --before: expected one run file, not several");
  for (std::size_t i = 1; i < files.size(); ++i)
    SayOtherCounts(files[0].first, files[0].second, files[i].first, files[i].second);
  const bool tables = flags.outputs.empty() && flags.show != "picture";
  for (const auto& [path, file] : files) {
    if (!several || !tables) break;
    std::cout << text::Printable(path) << '\n';
    WriteTables(roofline::PlaceRun(file, view), flags.tables);
    std::cout << '\n';
  }
  const auto run = roofline::PlaceRun(
      several ? record::SideBySide(std::move(files)) : std::move(files.front().second), view);
  roofline::PlacedRun before;
  if (flags.before) {
    before = roofline::PlaceRun(record::ReadRunFile(*flags.before, std::cerr), view);
    SayOtherCounts(flags.files.front(), run.file, *flags.before, before.file);
  }
  const auto options = OptionsOf(flags, flags.before ? &before : nullptr);
  outputs.Write(flags.outputs, run, options);
  if (!flags.outputs.empty()) return 0;
  if (!several && tables) WriteTables(run, flags.tables);
  if (flags.show != "table") ShowPicture(run, text::TerminalColumns(), flags.show == "picture");
  std::cout << std::flush;
  return 0;
}

Command MakeReport() {
  auto flags = std::make_shared<ReportFlags>();
  return {
      .name = "report",
      .about = "show run files as tables and a picture, page or figure",
      .options =
          {Ruled("FILES", {.type = kFile, .required = true}, &flags->files,
                 "run file, or any Google Benchmark JSON; several files of one machine are drawn "
                 "in one chart, each in its colour"),
           Ruled("-o,--output", {.type = kFile}, &flags->outputs,
                 "write x.html (interactive), x.svg, x.pdf, x.png, or x.json (only records and "
                 "machines) instead of the tables"),
           Ruled("--show", {.choices = {"all", "table", "picture"}}, &flags->show,
                 "in the terminal: all (default), table or picture"),
           {"--verbose", &flags->tables.verbose,
            "in the terminal: also names of benchmarks that were not measured, remarks that affect "
            "no "
            "number, and the ceilings of fewer threads and of single instruction sets"},
           {"--full-names", &flags->tables.full_names,
            "in the terminal: do not shorten the names of GPU kernels"},
           Ruled("--levels", {.choices = LevelKeys(), .one_each = true, .comma = true},
                 &flags->levels,
                 "use only the bytes of these memory levels, separated by commas: dram as in the "
                 "time-based roofline paper (default: all known levels)"),
           Ruled("--balance", {.choices = {"pipe", "tensor"}}, &flags->balance,
                 "compare FLOPs with the ceiling of the pipe that executes them (pipe, the "
                 "default), or all FLOPs with the best matrix ceiling, as the time-based roofline "
                 "paper does (tensor)"),
           {"--level", &flags->level,
            "for figures: draw the points of this memory level, or of all (default: DRAM, or the "
            "cache in which the tensors stay)"},
           {"--filter", &flags->filter,
            "only benchmarks whose name contains a match of this regular expression"},
           {"--sweep", &flags->sweep,
            "for figures: draw only benchmarks that differ in this parameter alone, and join their "
            "points: " +
                SweepNames()},
           Ruled("--before", {.type = kFile}, &flags->before,
                 "for pages and figures: an older run file; arrows lead from each benchmark's old "
                 "point to its new one")},
      .run = [flags] { return Report(*flags); }};
}

[[maybe_unused]] const bool report_registered = RegisterCommand(MakeReport);

}  // namespace
}  // namespace dlroof::commands
