#include "bench/commands/commands.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

std::vector<Command (*)()>& Registry() {
  static std::vector<Command (*)()> commands;
  return commands;
}

}  // namespace

bool RegisterCommand(Command (*make)()) {
  Registry().push_back(make);
  return true;
}

Command Program() {
  Command program{
      .name = "dlroof",
      .about = "dlroof: rooflines of deep learning benchmarks (measure with dlroof_bench)"};
  for (const auto& make : Registry()) program.commands.push_back(make());
  std::ranges::sort(program.commands, {}, &Command::name);
  return program;
}

void WriteOutput(const std::optional<std::string>& path, const std::string& text) {
  if (path) {
    WriteFile(*path, text);
    std::cerr << "wrote " << *path << '\n';
  } else {
    std::cout << (text::TerminalColumns() > 0 ? Printable(text, "\n\t") : text) << std::flush;
  }
}

void CreateFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw BadInput("{}: cannot be created: {}", folder.string(), error.message());
}

std::optional<double> ParseShare(const std::string& flag, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  double value = 0;
  std::string rest;
  const bool number = static_cast<bool>(in >> value);
  in >> rest;
  if (rest == "%") value /= 100;
  if (!number || !(rest.empty() || rest == "%") || !(value >= 0 && value <= 1))
    throw BadInput("{}={}: expected a share such as 5% or 0.05, from 0 to 1", flag, *text);
  return value;
}

Option BenchOption(std::optional<std::string>& bench) {
  return Ruled("--bench", {.type = kFile}, &bench,
               "the dlroof_bench to run (default: the one beside this program)");
}

Option MeasuredMachineOption(std::optional<std::string>& machine) {
  return Ruled("--machine", {.type = kMachine}, &machine,
               "machine file with the roofs (default: cached ceilings, or measured now)");
}

}  // namespace dlroof::commands
