// A record out of an element of a run file's "records".
#pragma once

#include "counters/base/json_reader.h"
#include "reporters/record/record.h"

namespace dlroof {

// Reads the facts and leaves what is derived. Throws BadInput with the reader's place.
Record RecordFromJson(const JsonReader& at);

}  // namespace dlroof
