#include "baselines/history/packed_record.h"

#include <array>

#include "baselines/history/flagged_repetitions.h"
#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "reporters/record/record_from_json.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof {
namespace {

using nlohmann::json;

constexpr std::array kOptionalFields = {&Repetition::cpu_seconds, &Repetition::main_cpu_seconds,
                                        &Repetition::run_delay_seconds, &Repetition::core_share};
constexpr std::size_t kFirstOptional = 3, kBlockColumn = kFirstOptional + kOptionalFields.size(),
                      kGpuColumn = kBlockColumn + 1;
// After the GPU's, which came first.
constexpr std::array kLater = {&Repetition::link_share, &Repetition::clean_calls};
constexpr int kMostPackedBlock = 1000000;  // as run files have it

template <class Value>
json OrNull(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

std::optional<double> NumberAt(const json& row, std::size_t at) {
  if (at >= row.size() || row[at].is_null()) return std::nullopt;
  return row[at].get<double>();
}

json ToRow(const Repetition& repetition) {
  json row = {repetition.seconds, repetition.iterations, repetition.disturbed};
  for (const auto member : kOptionalFields) row.push_back(OrNull(repetition.*member));
  row.push_back(OrNull(repetition.block));
  auto& sample = row.emplace_back();
  if (repetition.gpu)
    for (const auto& [key, member] : GpuSampleFields())
      sample.push_back(OrNull((*repetition.gpu).*member));
  for (const auto member : kLater) row.push_back(OrNull(repetition.*member));
  while (row.back().is_null()) row.erase(row.size() - 1);
  return row;
}

Repetition FromRow(const json& row, const std::string& where) {
  Repetition repetition{.seconds = row.at(0).get<double>(),
                        .iterations = row.at(1).get<double>(),
                        .disturbed = row.at(2).get<bool>()};
  for (std::size_t i = 0; i < kOptionalFields.size(); ++i)
    repetition.*kOptionalFields.at(i) = NumberAt(row, kFirstOptional + i);
  if (const auto block = NumberAt(row, kBlockColumn)) {
    if (!(*block >= 0 && *block <= kMostPackedBlock))
      throw BadInput(where + ": damaged: a repetition of no block");
    repetition.block = static_cast<int>(*block);
  }
  for (std::size_t i = 0; i < kLater.size(); ++i)
    repetition.*kLater.at(i) = NumberAt(row, kGpuColumn + 1 + i);
  if (row.size() <= kGpuColumn || row[kGpuColumn].is_null()) return repetition;
  GpuSample sample;
  std::size_t at = 0;
  for (const auto& [key, member] : GpuSampleFields())
    sample.*member = NumberAt(row[kGpuColumn], at++);
  repetition.gpu = std::make_shared<GpuSample>(sample);
  return repetition;
}

}  // namespace

PackedRecord Pack(const Record& record) {
  PackedRecord packed;
  packed.facts = FactsToJson(record).dump(-1, ' ', false, json::error_handler_t::replace);
  json rows = json::array();
  for (const auto& repetition : record.repetitions) rows.push_back(ToRow(repetition));
  json::to_cbor(rows, packed.repetitions);
  if (record.status != Status::kOk) return packed;
  const auto timing = Summarize(record.repetitions);
  if (!timing) return packed;
  packed.median = timing->median;
  packed.ci95 = timing->ci95;
  packed.clean = timing->clean;
  return packed;
}

Record Unpack(const std::string& facts, const std::string& repetitions, const std::string& where) {
  try {
    Record record = RecordFromJson(facts, where);
    if (HasFlags(repetitions))
      record.repetitions = ReadFlagged(repetitions, where);
    else
      for (const auto& row : json::from_cbor(repetitions))
        record.repetitions.push_back(FromRow(row, where));
    return record;
  } catch (const json::exception& error) {
    throw BadInput("{}: damaged: {}", where, JsonFault(error));
  }
}

int CountRepetitions(const std::string& repetitions) {
  if (HasFlags(repetitions)) return CountFlagged(repetitions);
  const auto rows = json::from_cbor(repetitions, true, false);
  return rows.is_array() ? static_cast<int>(rows.size()) : 0;
}

}  // namespace dlroof
