// Records as JSON: the elements of "records" in a run file. Also reads files of schema 1, in which
// some members are sentences.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "reporters/record/large_json.h"
#include "reporters/record/record.h"

namespace dlroof::record {

// All readers throw BadInput with the position of a wrong member. Writers omit unknown quantities.

nlohmann::json ToJson(const GpuSample& sample);
nlohmann::json ToJson(const Repetition& repetition);
// Returns the members that are the same for all repetitions, without times and derived values.
nlohmann::json ToJson(const Record& record);

// Returns the facts of a record that its label (ToLabel) also has, e.g. "algorithm" and "counting".
nlohmann::json LabelFacts(const Record& record);
// Reads the facts that LabelFacts returns, also in their form in schema 1.
void ReadLabelFacts(const JsonObject& at, Record& record);
// Reads an element of "records"; ignores derived members.
Record RecordFromJson(const JsonObject& at);
// Reads a record from text; `where` begins every message.
Record RecordFromJson(std::string_view json, const std::string& where);

// A check by facts that this module does not have, e.g. an op's FLOPs. Readers of run files call it
// for each record. It removes impossible values and returns what was wrong, or nullopt.
using RecordCheck = std::optional<std::string> (*)(Record& record);
bool SetRecordCheck(RecordCheck check);

// Schema 1: adds a sentence of "counting" to the record's notes and kernels. The sentence is e.g.
// "PROVENANCE: HOW; 2 kernel launches: NAME, 3 x NAME; ...", or any other text.
void AddSentence(std::string_view sentence, Record& record);
// Schema 1: reads a label "ALGORITHM; verified: HOW; counted: SENTENCE | SENTENCE; repro: LINE", in
// which each part may be missing. The label of another program becomes the algorithm.
void ReadSentences(std::string_view label, Record& record);
// Schema 1: moves the ISA out of an `algorithm` "ALGORITHM; isa ISA".
void TakeIsa(Record& record);

}  // namespace dlroof::record
