// Checks at the start of a run, in a second, that two stored ceilings are still this machine's.
//
// Ceilings are measured once per machine and kept in the user's cache directory.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ceilings/cpu_ceilings/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/base/files.h"
#include "counters/cpu/cpu.h"

namespace dlroof::machine_file {

struct SpotCheck {
  std::string row;  // "fp32.vector.avx512 with 2 threads"
  machine::Ceiling stored;
  double per_second = 0;    // [flop/s] or [byte/s] best repetition now
  bool clean = false;       // no thread waited for a CPU in some repetition, while the first
                            // thread's core was its own before and after
  double tolerance = 0.03;  // [1] that two measurements may differ by
  double drift = 0;         // [1] that one may be lower by: as much as the stored one's passes were
};

enum class SpotVerdict {
  kAgrees,
  kFaster,   // above the stored ceiling: it is too low
  kSlower,   // below the stored interval: something holds the machine back now
  kUnknown,  // others held the CPUs or their cores
};

// Compares with an interval from the lower end of the stored ci95, or the rate itself without one,
// to the stored rate. The tolerance widens both ends. A larger drift widens the lower end instead:
// a rate that drifted within the measurement may drift again. Pure.
SpotVerdict Judge(const SpotCheck& check);
// Returns the larger of the stored drift and spread [1], a third at most.
double AllowedDrift(const machine::Ceiling& stored);

// "fp32.vector.avx512 with 2 threads now 301 G/s, stored 305 G/s: agrees".
std::string Sentence(const SpotCheck& check);

// Measures the machine's fastest fp32 row and DRAM loads, as far as `machine` has them, with the
// most threads that it has ceilings of. A row that does not agree gets three attempts, and the best
// counts. Takes under a second where the DRAM working set is below 1 GiB.
std::vector<SpotCheck> SpotCheckCpu(const cpu::Cpu& cpu, const machine::Machine& machine);

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

// Reads a file that WriteMachineFile wrote, or one by hand (specified_machine.h). Where there is no
// such file, the name of a known GPU ("h100") is its given machine. Throws BadInput: unreadable,
// empty, not JSON, not a machine, neither a file nor a GPU.
machine::Machine ReadMachineFile(const std::filesystem::path& path);

// Returns how many ceilings did not prove themselves; empty: all did, or are given.
std::string NotValidatedSentence(const machine::Machine& machine);

// Writes a given machine as one by hand. Throws as WriteFile (counters/base/files.h).
void WriteMachineFile(const machine::Machine& machine, const std::filesystem::path& path);

// Returns the machine's cache file in `directory`, by device and fingerprint.
std::filesystem::path CachePath(const std::filesystem::path& directory,
                                const machine::Machine& machine);

// --- The same with everything around it replaceable, for tests and other devices ---

struct MachineSource {
  machine::Machine described;                      // the present machine without ceilings
  std::vector<int> threads;                        // counts wanted, not empty
  std::optional<std::filesystem::path> directory;  // of the cache
  std::function<machine::Machine(bool quick, const std::vector<int>& threads)> measure;
  std::function<std::vector<SpotCheck>(const machine::Machine&)>
      spot_check;  // for live_check; may be empty
  int cores = 0;   // that may be used; 0: not known
};
machine::Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                                  std::ostream& log);

}  // namespace dlroof::machine_file
