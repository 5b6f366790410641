// A record out of an element of a run file's "records", and of the sentences in files of schema 1,
// which later ones have as members.
#pragma once

#include <string>
#include <string_view>

#include "reporters/record/record.h"

namespace dlroof::record {

class JsonObject;

// Reads what LabelFacts (work_counters.h) writes, and what schema 1 wrote in its place.
void ReadLabelFacts(const JsonObject& at, Record& record);
// Reads the facts and leaves what is derived. Throws BadInput with the object's place.
Record RecordFromJson(const JsonObject& at);
// The same of a text; `where` begins every message.
Record RecordFromJson(std::string_view json, const std::string& where);

// Adds a sentence of "counting": "PROVENANCE: HOW; 2 kernel launches: NAME, 3 x NAME; ..." or text.
void AddSentence(std::string_view sentence, Record& record);
// Moves the ISA out of an `algorithm` of "ALGORITHM; isa ISA".
void TakeIsa(Record& record);
// Reads "ALGORITHM; verified: HOW; counted: SENTENCE | SENTENCE; repro: LINE", where each part may
// be missing. A plain Google Benchmark label is all ALGORITHM.
void ReadSentences(std::string_view label, Record& record);

}  // namespace dlroof::record
