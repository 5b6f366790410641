// A record out of an element of a run file's "records".
#pragma once

#include <string>
#include <string_view>

#include "reporters/record/record.h"

namespace dlroof {

class JsonObject;

// Reads what LabelFacts (work_counters.h) writes, and what schema 1 wrote in its place.
void ReadLabelFacts(const JsonObject& at, Record& record);
// Reads the facts and leaves what is derived. Throws BadInput with the object's place.
Record RecordFromJson(const JsonObject& at);
// The same of a text; `where` begins every message.
Record RecordFromJson(std::string_view json, const std::string& where);

}  // namespace dlroof
