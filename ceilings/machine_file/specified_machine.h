// Machines whose roofs are specified, not measured: by a user's file, or by published figures.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof::machine_file {

// Returns true if a person wrote the file: it lacks the members that only `dlroof machine` writes.
bool IsSpecifiedMachine(const nlohmann::json& json);

// Reads {"name": TEXT, "flops": {"fp32.vector": RATE, ...}, "bytes": {"dram": RATE, ...}}. A RATE
// is a number or {"per_second": NUMBER, "source": TEXT}; `help` is skipped.
// Throws BadInput if the name is missing, there is no rate, a member, pipe or level is unknown, a
// rate is impossible (usually in another unit), or a CPU has no `threads`. `where` (the file's
// name) starts the message.
machine::Machine SpecifiedMachine(const nlohmann::json& json, const std::string& where);

// Returns true if the machine has roofs and all of them are specified.
bool IsSpecified(const machine::Machine& machine);

// Returns a specified machine in the JSON form that SpecifiedMachine reads.
nlohmann::ordered_json SpecifiedToJson(const machine::Machine& machine);

// Returns a GPU of counters/delta/gpus by name ("h100"), or nullopt if the name is unknown.
std::optional<machine::Machine> KnownGpu(std::string_view name);
std::vector<std::string_view> KnownGpuNames();
// Returns the help text about the values that the flag --machine accepts.
std::string MachineChoices();

}  // namespace dlroof::machine_file
