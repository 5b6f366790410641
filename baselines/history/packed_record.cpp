#include "baselines/history/packed_record.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "counters/base/error.h"
#include "reporters/record/record_from_json.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof {
namespace {

constexpr unsigned kDisturbed = 1, kBlock = 16, kGpu = 32, kAllFlags = 127;
constexpr std::array<std::pair<unsigned, std::optional<double> Repetition::*>, 4> kOptional = {
    {{2, &Repetition::cpu_seconds},
     {4, &Repetition::main_cpu_seconds},
     {8, &Repetition::run_delay_seconds},
     {64, &Repetition::core_share}}};
constexpr double kMostBlock = 1e6;  // as run files have it

void PutDouble(double value, std::string& bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> shift));
}

// Takes from the front.
double TakeDouble(std::string_view& bytes) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(8);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// What a repetition is made of: its first byte, and that of its GPU's quantities.
struct Layout {
  unsigned flags = 0, gpu = 0;

  std::size_t HeadBytes() const { return (flags & kGpu) != 0 ? 3 : 1; }
  std::size_t Bytes() const {
    const int doubles = 2 + std::popcount(flags & ~(kDisturbed | kGpu)) + std::popcount(gpu);
    return HeadBytes() + 8 * static_cast<std::size_t>(doubles);
  }
};

Layout LayoutOf(const Repetition& repetition) {
  Layout layout;
  if (repetition.disturbed) layout.flags |= kDisturbed;
  for (const auto& [flag, member] : kOptional)
    if (repetition.*member) layout.flags |= flag;
  if (repetition.block) layout.flags |= kBlock;
  if (!repetition.gpu) return layout;
  layout.flags |= kGpu;
  unsigned bit = 1;
  for (const auto& [key, member] : GpuSampleFields()) {
    if ((*repetition.gpu).*member) layout.gpu |= bit;
    bit <<= 1;
  }
  return layout;
}

// Of the repetition at the front; absent where none can stand there.
std::optional<Layout> LayoutAt(std::string_view bytes) {
  const auto byte = [&](std::size_t at) {
    return at < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) : 0;
  };
  Layout layout{byte(0), 0};
  if ((layout.flags & kGpu) != 0) layout.gpu = byte(1) | byte(2) << 8;
  const bool known = layout.flags <= kAllFlags && layout.gpu >> GpuSampleFields().size() == 0;
  return known && layout.Bytes() <= bytes.size() ? std::optional(layout) : std::nullopt;
}

void Put(const Repetition& repetition, std::string& bytes) {
  const Layout layout = LayoutOf(repetition);
  bytes += static_cast<char>(layout.flags);
  if (repetition.gpu)
    for (const unsigned byte : {layout.gpu & 255, layout.gpu >> 8})
      bytes += static_cast<char>(static_cast<unsigned char>(byte));
  PutDouble(repetition.seconds, bytes);
  PutDouble(repetition.iterations, bytes);
  for (const auto& [flag, member] : kOptional)
    if (repetition.*member) PutDouble(*(repetition.*member), bytes);
  if (repetition.block) PutDouble(*repetition.block, bytes);
  if (!repetition.gpu) return;
  for (const auto& [key, member] : GpuSampleFields())
    if (const auto& value = (*repetition.gpu).*member) PutDouble(*value, bytes);
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
  Repetition repetition;
  repetition.disturbed = (layout->flags & kDisturbed) != 0;
  repetition.seconds = TakeDouble(bytes);
  repetition.iterations = TakeDouble(bytes);
  for (const auto& [flag, member] : kOptional)
    if ((layout->flags & flag) != 0) repetition.*member = TakeDouble(bytes);
  if ((layout->flags & kBlock) != 0) {
    const double block = TakeDouble(bytes);
    if (!(block >= 0 && block <= kMostBlock))
      throw BadInput(where + ": damaged: a repetition of no block");
    repetition.block = static_cast<int>(block);
  }
  if ((layout->flags & kGpu) != 0) repetition.gpu = TakeGpuSample(layout->gpu, bytes);
  return repetition;
}

}  // namespace

PackedRecord Pack(const Record& record) {
  using nlohmann::json;
  PackedRecord packed;
  packed.facts = FactsToJson(record).dump(-1, ' ', false, json::error_handler_t::replace);
  for (const auto& repetition : record.repetitions) Put(repetition, packed.repetitions);
  if (record.status != Status::kOk) return packed;
  const auto timing = Summarize(record.repetitions);
  if (!timing) return packed;
  packed.median = timing->median;
  packed.ci95 = timing->ci95;
  packed.clean = timing->clean;
  return packed;
}

Record Unpack(std::string_view facts, std::string_view repetitions, const std::string& where) {
  Record record = RecordFromJson(JsonReader(nlohmann::json::parse(facts), where));
  while (!repetitions.empty()) record.repetitions.push_back(Take(repetitions, where));
  return record;
}

int CountRepetitions(std::string_view repetitions) {
  int count = 0;
  for (auto layout = LayoutAt(repetitions); layout; layout = LayoutAt(repetitions)) {
    repetitions.remove_prefix(layout->Bytes());
    ++count;
  }
  return count;
}

}  // namespace dlroof
