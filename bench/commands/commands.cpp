#include "bench/commands/commands.h"

#include <algorithm>
#include <iostream>

#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof {
namespace {

std::map<std::string, AddCommand>& Registry() {
  static std::map<std::string, AddCommand> commands;
  return commands;
}

std::vector<std::string>& Dashed() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

const std::vector<std::string>& WordsAfterDashes() { return Dashed(); }

void KeepWordsAfterDashes(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto dashes = std::ranges::find(words, "--");
  if (dashes != words.end()) Dashed().assign(dashes + 1, words.end());
}

bool RegisterCommand(const std::string& name, AddCommand add) {
  return Registry().emplace(name, add).second;
}

const std::map<std::string, AddCommand>& Commands() { return Registry(); }

void WriteOutput(const std::string& path, const std::string& text) {
  if (path.empty()) {
    std::cout << text << std::flush;
    return;
  }
  WriteFile(path, text);
  std::cerr << "wrote " << path << '\n';
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

}  // namespace dlroof
