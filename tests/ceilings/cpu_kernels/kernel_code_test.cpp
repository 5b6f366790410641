// The machine code of the CPU's kernels. Memory: the loop that is timed reads and writes memory by
// as many vectors as it counts, of their full width, and by nothing else. Arithmetic: it works on
// registers alone, and nothing is called. Needs objdump.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fakes/machine_code.h"
#include "tests/paths.h"

namespace dlroof::cpu_kernels {
namespace {

struct Accesses {
  int loads = 0, stores = 0, others = 0;  // others: of another width, or of no vector
  bool operator==(const Accesses&) const = default;
};

void PrintTo(const Accesses& accesses, std::ostream* out) {
  *out << accesses.loads << " loads, " << accesses.stores << " stores, " << accesses.others
       << " others";
}

struct Instruction {
  unsigned long address = 0;
  std::string text;  // "vmovups %zmm1,0x40(%rax)"
};

using Functions = std::map<std::string, std::vector<Instruction>>;  // by name, demangled

// Parses the output of `objdump -d -C --no-show-raw-insn`.
Functions ParseCode(const std::string& text) {
  static const std::regex kFunction("^[0-9a-f]+ <(.*)>:$");
  static const std::regex kInstruction("^ *([0-9a-f]+):\\s+(.*)$");
  Functions functions;
  std::vector<Instruction>* function = nullptr;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, kFunction))
      function = &functions[match[1]];
    else if (function != nullptr && std::regex_match(line, match, kInstruction))
      function->push_back({std::stoul(match[1], nullptr, 16), match[2]});
  return functions;
}

// Registers are written "%zmm1"; the operand that is written comes last.
void Count(const std::string& text, const std::string& vector, Accesses& accesses) {
  const auto memory = text.find('(');
  if (memory == std::string::npos || text.starts_with("lea") || text.starts_with("nop")) return;
  if (text.find(vector) == std::string::npos)
    ++accesses.others;
  else if (text.back() == ')')
    ++accesses.stores;
  else
    ++accesses.loads;
}

// Returns each loop: from a backward branch's target to the branch.
std::vector<std::vector<Instruction>> LoopsOf(const std::vector<Instruction>& function) {
  static const std::regex kBranch("^j[a-z]+ +([0-9a-f]+) <.*$");
  std::vector<std::vector<Instruction>> loops;
  std::smatch match;
  for (const auto& last : function) {
    if (!std::regex_match(last.text, match, kBranch)) continue;
    const auto first = std::stoul(match[1], nullptr, 16);
    if (first > last.address) continue;
    auto& loop = loops.emplace_back();
    for (const auto& each : function)
      if (each.address >= first && each.address < last.address) loop.push_back(each);
  }
  return loops;
}

// Counts the accesses of the only loop.
Accesses AccessesOfLoop(const std::vector<Instruction>& function, const std::string& vector) {
  Accesses accesses;
  for (const auto& loop : LoopsOf(function))
    for (const auto& each : loop) Count(each.text, vector, accesses);
  return accesses;
}

// Returns the number of instructions on vectors, per loop that does not access memory.
std::vector<int> VectorInstructionsOnRegisters(const std::vector<Instruction>& function) {
  std::vector<int> counts;
  for (const auto& loop : LoopsOf(function)) {
    Accesses accesses;
    int on_vectors = 0;
    for (const auto& each : loop) {
      Count(each.text, "%", accesses);
      on_vectors += each.text.find("mm") != std::string::npos;
    }
    if (accesses == Accesses{}) counts.push_back(on_vectors);
  }
  return counts;
}

bool Calls(const std::vector<Instruction>& function) {
  return std::ranges::any_of(function,
                             [](const Instruction& each) { return each.text.starts_with("call"); });
}

// How the name begins, a part of it ("": any), and the accesses: 16 vectors in a step of each
// array.
constexpr std::tuple<const char*, const char*, Accesses> kKernels[] = {
    {"LoadKernel<", "", {16, 0, 0}},           {"StoreKernel<", "Stored", {0, 16, 0}},
    {"StoreKernel<", "Streamed", {0, 16, 0}},  {"CopyKernel<", "Stored", {16, 16, 0}},
    {"CopyKernel<", "Streamed", {16, 16, 0}},  {"TriadKernel<", "Stored", {32, 16, 0}},
    {"TriadKernel<", "Streamed", {32, 16, 0}}, {"UpdateKernel<", "", {16, 16, 0}},
};

// Files of the ISAs, and their vectors.
constexpr std::pair<const char*, const char*> kIsas[] = {
    {"/bytes_avx512", "%zmm"}, {"/bytes_avx2", "%ymm"}, {"/bytes_sse2", "%xmm"}};

// File, kernel, and the instructions on vectors in the loop that is timed: accumulators x
// instructions of a step.
constexpr std::tuple<const char*, const char*, int> kArithmetic[] = {
    {"/flops_multiply_add", "RunXmm", 14 * 2}, {"/flops_multiply_add", "RunYmm", 14 * 2},
    {"/flops_multiply_add", "RunZmm", 16 * 2}, {"/flops_single", "Avx2Fma", 14},
    {"/flops_single", "Avx512Fma", 16},        {"/flops_single", "Fp16Fma", 16},
    {"/flops_single", "Bf16Zmm", 16},          {"/flops_single", "Bf16Ymm", 16},
    {"/flops_int8", "Ssse3", 40 * 4},          {"/flops_int8", "Avx2", 40 * 3},
    {"/flops_int8", "Avx512", 8 * 3},          {"/flops_single", "AvxVnni", 14},
    {"/flops_single", "Avx512VnniYmm", 16},    {"/flops_single", "Avx512Vnni", 16},
};

std::string Disassembled(const std::string& file) {
  std::ifstream objects(DLROOF_CEILINGS_OBJECTS);
  for (std::string object; std::getline(objects, object);)
    if (object.find(file) != std::string::npos)
      return fakes::OutputOf("\"" DLROOF_OBJDUMP "\" -d -C --no-show-raw-insn \"" + object +
                             "\" 2>/dev/null");
  return {};
}

TEST(MemoryKernelCode, AccessesWhatItCountsByWholeVectors) {
  for (const auto& [file, vector] : kIsas) {
    const auto functions = ParseCode(Disassembled(file));
    if (functions.empty()) GTEST_SKIP() << "no objdump";
    for (const auto& [begin, way, accesses] : kKernels) {
      int found = 0;
      for (const auto& [name, code] : functions) {
        const auto at = name.find(begin);
        if (at == std::string::npos || name.find(way, at) == std::string::npos) continue;
        ++found;
        EXPECT_EQ(AccessesOfLoop(code, vector), accesses) << name;
      }
      EXPECT_EQ(found, 1) << begin << way << " in " << file;
    }
  }
}

// A loop of vectors of half the width, with a spilled register.
TEST(MemoryKernelCode, OfHalfTheWidthIsFound) {
  const auto functions = ParseCode(
      "0000000000000000 <void LoadKernel<X>(long)>:\n"
      "   0:\tmov    0x2000(%rdi),%r8\n"
      "  20:\tlea    (%r8,%rdx,4),%rax\n"
      "  24:\tvmovaps (%rax),%ymm0\n"
      "  28:\tvmovaps 0x20(%rax),%ymm0\n"
      "  2c:\tvmovups %zmm1,0x40(%rax)\n"
      "  30:\tmov    %rdx,0x8(%rsp)\n"
      "  a7:\tjne    20 <void LoadKernel<X>(long)+0x20>\n"
      "  b7:\tret\n");
  const auto& code = functions.at("void LoadKernel<X>(long)");
  EXPECT_EQ(AccessesOfLoop(code, "%zmm"), (Accesses{0, 1, 3}));
  EXPECT_EQ(AccessesOfLoop(code, "%ymm"), (Accesses{2, 0, 2}));
}

TEST(ArithmeticKernelCode, WorksOnRegisters) {
  std::map<std::string, Functions> files;
  for (const auto& [file, kernel, vector_instructions] : kArithmetic) {
    auto& functions = files[file];
    if (functions.empty()) functions = ParseCode(Disassembled(file));
    if (functions.empty()) GTEST_SKIP() << "no objdump";
    int found = 0;
    for (const auto& [name, code] : functions) {
      if (name.find(std::string("::") + kernel + "<") == std::string::npos) continue;
      ++found;
      EXPECT_EQ(VectorInstructionsOnRegisters(code), std::vector{vector_instructions}) << name;
      EXPECT_FALSE(Calls(code)) << name;
    }
    EXPECT_GT(found, 1) << kernel << " in " << file;
  }
}

// A loop with an accumulator in memory, and one that calls an operation.
TEST(ArithmeticKernelCode, InMemoryOrCalledIsFound) {
  const auto functions = ParseCode(
      "0000000000000000 <X::RunYmm<Y, 0>(Workspace&, long)>:\n"
      "  20:\tvmulps %ymm1,%ymm0,%ymm0\n"
      "  24:\tvmovaps %ymm0,0x20(%rsp)\n"
      "  28:\tjne    20 <X::RunYmm<Y, 0>(Workspace&, long)+0x20>\n"
      "  30:\tvaddps %ymm1,%ymm0,%ymm0\n"
      "  34:\tnopl   0x0(%rax)\n"
      "  38:\tcall   80 <X::Multiply(float&, float const&)>\n"
      "  3c:\tjg     30 <X::RunYmm<Y, 0>(Workspace&, long)+0x30>\n"
      "  40:\tje     60 <X::RunYmm<Y, 0>(Workspace&, long)+0x60>\n"
      "  60:\tret\n");
  const auto& code = functions.at("X::RunYmm<Y, 0>(Workspace&, long)");
  EXPECT_EQ(LoopsOf(code).size(), 2U);
  EXPECT_TRUE(VectorInstructionsOnRegisters(code).empty());
  EXPECT_TRUE(Calls(code));
}

}  // namespace
}  // namespace dlroof::cpu_kernels
