#include "baselines/packed_record.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "counters/error.h"
#include "reporters/record_json.h"

namespace dlroof {
namespace {

constexpr unsigned kDisturbed = 1;
constexpr std::array<std::pair<unsigned, std::optional<double> Repetition::*>, 3> kOptional = {
    {{2, &Repetition::cpu_seconds},
     {4, &Repetition::main_cpu_seconds},
     {8, &Repetition::run_delay_seconds}}};

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

unsigned FlagsOf(const Repetition& repetition) {
  unsigned flags = repetition.disturbed ? kDisturbed : 0;
  for (const auto& [flag, member] : kOptional)
    if (repetition.*member) flags |= flag;
  return flags;
}

std::size_t BytesAfter(unsigned flags) {
  std::size_t doubles = 2;
  for (const auto& [flag, member] : kOptional) doubles += (flags & flag) != 0 ? 1 : 0;
  return 8 * doubles;
}

void Put(const Repetition& repetition, std::string& bytes) {
  bytes += static_cast<char>(FlagsOf(repetition));
  PutDouble(repetition.seconds, bytes);
  PutDouble(repetition.iterations, bytes);
  for (const auto& [flag, member] : kOptional)
    if (repetition.*member) PutDouble(*(repetition.*member), bytes);
}

Repetition Take(std::string_view& bytes, const std::string& where) {
  const auto flags = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  if (flags > 15 || bytes.size() < BytesAfter(flags))
    throw BadInput(where + ": damaged: repetitions that end too early");
  Repetition repetition;
  repetition.disturbed = (flags & kDisturbed) != 0;
  repetition.seconds = TakeDouble(bytes);
  repetition.iterations = TakeDouble(bytes);
  for (const auto& [flag, member] : kOptional)
    if ((flags & flag) != 0) repetition.*member = TakeDouble(bytes);
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
  for (std::size_t at = 0; at < repetitions.size(); ++count)
    at += 1 + BytesAfter(static_cast<unsigned char>(repetitions[at]));
  return count;
}

std::uint64_t HashOf(std::string_view text, std::uint64_t before) {
  std::uint64_t hash = before;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace dlroof
