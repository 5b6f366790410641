// dlroof report: a run file as tables and a picture in the terminal, or as a page or figure.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "bench/commands.h"
#include "counters/error.h"
#include "reporters/figure.h"
#include "reporters/page.h"
#include "reporters/run_file.h"
#include "reporters/terminal.h"

namespace dlroof {
namespace {

constexpr int kPictureColumns = 100;  // where the output is not a terminal

struct ReportFlags {
  std::string file;
  std::vector<std::string> outputs;
  std::string show = "all";
};

std::string Extension(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

void WriteText(const std::string& text, const std::string& path) {
  std::ofstream out(path);
  if (!out.is_open()) throw BadInput(path + ": cannot be written");
  out << text << std::flush;
  if (!out.good()) throw BadInput(path + ": not all could be written (disk full?)");
}

// .json is the run file without Google Benchmark's own entries: all that a report needs, small
// enough to store.
void WriteOne(const nlohmann::json& run, const std::string& path) {
  if (Extension(path) == "html") {
    std::ostringstream page;
    WritePage(run, page);
    WriteText(page.str(), path);
  } else if (Extension(path) == "json") {
    WriteText(run.dump() + '\n', path);
  } else {
    WriteFigure(run, path);
  }
}

void CheckExtension(const std::string& path) {
  for (const char* known : {"html", "json", "svg", "pdf", "png"})
    if (Extension(path) == known) return;
  throw BadInput(
      fmt::format("-o {}: unknown extension, expected .html, .json, .svg, .pdf or .png", path));
}

// Beside the tables a picture is a help, not the answer: without one (nothing to draw, no gnuplot)
// the reason is a sentence.
void ShowPicture(const nlohmann::json& run, int columns, bool alone) {
  try {
    std::cout << TerminalPicture(run, columns > 0 ? columns : kPictureColumns);
  } catch (const BadInput& error) {
    if (alone) throw;
    std::cerr << "no picture: " << error.what() << '\n';
  }
}

void Report(const ReportFlags& flags) {
  for (const auto& path : flags.outputs) CheckExtension(path);
  const auto run = ToJson(ReadRunFile(flags.file, std::cerr));
  for (const auto& path : flags.outputs) {
    WriteOne(run, path);
    std::cerr << "wrote " << path << '\n';
  }
  if (!flags.outputs.empty()) return;
  const int columns = TerminalColumns();
  if (flags.show != "picture") WriteTables(run, columns, std::cout);
  if (flags.show != "table") ShowPicture(run, columns, flags.show == "picture");
  std::cout << std::flush;
}

}  // namespace

void AddReportCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<ReportFlags>();
  auto* command =
      program.add_subcommand("report", "a run file as tables and a picture, a page or a figure");
  command->add_option("FILE", flags->file, "run file, or any Google Benchmark JSON")->required();
  command->add_option("-o,--output", flags->outputs,
                      "write x.html (interactive), x.svg, x.pdf, x.png, or x.json (only records "
                      "and machines) instead");
  command->add_option("--show", flags->show, "in the terminal: all, table or picture")
      ->check(CLI::IsMember({"all", "table", "picture"}));
  command->callback([flags, &exit_code] {
    Report(*flags);
    exit_code = 0;
  });
}

}  // namespace dlroof
