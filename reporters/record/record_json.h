// Records as JSON: the elements of "records" in a run file. Also reads files of schema 1, which
// have sentences instead of some members.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "counters/energy/energy_meter.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record.h"

namespace dlroof::record {

// All readers throw BadInput with the position of a wrong member. Writers omit unknown quantities.

// Returns {"idle_watts", "idle_domains": {NAME: WATTS}, "idle_seconds", "from", "covers"} of the
// CPU, and the GPU's in the member "gpu"; or an empty object if neither is known.
nlohmann::json ToJson(const energy::IdlePowers& idle);

nlohmann::json ToJson(const GpuSample& sample);
nlohmann::json ToJson(const Repetition& repetition);
// Returns the members that are the same for all repetitions: no times and no derived values.
nlohmann::json ToJson(const Record& record);

// Returns a record's "algorithm", "isa", "verified", "repro", "counting", "kernels" and so on,
// the facts that its label has, too.
nlohmann::json LabelFacts(const Record& record);
// Reads the facts that LabelFacts writes, and their form in schema 1.
void ReadLabelFacts(const JsonObject& at, Record& record);
// Reads an element of "records"; ignores derived members.
Record RecordFromJson(const JsonObject& at);
// Reads a record from text; `where` begins every message.
Record RecordFromJson(std::string_view json, const std::string& where);

// A check that readers of run files call for each record, by facts that this module does not have,
// such as an op's FLOPs. It removes impossible values, and returns what was wrong or nullopt.
using RecordCheck = std::optional<std::string> (*)(Record& record);
bool RegisterRecordCheck(RecordCheck check);

// Schema 1: parses a sentence of "counting" and adds it to `record`. The sentence is "PROVENANCE:
// HOW; 2 kernel launches: NAME, 3 x NAME; ..." or any text.
void AddSentence(std::string_view sentence, Record& record);
// Schema 1: reads a label "ALGORITHM; verified: HOW; counted: SENTENCE | SENTENCE; repro: LINE",
// each part of which is optional. The label of another program becomes the algorithm.
void ReadSentences(std::string_view label, Record& record);

}  // namespace dlroof::record
