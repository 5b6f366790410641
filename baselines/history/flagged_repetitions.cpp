#include "baselines/history/flagged_repetitions.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "counters/base/error.h"

namespace dlroof {
namespace {

constexpr unsigned kDisturbed = 1, kBlock = 16, kGpu = 32, kAllFlags = 127;
constexpr std::array<std::pair<unsigned, std::optional<double> Repetition::*>, 4> kOptional = {
    {{2, &Repetition::cpu_seconds},
     {4, &Repetition::main_cpu_seconds},
     {8, &Repetition::run_delay_seconds},
     {64, &Repetition::core_share}}};
constexpr double kMostBlock = 1e6;  // as run files have it

// Takes the double at the front.
double TakeDouble(std::string_view& bytes) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(8);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The layout of a repetition: its flags, and the bits of its GPU's quantities.
struct Layout {
  unsigned flags = 0, gpu = 0;

  std::size_t HeadBytes() const { return (flags & kGpu) != 0 ? 3 : 1; }
  std::size_t Bytes() const {
    const int doubles = 2 + std::popcount(flags & ~(kDisturbed | kGpu)) + std::popcount(gpu);
    return HeadBytes() + 8 * static_cast<std::size_t>(doubles);
  }
};

// Returns the layout of the repetition at the front; absent where the bytes are damaged.
std::optional<Layout> LayoutAt(std::string_view bytes) {
  const auto byte = [&](std::size_t at) {
    return at < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) : 0;
  };
  Layout layout{byte(0), 0};
  if ((layout.flags & kGpu) != 0) layout.gpu = byte(1) | byte(2) << 8;
  const bool known = layout.flags <= kAllFlags && layout.gpu >> GpuSampleFields().size() == 0;
  return known && layout.Bytes() <= bytes.size() ? std::optional(layout) : std::nullopt;
}

GpuSample TakeGpuSample(unsigned known, std::string_view& bytes) {
  GpuSample sample;
  for (const auto& [key, member] : GpuSampleFields()) {
    if ((known & 1) != 0) sample.*member = TakeDouble(bytes);
    known >>= 1;
  }
  return sample;
}

Repetition Take(std::string_view& bytes, const std::string& where) {
  const auto layout = LayoutAt(bytes);
  if (!layout) throw BadInput(where + ": damaged: repetitions that end too early");
  bytes.remove_prefix(layout->HeadBytes());
  Repetition repetition{.seconds = TakeDouble(bytes),
                        .iterations = TakeDouble(bytes),
                        .disturbed = (layout->flags & kDisturbed) != 0};
  for (const auto& [flag, member] : kOptional)
    if ((layout->flags & flag) != 0) repetition.*member = TakeDouble(bytes);
  if ((layout->flags & kBlock) != 0) {
    const double block = TakeDouble(bytes);
    if (!(block >= 0 && block <= kMostBlock))
      throw BadInput(where + ": damaged: a repetition of no block");
    repetition.block = static_cast<int>(block);
  }
  if ((layout->flags & kGpu) != 0)
    repetition.gpu = std::make_shared<GpuSample>(TakeGpuSample(layout->gpu, bytes));
  return repetition;
}

}  // namespace

bool HasFlags(std::string_view bytes) {
  return bytes.empty() || static_cast<unsigned char>(bytes.front()) <= kAllFlags;
}

std::vector<Repetition> ReadFlagged(std::string_view bytes, const std::string& where) {
  std::vector<Repetition> repetitions;
  while (!bytes.empty()) repetitions.push_back(Take(bytes, where));
  return repetitions;
}

int CountFlagged(std::string_view bytes) {
  int count = 0;
  for (auto layout = LayoutAt(bytes); layout; layout = LayoutAt(bytes)) {
    bytes.remove_prefix(layout->Bytes());
    ++count;
  }
  return count;
}

}  // namespace dlroof
