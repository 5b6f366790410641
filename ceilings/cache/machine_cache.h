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
#include "counters/base/cache_directory.h"

namespace dlroof {

struct MachineOptions {
  bool remeasure = false;    // ignore what is cached
  bool quick = false;        // what is missing is measured quickly; a full measurement serves too
  bool thorough = false;     // measured anew and thoroughly, minutes
  std::vector<int> threads;  // thread counts wanted; empty: as ThreadCounts has them
  bool live_check = false;   // look at two of the stored ceilings before they are used
  std::string file;          // a machine file to use instead of the cache; empty: none
  std::function<void(const MeasureProgress&)> progress;  // may be empty
};

// This CPU's ceilings: from `options.file`, else the cache, else measured; thread counts that are
// missing there are measured and added (to the cache, not to the file); then thread counts are held
// against each other as after one measurement (CompareThreadCounts). A cache file that cannot be
// used, and a cache directory that cannot be written, are one sentence in `log` each.
// With `live_check` two ceilings that are not measured now are looked at: where one lies outside
// its stored interval, all that is cached is dropped and what is wanted measured again (those of a
// file are only doubted); what was found is in facts ("live_check") and, where it does not agree,
// in `log`. Ceilings that did not prove themselves are one sentence in `log`, each time they are
// used. Throws BadInput: a file that cannot be read, is not a machine, or is of another machine; a
// file together with `remeasure`; thread counts as MeasureCpu.
Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log);

// Throws BadInput: unreadable, empty, not JSON, not a machine. The file holds what ToJson made.
Machine ReadMachineFile(const std::filesystem::path& path);

// As WriteFile (counters/base/files.h).
void WriteMachineFile(const Machine& machine, const std::filesystem::path& path);

// Where the machine's ceilings are kept in `directory`: by device and fingerprint.
std::filesystem::path CachePath(const std::filesystem::path& directory, const Machine& machine);

// --- The same with everything around it replaceable, for tests and other devices ---

struct MachineSource {
  Machine described;         // device, name, fingerprint, facts of what is here; no ceilings
  std::vector<int> threads;  // counts wanted, not empty
  std::optional<std::filesystem::path> directory;  // of the cache
  std::function<Machine(bool quick, const std::vector<int>& threads)> measure;
  std::function<std::vector<SpotCheck>(const Machine&)> look;  // for live_check; may be empty
  int cores = 0;                                               // that may be used; 0: not known
};
Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                         std::ostream& log);

}  // namespace dlroof
