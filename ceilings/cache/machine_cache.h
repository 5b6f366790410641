// Ceilings are measured once per machine and kept in the user's cache directory.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ceilings/cache/live_check.h"
#include "ceilings/cpu/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/base/folders.h"

namespace dlroof::machine_file {

struct MachineOptions {
  bool remeasure = false;    // ignore what is cached
  bool quick = false;        // measures missing counts quickly; a full measurement serves too
  bool thorough = false;     // measured anew and thoroughly, minutes
  std::vector<int> threads;  // thread counts wanted; empty: as ThreadCounts has them
  bool live_check = false;   // checks two of the stored ceilings before the run uses them
  std::string file;          // a machine file to use instead of the cache; empty: none
  std::function<void(const machine::MeasureProgress&)> progress;  // may be empty
};

// Returns this CPU's ceilings: from `options.file`, else the cache, else measured. Measures missing
// thread counts and adds them to the cache, not to the file. Compares thread counts as after one
// measurement (CompareThreadCounts). `log` gets one sentence about an unusable cache file, and a
// cache directory that cannot be written.
// `live_check` checks two stored ceilings. Where one lies outside its interval, all cached ceilings
// are dropped and measured again; those of a file stay. The result is in facts ("live_check"), and
// in `log` where it does not agree. Throws BadInput: a file that cannot be read, is not a machine,
// or is of another machine; a file together with `remeasure`; thread counts as MeasureCpu. Given
// ceilings are used as they are: nothing is looked at, compared or measured.
machine::Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log);

// Reads a file that WriteMachineFile wrote, or one by hand (given_machine.h). Where there is no
// such file, the name of a known GPU ("h100") is its given machine. Throws BadInput: unreadable,
// empty, not JSON, not a machine, neither a file nor a GPU.
machine::Machine ReadMachineFile(const std::filesystem::path& path);

// Returns how many ceilings did not prove themselves; empty: all did, or are given.
std::string UnprovedSentence(const machine::Machine& machine);

// Writes a given machine as one by hand. Throws as WriteFile (counters/base/files.h).
void WriteMachineFile(const machine::Machine& machine, const std::filesystem::path& path);

// Returns the machine's cache file in `directory`, by device and fingerprint.
std::filesystem::path CachePath(const std::filesystem::path& directory, const machine::Machine& machine);

// --- The same with everything around it replaceable, for tests and other devices ---

struct MachineSource {
  machine::Machine described;                               // the present machine without ceilings
  std::vector<int> threads;                        // counts wanted, not empty
  std::optional<std::filesystem::path> directory;  // of the cache
  std::function<machine::Machine(bool quick, const std::vector<int>& threads)> measure;
  std::function<std::vector<SpotCheck>(const machine::Machine&)> spot_check;  // for live_check; may be empty
  int cores = 0;  // that may be used; 0: not known
};
machine::Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                         std::ostream& log);

}  // namespace dlroof::machine_file
