// Reads what `cuobjdump -sass` and `-res-usage` print.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dlroof {

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

std::vector<SassFunction> ParseSass(const std::string& text);

// Instructions of the innermost loop (a branch backwards with no other one inside) that holds the
// most of those that begin with `opcode`: by opcode up to the first dot, "FFMA" -> 512. Empty where
// no loop has one.
std::map<std::string, int> LoopWith(const SassFunction& function, const std::string& opcode);

// Registers of each function's threads, by mangled name.
std::map<std::string, int> ParseRegisters(const std::string& text);

}  // namespace dlroof
