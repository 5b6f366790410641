// Parts of a record as JSON: the energy of a call (and of a waiting machine, in the context), and
// what `parallel` holds of a watched call.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "counters/energy/energy.h"
#include "counters/parallel_time.h"
#include "reporters/record/large_json.h"

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

}  // namespace dlroof::record
