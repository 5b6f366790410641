#include "ceilings/cpu_flops_probes.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

namespace dlroof {
namespace {

template <class T>
void Fill(std::byte* from, std::size_t bytes, T value) {
  for (std::size_t at = 0; at < bytes; at += sizeof value)
    std::memcpy(from + at, &value, sizeof value);
}

template <class T>
void FillPair(Workspace& workspace, T x, T y) {
  Fill(workspace.operands.data() + kFirstOperand, kSecondOperand - kFirstOperand, x);
  Fill(workspace.operands.data() + kSecondOperand, workspace.operands.size() - kSecondOperand, y);
}

// Uniform in [-1, 1): 24 random bits, of which bf16 (the upper half of a float) keeps 8.
void FillBf16(Workspace& workspace) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < workspace.operands.size(); at += 2) {
    const float value = static_cast<float>(random() >> 8) * 0x1p-23f - 1;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto upper = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(workspace.operands.data() + at, &upper, sizeof upper);
  }
}

void FillInt8(Workspace& workspace) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < workspace.operands.size(); ++at)
    workspace.operands[at] = at < kSecondOperand
                                 ? static_cast<std::byte>(random() % 128)
                                 : static_cast<std::byte>(static_cast<int>(random() % 255) - 127);
}

}  // namespace

void FillOperands(Operands operands, Workspace& workspace) {
  workspace.accumulators.fill(std::byte{0});
  switch (operands) {
    case Operands::kFp64:
      return FillPair(workspace, 0.99, 0.01);
    case Operands::kFp32:
      return FillPair(workspace, 0.99F, 0.01F);
    case Operands::kFp16:
      return FillPair<std::uint16_t>(workspace, 0x3bec, 0x211f);  // 0.9902, 0.0100
    case Operands::kBf16:
      return FillBf16(workspace);
    case Operands::kInt8:
      return FillInt8(workspace);
  }
}

std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features) {
  std::vector<FlopsProbe> usable;
  for (auto table : {FloatVectorProbes(), Int8VectorProbes(), Bf16AndTileProbes()})
    for (auto& row : table)
      if (std::all_of(row.needs.begin(), row.needs.end(),
                      [&](const std::string& need) { return features.contains(need); }))
        usable.push_back(std::move(row));
  return usable;
}

}  // namespace dlroof
