// Machines with specified roofs: from a file that a user wrote by hand, or from the published
// figures of a known GPU. Nothing of them is measured or validated. LocatedJson and LocatedObject
// read JSON written by hand and report faults with line and column.
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

  // Throws BadInput with FILE:LINE:COLUMN for text that is no JSON, a number out of the range of
  // double, and a repeated key.
  LocatedJson(std::string text, std::string file);

  const nlohmann::json& value() const { return value_; }
  // Returns "FILE:LINE:COLUMN" of the member's key, or "FILE" for an unknown path.
  std::string Where(const Path& path) const;

 private:
  nlohmann::json Parsed();
  void RecordOffset(const std::string& key, std::size_t end, Path& path);
  std::string At(std::size_t offset) const;
  std::string WordAt(std::size_t offset) const;

  std::string text_, file_;
  std::map<Path, std::size_t> offsets_;  // [byte] of the keys
  nlohmann::json value_;
};

// An object of a LocatedJson. All functions throw BadInput with FILE:LINE:COLUMN.
class LocatedObject {
 public:
  // Throws BadInput if `object` is not an object or has a key that is not in `known`.
  LocatedObject(const LocatedJson& file, const nlohmann::json& object, LocatedJson::Path path,
                const std::vector<std::string>& known);

  bool Has(const std::string& key) const { return object_.contains(key); }
  // Returns a text that is not empty.
  std::string Text(const std::string& key) const;
  // Returns a number above 0, from `least` to `most`.
  double Number(const std::string& key, double least = 0,
                double most = std::numeric_limits<double>::infinity()) const;
  const nlohmann::json& Needed(const std::string& key) const;
  LocatedJson::Path PathOf(const std::string& key) const;
  // Returns the place of the member, or of the object's first member if there is no such key.
  std::string Where(const std::string& key = "") const;

 private:
  const LocatedJson& file_;
  const nlohmann::json& object_;
  LocatedJson::Path path_;
};

// Returns whether the file was written by hand: it has no member that only `dlroof machine` writes.
bool IsSpecifiedMachine(const nlohmann::json& json);

// Reads {"name": TEXT, "flops": {"fp32.vector": RATE, ...}, "bytes": {"dram": RATE, ...}}. A RATE
// is a number or {"per_second": NUMBER, "source": TEXT}; MachineTemplate explains all members.
// Throws BadInput with FILE:LINE:COLUMN if the name or every rate is missing, for an unknown
// member, pipe or level, for a number that no machine reaches (usually in another unit), and for a
// CPU without `threads`.
machine::Machine SpecifiedMachine(const LocatedJson& file);

// Returns whether the machine has roofs and all of them are specified.
bool IsSpecified(const machine::Machine& machine);

// Returns the file of a specified machine, which SpecifiedMachine reads.
nlohmann::ordered_json SpecifiedToJson(const machine::Machine& machine);

// Returns SpecifiedToJson of an example with a member "help" that explains every member, pipe and
// level. SpecifiedMachine skips it.
nlohmann::ordered_json MachineTemplate(const machine::Machine& example);

// Returns the machine of a GPU of counters/delta/gpus ("h100"), if that GPU is known.
std::optional<machine::Machine> KnownGpu(std::string_view name);
std::vector<std::string_view> KnownGpuNames();
// Returns the values that a flag --machine accepts, for its help.
std::string MachineChoices();

}  // namespace dlroof::machine_file
