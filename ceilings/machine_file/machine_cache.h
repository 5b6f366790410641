// The ceilings that a run uses: from a machine file, from the user's cache directory, or measured.
// A live check at the start of a run takes about a second and compares two of them with the
// machine.
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
  bool clean = false;       // in some repetition no thread waited for a CPU, and the first thread
                            // did not share its core before and after it
  double tolerance = 0.03;  // [1] by which two measurements may differ
  double drift = 0;         // [1] by which the rate may be lower; see AllowedDrift
};

enum class SpotVerdict {
  kAgrees,
  kFaster,   // above the stored ceiling, which is too low
  kSlower,   // below the stored interval: the machine is slower now
  kUnknown,  // other programs used the CPUs or their cores
};

// Compares the rate with the interval from the lower end of the stored ci95 (the stored rate if it
// has no ci95) to the stored rate. The tolerance widens the interval at both ends. A drift above
// the tolerance widens the lower end instead. Pure.
SpotVerdict Judge(const SpotCheck& check);
// Returns the larger of the stored drift and spread [1], at most a third: a rate that drifted
// during its measurement may drift again.
double AllowedDrift(const machine::Ceiling& stored);

// Returns "fp32.vector.avx512 with 2 threads: now 301 G/s, stored 305 G/s: agrees".
std::string Sentence(const SpotCheck& check);

// Measures the machine's fastest fp32 row and DRAM loads, if `machine` has them, with its largest
// thread count. A row that does not agree is measured up to three times, and the best rate counts.
// Takes less than a second if the DRAM working set is below 1 GiB.
std::vector<SpotCheck> SpotCheckCpu(const cpu::Cpu& cpu, const machine::Machine& machine);

struct MachineOptions {
  bool remeasure = false;    // ignores the cached ceilings
  bool quick = false;        // measures missing thread counts quickly
  bool thorough = false;     // measures everything again, for minutes
  std::vector<int> threads;  // thread counts to have; ThreadCounts chooses if there are none
  bool live_check = false;   // checks two of the stored ceilings before the run uses them
  std::string file;          // machine file to use in place of the cache, if not ""
  std::function<void(const machine::MeasureProgress&)> progress;  // may be empty
};

// Returns this CPU's ceilings: from `options.file`, else from the cache, else measured. Missing
// thread counts are measured and added to the cache, but not to the file; all thread counts are
// then compared (CompareThreadCounts). Specified roofs are used as they are, without any check or
// measurement. `log` gets a sentence about a cache file that cannot be used or written.
// With `live_check`, if a stored ceiling is outside its interval, all cached ceilings are dropped
// and measured again; those of a file stay. facts["live_check"] has the result; `log` gets it too
// if it does not agree. Throws BadInput for a file that cannot be read, is no machine file or
// belongs to another machine, for a file together with `remeasure` or `thorough`, and for thread
// counts as MeasureCpu does.
machine::Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log);

// Reads a file of WriteMachineFile or one written by hand (specified_machine.h). If there is no
// such file and `path` is the name of a known GPU ("h100"), returns that GPU. Throws BadInput for a
// file that cannot be read, is empty, or is no machine file in JSON, and if there is neither file
// nor GPU.
machine::Machine ReadMachineFile(const std::filesystem::path& path);

// Returns a warning that counts the roofs that are not validated; none if all are validated or
// specified.
std::optional<std::string> NotValidatedWarning(const machine::Machine& machine);

// Writes a specified machine in the form that people write. Throws as WriteFile does
// (counters/base/files.h).
void WriteMachineFile(const machine::Machine& machine, const std::filesystem::path& path);

// Returns the machine's cache file in `directory`, by device and fingerprint.
std::filesystem::path CachePath(const std::filesystem::path& directory,
                                const machine::Machine& machine);

// ---- CachedOrMeasuredCpu for other devices and for tests ----

struct MachineSource {
  machine::Machine described;                      // this machine, without ceilings
  std::vector<int> threads;                        // thread counts to have, at least one
  std::optional<std::filesystem::path> directory;  // the cache directory
  std::function<machine::Machine(bool quick, const std::vector<int>& threads)> measure;
  std::function<std::vector<SpotCheck>(const machine::Machine&)> spot_check;  // may be empty
  std::optional<int> cores;  // cores that this process may use
};
machine::Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                                  std::ostream& log);

}  // namespace dlroof::machine_file
