// A record out of an element of a run file's "records".
#pragma once

#include <string>
#include <string_view>

#include "reporters/record/record.h"

namespace dlroof {

class JsonObject;

// Reads the facts and leaves what is derived. Throws BadInput with the object's place.
Record RecordFromJson(const JsonObject& at);
// The same of a text; `where` begins every message.
Record RecordFromJson(std::string_view json, const std::string& where);

}  // namespace dlroof
