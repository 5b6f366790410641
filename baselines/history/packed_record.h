// A record as the history stores it: JSON of the part that rarely changes, and its repetitions as
// CBOR. Exact both ways.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "reporters/record/record.h"

namespace dlroof::history {

struct PackedRecord {
  std::string facts;  // JSON (FactsToJson of placed_json.h)
  // CBOR: an array with an array for each repetition. Its items: seconds, iterations, disturbed,
  // CPU time, CPU time of the main thread, run delay, core share, block, and the GPU's quantities
  // in the order of GpuSampleFields (gpu_sample.h). Unknown is null, or absent at the end.
  std::string repetitions;
  std::optional<double> median;                   // [s] as Summarize (record.h); absent: not ok
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0;                                  // [1]
};

PackedRecord Pack(const record::Record& record);
// Returns the record. Empty `repetitions` are none. Reads repetitions of older schemas, too.
// Throws BadInput, beginning with `where`, for anything that Pack did not make.
record::Record Unpack(const std::string& facts, const std::string& repetitions, const std::string& where);

// Returns 0 for damaged bytes.
int CountRepetitions(const std::string& repetitions);

}  // namespace dlroof::history
