// Machines whose roofs are given: a file by hand, or the figures of a known GPU. Nothing of them is
// measured, nothing is proved.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/cache/located_object.h"
#include "ceilings/machine/machine.h"

namespace dlroof::machine_file {

// Returns whether the file is one by hand: it has no member that only `dlroof machine` writes.
bool IsGivenMachine(const nlohmann::json& json);

// Reads {"name": TEXT, "flops": {"fp32.vector": RATE, ...}, "bytes": {"dram": RATE, ...}}, a RATE
// being a number or {"per_second": NUMBER, "source": TEXT}; MachineTemplate explains all members.
// Throws BadInput with FILE:LINE:COLUMN: no name, no rate, a member, pipe or level that is none, a
// number that no machine reaches (most often one in another unit), a CPU without `threads`.
machine::Machine GivenMachine(const LocatedJson& file);

// Returns whether every roof of the machine is given, and it has one.
bool IsGiven(const machine::Machine& machine);

// The inverse of GivenMachine, of a given machine.
nlohmann::ordered_json GivenToJson(const machine::Machine& machine);

// Returns GivenToJson of an example with a member "help", which GivenMachine skips: it explains
// every member, pipe and level.
nlohmann::ordered_json MachineTemplate(const machine::Machine& example);

// Returns the machine of a GPU of counters/delta/gpus ("h100"); absent: there is none.
std::optional<machine::Machine> KnownGpu(std::string_view name);
std::vector<std::string_view> KnownGpuNames();
// Returns what a flag --machine takes, for its help: "a machine file ..., or a GPU: a100, ...".
std::string MachineChoices();

}  // namespace dlroof::machine_file
