// A record and its parts as JSON: elements of a run file's "records", and the sentences that files
// of schema 1 have in place of members.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "counters/energy/energy.h"
#include "counters/parallel_time.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record.h"

namespace dlroof::record {

// All readers throw BadInput with the place of a wrong member. Writers omit unknown quantities.

// {"joules", "ci95": [LOW, HIGH], "domains": {NAME: JOULES}, "beside": {NAME: JOULES},
// "others_cpus", "seconds", "window_seconds", "calls", "from", "covers"}
nlohmann::json ToJson(const energy::Energy& energy);
energy::Energy EnergyFromJson(const JsonObject& at);

// {"begin_seconds", "end_seconds", "calls"}
nlohmann::json ToJson(const energy::MeteredWindow& window);
energy::MeteredWindow MeteredWindowFromJson(const JsonObject& at);

// {"joules", "ci95": [LOW, HIGH], "seconds", "window_seconds", "period_seconds", "samples",
// "nodes", "from", "covers"}
nlohmann::json ToJson(const energy::MeteredEnergy& energy);
energy::MeteredEnergy MeteredEnergyFromJson(const JsonObject& at);

// {"idle_watts", "idle_domains": {NAME: WATTS}, "idle_seconds", "from", "covers"}
nlohmann::json ToJson(const energy::IdlePower& idle);
// The CPU's idle power, with the GPU's in the member "gpu". An empty object if neither is known.
nlohmann::json ToJson(const energy::IdlePowers& idle);

// The parallel regions of a call.
nlohmann::json ToJson(const ParallelTime& time);
ParallelTime ParallelFromJson(const JsonObject& at);

// Reads the facts that LabelFacts (work_counters.h) writes, and their form in schema 1.
void ReadLabelFacts(const JsonObject& at, Record& record);
// Reads an element of "records"; ignores derived members.
Record RecordFromJson(const JsonObject& at);
// Reads a record from text; `where` begins every message.
Record RecordFromJson(std::string_view json, const std::string& where);

// Schema 1: adds a sentence of "counting", which is "PROVENANCE: HOW; 2 kernel launches: NAME,
// 3 x NAME; ..." or any text.
void AddSentence(std::string_view sentence, Record& record);
// Schema 1: reads a label "ALGORITHM; verified: HOW; counted: SENTENCE | SENTENCE; repro: LINE", of
// which each part may be missing. The label of another program becomes the algorithm.
void ReadSentences(std::string_view label, Record& record);

}  // namespace dlroof::record
