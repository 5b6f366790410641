// JSON that people write by hand, and its objects: every member knows its line and column.
//
// Machines whose roofs are given: a file by hand, or the figures of a known GPU. Nothing of them is
// measured, nothing is validated.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof::machine_file {

class LocatedJson {
 public:
  // A member's keys, from the outermost to its own; "[1]" is the second item of an array.
  using Path = std::vector<std::string>;

  // Throws BadInput in one sentence with FILE:LINE:COLUMN: no JSON, a number that no double holds,
  // a key that its object has already.
  LocatedJson(std::string text, std::string file);

  const nlohmann::json& value() const { return value_; }
  // Returns "FILE:LINE:COLUMN" of the member's key; "FILE" alone for an unknown path.
  std::string Where(const Path& path) const;

 private:
  nlohmann::json Parsed();
  void Note(const std::string& key, std::size_t end, Path& path);
  std::string At(std::size_t offset) const;
  std::string WordAt(std::size_t offset) const;

  std::string text_, file_;
  std::map<Path, std::size_t> offsets_;  // [byte] of the keys
  nlohmann::json value_;
};

// An object of such a file. All functions throw BadInput with FILE:LINE:COLUMN.
class LocatedObject {
 public:
  // Throws BadInput where it is no object, or has a key that is none of `known`.
  LocatedObject(const LocatedJson& file, const nlohmann::json& object, LocatedJson::Path path,
                const std::vector<std::string>& known);

  bool Has(const std::string& key) const { return object_.contains(key); }
  // A text that is not empty.
  std::string Text(const std::string& key) const;
  // Returns a number above 0, from `least` to `most`.
  double Number(const std::string& key, double least = 0,
                double most = std::numeric_limits<double>::infinity()) const;
  const nlohmann::json& Needed(const std::string& key) const;
  LocatedJson::Path PathOf(const std::string& key) const;
  // Returns the place of a member; of the object's first one where it is not there or empty.
  std::string Where(const std::string& key = "") const;

 private:
  const LocatedJson& file_;
  const nlohmann::json& object_;
  LocatedJson::Path path_;
};

// Returns whether the file is one by hand: it has no member that only `dlroof machine` writes.
bool IsSpecifiedMachine(const nlohmann::json& json);

// Reads {"name": TEXT, "flops": {"fp32.vector": RATE, ...}, "bytes": {"dram": RATE, ...}}, a RATE
// being a number or {"per_second": NUMBER, "source": TEXT}; MachineTemplate explains all members.
// Throws BadInput with FILE:LINE:COLUMN: no name, no rate, a member, pipe or level that is none, a
// number that no machine reaches (most often one in another unit), a CPU without `threads`.
machine::Machine SpecifiedMachine(const LocatedJson& file);

// Returns whether every roof of the machine is given, and it has one.
bool IsSpecified(const machine::Machine& machine);

// The inverse of SpecifiedMachine, of a given machine.
nlohmann::ordered_json SpecifiedToJson(const machine::Machine& machine);

// Returns SpecifiedToJson of an example with a member "help", which SpecifiedMachine skips: it
// explains every member, pipe and level.
nlohmann::ordered_json MachineTemplate(const machine::Machine& example);

// Returns the machine of a GPU of counters/delta/gpus ("h100"); absent: there is none.
std::optional<machine::Machine> KnownGpu(std::string_view name);
std::vector<std::string_view> KnownGpuNames();
// Returns what a flag --machine takes, for its help: "a machine file ..., or a GPU: a100, ...".
std::string MachineChoices();

}  // namespace dlroof::machine_file
