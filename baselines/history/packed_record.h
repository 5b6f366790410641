// A record as the history stores it: what rarely changes as text, and its repetitions as bytes.
// Exact both ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "reporters/record/record.h"

namespace dlroof {

struct PackedRecord {
  std::string facts;  // JSON (FactsToJson of record_json.h)
  // Of each: a byte that says what follows (1 disturbed, 2 CPU time, 4 CPU time of the main thread,
  // 8 run delay, 16 block, 32 GPU); of a GPU two bytes, little-endian, with a bit for each known
  // quantity in the order of GpuSampleFields (gpu_sample.h); then seconds, iterations and these,
  // little-endian IEEE doubles. 16 and 32 since schema 2 of the history.
  std::string repetitions;
  std::optional<double> median;                   // [s] as Summarize (record.h); absent: not ok
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0;                                  // [1]
};

PackedRecord Pack(const Record& record);
// Throws BadInput, beginning with `where`, for what Pack did not make.
Record Unpack(std::string_view facts, std::string_view repetitions, const std::string& where);

int CountRepetitions(std::string_view repetitions);

}  // namespace dlroof
