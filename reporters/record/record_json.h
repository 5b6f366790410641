// Parts of a record as JSON: the energy of a call (and of a waiting machine, in the context), and
// what `parallel` holds of a watched call.
//
// A record out of an element of a run file's "records", and of the sentences in files of schema 1,
// which later ones have as members.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "counters/energy/energy.h"
#include "counters/parallel_time.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record.h"

namespace dlroof::record {

// {"joules", "ci95": [LOW, HIGH], "domains": {NAME: JOULES}, "beside": {NAME: JOULES},
// "others_cpus", "seconds", "window_seconds", "calls", "from", "covers"}; an unknown quantity has
// no key.
nlohmann::json ToJson(const energy::Energy& energy);
// Throws BadInput with the place for a member that cannot be.
energy::Energy EnergyFromJson(const JsonObject& at);

// {"begin_seconds", "end_seconds", "calls"}
nlohmann::json ToJson(const energy::MeteredWindow& window);
// Throws BadInput with the place for a member that cannot be.
energy::MeteredWindow MeteredWindowFromJson(const JsonObject& at);

// {"joules", "ci95": [LOW, HIGH], "seconds", "window_seconds", "period_seconds", "samples",
// "nodes", "from", "covers"}; an unknown quantity has no key.
nlohmann::json ToJson(const energy::MeteredEnergy& energy);
// Throws BadInput with the place for a member that cannot be.
energy::MeteredEnergy MeteredEnergyFromJson(const JsonObject& at);

// {"idle_watts", "idle_domains": {NAME: WATTS}, "idle_seconds", "from", "covers"}
nlohmann::json ToJson(const energy::IdlePower& idle);
// The same of the CPU, with that of the GPU in its member "gpu"; empty where neither is known.
nlohmann::json ToJson(const energy::IdlePowers& idle);

// A watched call.
nlohmann::json ToJson(const ParallelTime& time);
// Throws BadInput with the place for a member that cannot be.
ParallelTime ParallelFromJson(const JsonObject& at);

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
