#include "ceilings/cpu_kernels/flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace dlroof::cpu_kernels {
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

template <class T, class Make>
void FillRandom(Workspace& workspace, const Make& make) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < workspace.operands.size(); at += sizeof(T))
    Fill(workspace.operands.data() + at, sizeof(T), static_cast<T>(make(random, at)));
}

// Returns a uniform bf16 in [-1, 1): the upper half of a float made of 24 random bits.
std::uint32_t Bf16Of(std::mt19937& random, std::size_t /*at*/) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(random() >> 8) * 0x1p-23f - 1) >> 16;
}

// Returns a random fp16 of magnitude [0.5, 1): exponent 14, random sign and fraction.
std::uint32_t Fp16OfTile(std::mt19937& random, std::size_t /*at*/) {
  return (random() & 0x83ffU) | 14U << 10;
}

int Int8Of(std::mt19937& random, std::size_t at) {
  return at < kSecondOperand ? static_cast<int>(random() % 128)
                             : static_cast<int>(random() % 255) - 127;
}

}  // namespace

std::size_t OperandBytes(Operands operands) {
  constexpr std::size_t kBytes[] = {8, 4, 2, 2, 1};  // in the order of Operands
  return kBytes[static_cast<std::size_t>(operands)];
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
  return fmt::format("{} {}, {} accumulators", machine::IsaOfRow(probe.key), probe.instructions,
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
      if (probe.recurrence == Recurrence::kTile)
        return FillRandom<std::uint16_t>(workspace, Fp16OfTile);
      return FillPair<std::uint16_t>(workspace, 0x3bec, 0x211f);  // 0.9902, 0.0100
    case Operands::kBf16:
      return FillRandom<std::uint16_t>(workspace, Bf16Of);
    case Operands::kInt8:
      return FillRandom<std::uint8_t>(workspace, Int8Of);
  }
}

std::vector<FlopsProbe> AllFlopsProbes() {
  std::vector<FlopsProbe> all;
  for (const auto& table :
       {MultiplyAddProbes(), Int8TripleProbes(), SingleInstructionProbes(), TileProbes()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features) {
  auto usable = AllFlopsProbes();
  std::erase_if(usable, [&](const FlopsProbe& probe) {
    return !std::ranges::includes(features, machine::FeaturesOfRow(probe.key));
  });
  return usable;
}

std::set<std::string> RoofCandidates(const std::vector<FlopsProbe>& probes) {
  constexpr int kOfEachPipe = 2;
  std::set<std::string> candidates;
  std::map<std::string, int> chosen;
  for (auto probe = probes.rbegin(); probe != probes.rend(); ++probe)
    if (chosen[machine::PlainPipe(probe->key)]++ < kOfEachPipe) candidates.insert(probe->key);
  return candidates;
}

}  // namespace dlroof::cpu_kernels
