// One record as an element of a run file's "records", and back.
#pragma once

#include "counters/base/json_reader.h"
#include "reporters/record/record.h"
#include "reporters/roofline/place_view.h"

namespace dlroof {

// With its placement on `machine` (may be null), looked at as `view` says. No key for what is
// unknown.
nlohmann::json ToJson(const Record& record, const Machine* machine, const PlaceView& view = {});

// Only what does not differ from repetition to repetition: no times, nothing derived.
nlohmann::json FactsToJson(const Record& record);

// Reads the facts and leaves what is derived. Throws BadInput with the reader's place.
Record RecordFromJson(const JsonReader& at);

}  // namespace dlroof
