// Reads the machine code of objects, by programs that print it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace dlroof::fakes {

// Output of a command; empty where it cannot be run.
inline std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 65536> part{};
  for (std::size_t read = 0; (read = fread(part.data(), 1, part.size(), pipe)) > 0;)
    output.append(part.data(), read);
  pclose(pipe);
  return output;
}

struct SassInstruction {
  unsigned address = 0;
  std::string opcode;   // without predicate: "FFMA", "BRA"
  unsigned target = 0;  // of a branch
};

struct SassFunction {
  std::string name;  // mangled
  int architecture = 0;
  std::vector<SassInstruction> instructions;
};

inline std::string WordAfter(const std::string& line, const std::string& mark) {
  const auto at = line.find(mark);
  if (at == std::string::npos) return "";
  std::istringstream rest(line.substr(at + mark.size()));
  std::string word;
  rest >> word;
  return word;
}

inline unsigned FromHex(const std::string& text) {
  return static_cast<unsigned>(std::strtoul(text.c_str(), nullptr, 16));
}

// "        /*0970*/              @!P0 BRA 0x720 ;   /* 0x... */"
inline bool ParseInstruction(const std::string& line, SassInstruction& instruction) {
  const auto begin = line.find("/*"), end = line.find("*/");
  if (begin == std::string::npos || end == std::string::npos || end - begin != 6) return false;
  instruction.address = FromHex(line.substr(begin + 2, 4));
  const auto text = line.substr(end + 2, line.find(';', end) - end - 2);
  std::istringstream words(text);
  words >> instruction.opcode;
  if (!instruction.opcode.empty() && instruction.opcode.front() == '@') words >> instruction.opcode;
  const auto target = text.rfind("0x");
  if (instruction.opcode.starts_with("BRA") && target != std::string::npos)
    instruction.target = FromHex(text.substr(target + 2));
  return !instruction.opcode.empty();
}

inline bool GoesBack(const SassInstruction& each) {
  return each.opcode.starts_with("BRA") && each.target < each.address;
}

// Parses what `cuobjdump -sass` prints.
inline std::vector<SassFunction> ParseSass(const std::string& text) {
  std::vector<SassFunction> functions;
  std::istringstream lines(text);
  int architecture = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const auto code = WordAfter(line, "code for sm_"); !code.empty()) {
      architecture = std::atoi(code.c_str());
    } else if (const auto name = WordAfter(line, "Function : "); !name.empty()) {
      functions.push_back({name, architecture, {}});
    } else if (SassInstruction instruction;
               !functions.empty() && ParseInstruction(line, instruction)) {
      functions.back().instructions.push_back(instruction);
    }
  }
  return functions;
}

// Instructions of the innermost loop (a branch backwards with no other one inside) that holds the
// most of those that begin with `opcode`: by opcode up to the first dot, "FFMA" -> 512. Empty where
// no loop has one.
inline std::map<std::string, int> LoopWith(const SassFunction& function,
                                           const std::string& opcode) {
  const auto& all = function.instructions;
  std::map<std::string, int> most;
  int found = 0;
  for (auto branch = all.begin(); branch != all.end(); ++branch) {
    if (!GoesBack(*branch)) continue;
    const auto first = std::find_if(
        all.begin(), branch, [&](const auto& each) { return each.address >= branch->target; });
    if (std::any_of(first, branch, GoesBack)) continue;
    const auto count = std::count_if(
        first, branch, [&](const auto& each) { return each.opcode.starts_with(opcode); });
    if (count <= found) continue;
    found = static_cast<int>(count);
    most.clear();
    for (auto each = first; each != std::next(branch); ++each)
      ++most[each->opcode.substr(0, each->opcode.find('.'))];
  }
  return most;
}

// Registers of each function's threads, by mangled name, as `cuobjdump -res-usage` prints them.
inline std::map<std::string, int> ParseRegisters(const std::string& text) {
  std::map<std::string, int> registers;
  std::istringstream lines(text);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (auto found = WordAfter(line, "Function "); !found.empty()) {
      if (found.back() == ':') found.pop_back();
      name = found;
    }
    const auto count = WordAfter(line, "REG:");
    if (count.empty()) continue;
    registers[name] = std::max(registers[name], std::atoi(count.c_str()));
  }
  return registers;
}

}  // namespace dlroof::fakes
