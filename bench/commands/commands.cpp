#include "bench/commands/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "baselines/compare/compare.h"
#include "bench/command_line/description.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/nearest_name.h"

namespace dlroof::commands {
namespace {

std::map<std::string, AddCommand>& Registry() {
  static std::map<std::string, AddCommand> commands;
  return commands;
}

std::vector<std::string>& StoredWords() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

void RefuseUnknownCommand(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  std::string path;  // the commands found so far, each with a space behind it
  for (const auto& word : words) {
    if (command->get_require_subcommand_min() == 0 || word.starts_with('-')) return;
    const auto subcommands = command->get_subcommands({});
    const auto found = std::ranges::find(subcommands, word, &CLI::App::get_name);
    if (found == subcommands.end()) {
      std::vector<std::string> names;
      for (const CLI::App* known : subcommands) names.push_back(known->get_name());
      auto nearest = NearestName(word, names);
      if (nearest) nearest = path + *nearest;
      const auto lister = path.empty() ? "dlroof" : "dlroof " + path.substr(0, path.size() - 1);
      throw BadInput(UnknownName("command", path + word, nearest, lister));
    }
    command = *found;
    path += word + ' ';
  }
}

const std::vector<std::string>& WordsAfterDashes() { return StoredWords(); }

void StoreWordsAfterDashes(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto dashes = std::ranges::find(words, "--");
  if (dashes != words.end()) StoredWords().assign(dashes + 1, words.end());
}

bool RegisterCommand(const std::string& name, AddCommand add) {
  return Registry().emplace(name, add).second;
}

const std::map<std::string, AddCommand>& Commands() { return Registry(); }

void WriteOutput(const std::optional<std::string>& path, const std::string& text) {
  if (!path) {
    std::cout << text << std::flush;
    return;
  }
  WriteFile(*path, text);
  std::cerr << "wrote " << *path << '\n';
}

void CreateFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw BadInput("{}: cannot be created: {}", folder.string(), error.message());
}

int VerdictOf(const char* command, const std::function<int()>& run) {
  try {
    return run();
  } catch (const BadInput&) {
    throw;
  } catch (const std::exception& error) {
    throw BadInput(std::string(command) + ": " + error.what());
  }
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

CLI::Option* AddBenchOption(CLI::App& command, std::optional<std::string>& bench) {
  return command
      .add_option("--bench", bench,
                  "the dlroof_bench to run (default: the one beside this program)")
      ->type_name(command_line::kFile);
}

void AddMeasuredMachineOption(CLI::App& command, std::optional<std::string>& machine) {
  command
      .add_option("--machine", machine,
                  "machine file with the roofs (default: cached ceilings, or measured now)")
      ->type_name(command_line::kMachine);
}

void AddBalanceOption(CLI::App& command, std::string& balance) {
  command
      .add_option("--balance", balance,
                  "compare FLOPs with the ceiling of the pipe that executes them (pipe, the "
                  "default), or all FLOPs with the best matrix ceiling, as the time-based roofline "
                  "paper does (tensor)")
      ->check(CLI::IsMember({"pipe", "tensor"}));
}

void AddQuantitiesOption(CLI::App& command, std::vector<std::string>& on, const std::string& help) {
  command.add_option("--on", on, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check([](const std::string& key) {
        return compare::QuantityFromKey(key)
                   ? ""
                   : "expected time, bytes, flops, fraction or residual, not '" + key + "'";
      });
}

void AddReplayOption(CLI::App& command, std::optional<int>& count) {
  command
      .add_option("--replay", count,
                  "for a program: also measure this many of its primitives standalone, the longest "
                  "ones that dlroof has a benchmark of, and show how much slower each is in the "
                  "program")
      ->check(CLI::PositiveNumber);
}

}  // namespace dlroof::commands
