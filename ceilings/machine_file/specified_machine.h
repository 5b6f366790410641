// Machines whose roofs are specified, not measured: by a user's file, or by published figures.
// LocatedJson and LocatedObject read JSON written by hand and report errors with line and column.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/numbers.h"

namespace dlroof::machine_file {

class LocatedJson {
 public:
  // The keys that lead to a member, the outermost first; "[1]" is the second item of an array.
  using Path = std::vector<std::string>;

  // Parses `text`. Throws BadInput with FILE:LINE:COLUMN if it is not JSON, a number is out of the
  // range of double, or a key is repeated.
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
  std::map<Path, std::size_t> offsets_;  // [byte] position of each key in text_
  nlohmann::json value_;
};

// A JSON object in a LocatedJson. All functions throw BadInput with FILE:LINE:COLUMN.
class LocatedObject {
 public:
  // Throws BadInput if `object` is no JSON object or has a key not in `known` (empty: any key).
  LocatedObject(const LocatedJson& file, const nlohmann::json& object, LocatedJson::Path path,
                const std::vector<std::string>& known = {});

  bool Has(const std::string& key) const { return object_.contains(key); }
  std::vector<std::string> Keys() const;
  // Returns the member's text. Throws BadInput if it is missing or empty.
  std::string Text(const std::string& key) const;
  // Returns the member's number. Throws BadInput unless it is above 0 and in [least, most].
  double Number(const std::string& key, double least = 0, double most = kLargestNumber) const;
  // Returns the member as an object whose keys are all in `known`.
  LocatedObject Object(const std::string& key, const std::vector<std::string>& known = {}) const;
  const nlohmann::json& Needed(const std::string& key) const;
  // Returns "FILE:LINE:COLUMN" of the member `key`; without such a member that of the
  // alphabetically first member or, if the object is empty, of the object.
  std::string Where(const std::string& key = "") const;
  [[noreturn]] void Refuse(const std::string& key, const std::string& expected) const;

 private:
  LocatedJson::Path PathOf(const std::string& key) const;

  const LocatedJson& file_;
  const nlohmann::json& object_;
  LocatedJson::Path path_;
};

// Returns true if a person wrote the file: it lacks the members that only `dlroof machine` writes.
bool IsSpecifiedMachine(const nlohmann::json& json);

// Reads {"name": TEXT, "flops": {"fp32.vector": RATE, ...}, "bytes": {"dram": RATE, ...}}. A RATE
// is a number or {"per_second": NUMBER, "source": TEXT}. Ignores a member "help".
// Throws BadInput with FILE:LINE:COLUMN if the name is missing, there is no rate, a member, pipe or
// level is unknown, a rate is impossible (usually in another unit), or a CPU has no `threads`.
machine::Machine SpecifiedMachine(const LocatedJson& file);

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
