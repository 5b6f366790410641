// Selects the ceilings for a run: from a machine file, from the user's cache directory, or measured
// now. A live check at the start of a run measures some stored ceilings again.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "ceilings/cpu_ceilings/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/base/files.h"
#include "counters/cpu/cpu.h"

namespace dlroof::machine_file {

// A new measurement of a row, beside the row's stored ceiling.
struct SpotCheck {
  std::string row;  // "fp32.vector.avx512 with 2 threads"
  machine::Ceiling stored;
  double per_second = 0;    // [flop/s] or [byte/s] of the best repetition now
  bool clean = false;       // the new measurement has a clean repetition
  double tolerance = 0.03;  // [1] allowed difference of two measurements
  double drift = 0;         // [1] allowed loss of rate, if above `tolerance`; see AllowedDrift
};

enum class SpotVerdict {
  kAgrees,
  kFaster,   // faster than the stored ceiling, which is therefore too low
  kSlower,   // slower than the stored interval: the machine is slower now
  kUnknown,  // interference: other programs used the CPUs or their cores
};

// Compares `per_second` with the interval from the lower end of the stored ci95 (without ci95: from
// the stored rate) to the stored rate. `tolerance` widens the interval at both ends; a larger
// `drift` takes its place at the lower end. A lower rate is kUnknown without a clean repetition.
SpotVerdict Judge(const SpotCheck& check);
// Returns the larger of the stored drift and spread [1], at most 1/3: the rate may vary so again.
double AllowedDrift(const machine::Ceiling& stored);

// Returns "fp32.vector.avx512 with 2 threads: now 301 G/s, stored 305 G/s: agrees".
std::string Sentence(const SpotCheck& check);

struct MachineOptions {
  bool remeasure = false;    // measures instead of using the cache
  bool quick = false;        // measures missing thread counts, with fewer repetitions
  bool thorough = false;     // measures all thread counts again, for minutes
  std::vector<int> threads;  // required thread counts; if empty, see ThreadCounts
  bool live_check = false;   // measures cached ceilings again (RowsToVisit) before the run
  std::string file;          // machine file instead of the cache; "": none
  // Plain pipes whose roofs a run needs ("fp32.vector"; empty: all). If given, measures no more
  // than the roofs of these pipes and of all levels, in at most 25 s; otherwise also all rows for
  // comparison, curves and sustained rates. Only for CPUs.
  std::optional<std::set<std::string>> needs = {};
  std::function<void(const machine::MeasureProgress&)> progress = {};  // may be empty
};

// Returns this CPU's ceilings: of `options.file`, else from the cache, else measured.
// - A file is only read; `log` names the thread counts that it lacks.
// - Thread counts that the cache lacks are measured and stored in it. New measurements are joined
//   with cached ones (machine::Learned) unless microcode or kernel have changed.
// - `live_check` measures RowsToVisit of the cache again (some 3 s) and writes the comparison with
//   the stored ceilings to facts["live_check"]. It joins the rows with cached ones; if one is
//   faster than stored, all needed roofs are measured again.
// - `log` gets a line if a ceiling disagrees, or if a cache file cannot be used or written.
// Throws BadInput if the file cannot be read, is no machine file or is of another machine, if it is
// combined with `remeasure` or `thorough`, and for thread counts as MeasureCpu does.
machine::Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log);

// Reads a file that WriteMachineFile or a person wrote (specified_machine.h). If there is no such
// file and `path` is the name of a known GPU ("h100"), returns that GPU. Throws BadInput if there
// is neither, or if the file cannot be read, is empty, or is no machine file in JSON.
machine::Machine ReadMachineFile(const std::filesystem::path& path);

// Returns a warning with the number of roofs that are not validated, or nullopt if there are none.
std::optional<std::string> NotValidatedWarning(const machine::Machine& machine);

// Returns the text of a machine file. That of a specified machine is SpecifiedToJson.
std::string MachineFileText(const machine::Machine& machine);
// Writes it. Throws BadInput if the file cannot be written.
void WriteMachineFile(const machine::Machine& machine, const std::filesystem::path& path);

// Returns the path of the machine's cache file in `directory`. Device and fingerprint name it.
std::filesystem::path CachePath(const std::filesystem::path& directory,
                                const machine::Machine& machine);

// ---- CachedOrMeasuredCpu with other sources of ceilings: other devices and tests ----

using RowsByThreads = std::map<int, std::set<std::string>>;

// Returns the ceilings (keys by thread count) that a short check before a run measures again: with
// the largest thread count the fastest fp32 kernel and loads from DRAM; with each thread count the
// roofs (of `pipes` and all levels) that are not validated.
RowsByThreads RowsToVisit(const machine::Machine& machine, const std::vector<int>& threads,
                          const std::set<std::string>& pipes);

struct MachineSource {
  machine::Machine described;                      // this machine, without ceilings
  std::vector<int> threads;                        // required thread counts, at least one
  std::optional<std::filesystem::path> directory;  // cache directory; absent: no cache
  std::function<machine::Machine(bool quick, const std::vector<int>& threads)> measure;
  std::optional<int> cores = {};  // cores that this process may use; absent: unknown
  // Set if new measurements are joined with the cached ones (CPUs); empty if they replace these.
  // `measure_roofs` measures the roofs of `pipes` (empty: all), `visit` measures `rows` once.
  std::function<machine::Machine(const std::vector<int>& threads,
                                 const std::set<std::string>& pipes)>
      measure_roofs = {};
  std::function<machine::Machine(const RowsByThreads& rows)> visit = {};
  std::set<std::string> pipes = {};  // plain pipes that this machine has

  bool Learns() const { return static_cast<bool>(measure_roofs); }
};
machine::Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                                  std::ostream& log);

}  // namespace dlroof::machine_file
