#include "bench/commands/commands.h"

#include <algorithm>
#include <iostream>
#include <set>
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

std::map<std::string, std::string> ParseNameMap(const std::string& text, const std::string& where) {
  std::map<std::string, std::string> names;
  std::set<std::string> targets;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line[0] == '#') continue;
    const char separator = line.find('\t') == std::string::npos ? ' ' : '\t';
    const auto cut = line.find(separator);
    if (cut == std::string::npos || cut == 0 || cut + 1 == line.size() ||
        line.find(separator, cut + 1) != std::string::npos)
      throw BadInput(
          "{}:{}: expected 'base-name new-name' (a tab between names that contain spaces), got "
          "'{}'",
          where, number, line);
    const auto target = line.substr(cut + 1);
    if (!names.emplace(line.substr(0, cut), target).second || !targets.insert(target).second)
      throw BadInput("{}:{}: a name on this line is mapped twice", where, number);
  }
  return names;
}

std::map<std::string, std::string> ReadNameMap(const std::string& path) {
  return ParseNameMap(ReadFile(path, "lines 'base-name new-name'"), path);
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
