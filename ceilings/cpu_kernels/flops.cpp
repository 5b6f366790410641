#include "ceilings/cpu_kernels/flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <utility>

#include "ceilings/machine/row_isa.h"

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

// In [0.5, 1) with either sign: exponent 14, every other bit random.
void FillFp16Tiles(Workspace& workspace) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < workspace.operands.size(); at += 2) {
    const auto bits = static_cast<std::uint16_t>((random() & 0x83ffU) | 14U << 10);
    std::memcpy(workspace.operands.data() + at, &bits, sizeof bits);
  }
}

void FillInt8(Workspace& workspace) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < workspace.operands.size(); ++at)
    workspace.operands[at] = at < kSecondOperand
                                 ? static_cast<std::byte>(random() % 128)
                                 : static_cast<std::byte>(static_cast<int>(random() % 255) - 127);
}

void FillInt32(Workspace& workspace) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < workspace.operands.size(); at += 4) {
    const auto value = static_cast<std::uint32_t>(random());
    std::memcpy(workspace.operands.data() + at, &value, sizeof value);
  }
}

}  // namespace

std::string PlainPipe(const std::string& row) {
  const auto unit = row.find('.');
  return unit == std::string::npos ? row : row.substr(0, row.find('.', unit + 1));
}

std::size_t OperandBytes(Operands operands) {
  switch (operands) {
    case Operands::kFp64:
      return 8;
    case Operands::kFp32:
    case Operands::kInt32:
      return 4;
    case Operands::kFp16:
    case Operands::kBf16:
      return 2;
    case Operands::kInt8:
      return 1;
  }
  return 0;
}

std::size_t AccumulatorBytes(const FlopsProbe& probe) {
  const bool wider = probe.recurrence == Recurrence::kDot || probe.recurrence == Recurrence::kTile;
  return wider ? 4 : OperandBytes(probe.operands);
}

double FlopsPerStep(const FlopsProbe& probe) {
  constexpr std::size_t kTileRowBytes = 64;
  const std::size_t elements = probe.vector_bytes / AccumulatorBytes(probe);
  const std::size_t products =
      probe.recurrence == Recurrence::kTile
          ? elements * (kTileRowBytes / OperandBytes(probe.operands))
          : elements * (AccumulatorBytes(probe) / OperandBytes(probe.operands));
  return 2 * static_cast<double>(products);
}

double FlopsPerIteration(const FlopsProbe& probe) {
  return FlopsPerStep(probe) * probe.accumulators * probe.sweeps;
}

std::string How(const FlopsProbe& probe) {
  return fmt::format("{} {}, {} accumulators", IsaOfRow(probe.key), probe.instructions,
                     probe.accumulators);
}

void FillOperands(const FlopsProbe& probe, Workspace& workspace) {
  workspace.accumulators.fill(std::byte{0});
  switch (probe.operands) {
    case Operands::kFp64:
      return FillPair(workspace, 0.99, 0.01);
    case Operands::kFp32:
      return FillPair(workspace, 0.99F, 0.01F);
    case Operands::kFp16:
      if (probe.recurrence == Recurrence::kTile) return FillFp16Tiles(workspace);
      return FillPair<std::uint16_t>(workspace, 0x3bec, 0x211f);  // 0.9902, 0.0100
    case Operands::kBf16:
      return FillBf16(workspace);
    case Operands::kInt8:
      return FillInt8(workspace);
    case Operands::kInt32:
      return FillInt32(workspace);
  }
}

std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features) {
  std::vector<FlopsProbe> usable;
  for (auto& probe : NativeFlopsProbes()) {
    const auto needs = FeaturesOfRow(probe.key);
    if (std::includes(features.begin(), features.end(), needs.begin(), needs.end()))
      usable.push_back(std::move(probe));
  }
  return usable.empty() ? PortableFlopsProbes() : usable;
}

std::set<std::string> RoofCandidates(const std::vector<FlopsProbe>& probes) {
  constexpr int kOfEachPipe = 2;
  std::set<std::string> candidates;
  std::map<std::string, int> chosen;
  for (auto probe = probes.rbegin(); probe != probes.rend(); ++probe)
    if (chosen[PlainPipe(probe->key)]++ < kOfEachPipe) candidates.insert(probe->key);
  return candidates;
}

}  // namespace dlroof
