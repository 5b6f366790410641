// Ceilings of a machine's pipes and memory levels, per thread count, each with its validation, and
// their JSON form.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/cpu/team_look.h"
#include "counters/work.h"

namespace dlroof::machine {

// The measured numbers by which a ceiling is validated.
struct Validation {
  std::optional<double> doubling;   // [1] time of twice the work / time of the work: 2 is right
  std::optional<double> spread;     // [1] width of ci95 / the median of the repetitions
  std::optional<double> drift;      // [1] 1 - the slowest / the fastest clean pass
  std::optional<double> clean;      // [1] share of repetitions in which no thread waited for a CPU
  std::optional<double> scaling;    // [1] rate / (threads x the rate of one thread)
  std::optional<double> per_cycle;  // [flop/cycle] or [byte/cycle] of one thread at `clock_hz`
  std::optional<double> per_cycle_expected;  // [the same] the architecture's nearest value
  std::optional<std::string> result;         // how the kernel's results were found to be right

  bool operator==(const Validation&) const = default;
};

enum class CeilingStatus {
  kValidated,     // measured, and all checks passed
  kNotValidated,  // measured, and a check failed: Ceiling::reasons names it
  kSpecified,     // stated by a data sheet or another tool, not measured here
};

struct Ceiling {
  double per_second = 0;                          // [flop/s] or [byte/s], > 0
  std::optional<std::pair<double, double>> ci95;  // [the same] of the median of clean repetitions
  // [the same] rate after 10 s without a pause, set if it differs from the burst `per_second`.
  std::optional<double> sustained_per_second;
  // [1] bytes that the memory level moves (modelled, write-allocate included) per byte that the
  // program names and `per_second` counts. L1 has none.
  std::optional<double> moved_per_named;
  int threads = 1;                 // threads that ran the kernel together
  std::string how;                 // kernel, ISA, working set, statistic
  std::string mix;                 // "copy.avx2", the best mix; of a memory level's roof only
  std::optional<double> clock_hz;  // [1/s] core clock during the kernel
  CeilingStatus status = CeilingStatus::kNotValidated;
  // The error has no bound: the kernel did not do the work that is counted, or its arrays were in
  // another memory level. Only a ceiling that is not validated can be unbounded.
  bool unbounded = false;
  std::vector<std::string> reasons;  // why the ceiling is not validated
  Validation validation;

  bool IsValidated() const { return status == CeilingStatus::kValidated; }
  bool IsSpecified() const { return status == CeilingStatus::kSpecified; }
  // Returns whether percentages of this ceiling may be shown: it is validated or specified.
  bool AllowsPercentages() const { return status != CeilingStatus::kNotValidated; }
  std::string ReasonText() const;  // all reasons, separated by "; "

  bool operator==(const Ceiling&) const = default;
};

struct SweepPoint {
  double bytes = 0;       // [byte] working set of one thread
  double per_second = 0;  // [byte/s] of all threads

  bool operator==(const SweepPoint&) const = default;
};

struct RidgePoint {
  double intensity = 0;         // [flop/byte]
  double flops_per_second = 0;  // [flop/s] of all threads

  bool operator==(const RidgePoint&) const = default;
};

// Comparison of the sweep over working sets with the reported size of a cache.
struct SweepFinding {
  std::string text;
  bool disagrees = false;

  bool operator==(const SweepFinding&) const = default;
};

// The ceilings of one thread count.
struct CeilingSet {
  // By pipe key: the roof ("fp32.vector") and the rows that it was chosen from
  // ("fp32.vector.avx2").
  std::map<std::string, Ceiling> flops;
  std::map<Level, Ceiling> bytes;        // the roof of each level: its best mix
  std::map<std::string, Ceiling> mixes;  // each mix: "<level>.<mix>.<isa>", "dram.copy-nt.avx512"
  std::optional<double> launch_seconds;  // [s] cost of starting one primitive
  std::map<std::string, double> overheads;          // [s] "fork-join", "timer"
  cpu::TeamState best_state;                        // best state seen of these threads' cores
  std::vector<SweepPoint> sweep;                    // loads, by working set
  std::map<Level, std::vector<RidgePoint>> ridges;  // by level, by rising intensity
  std::string effort;  // "quick", "full" or "thorough"; "" for sets that dlroof did not measure
  std::map<std::string, std::string> absent;     // row, level or overhead -> reason of its absence
  std::map<std::string, std::string> costs_how;  // "launch" or overhead -> method of measurement
  std::map<std::string, std::string> sustained;  // row -> share of the burst after 10 s
  std::map<std::string, SweepFinding> edges;     // by level key, or "caches" for all

  bool operator==(const CeilingSet&) const = default;
};

struct Machine {
  std::string device;       // "cpu", "gpu": the second part of a benchmark's name
  std::string name;         // for people
  std::string fingerprint;  // hash of stable facts; ceilings of another fingerprint are never used
  std::string measured_at;  // ISO 8601, UTC
  std::map<Level, double> cache_bytes;       // [byte] capacity per cache level as seen by one core
  std::map<int, CeilingSet> by_threads;      // by thread count; a GPU's have one thread, the host's
  std::map<std::string, std::string> facts;  // descriptions, such as versions; see Fingerprint
  // [1/cycle] additions that a CPU's core starts, the highest rate seen of a single thread
  // (counters/cpu/clocks.h).
  std::optional<double> issue_rate = std::nullopt;

  bool operator==(const Machine&) const = default;
};

// Returns the set of the largest thread count. Throws std::logic_error if there is none.
const CeilingSet& AllThreads(const Machine& machine);
// Returns the set of exactly this thread count, or null if there is none or the count is unknown.
const CeilingSet* ForThreads(const Machine& machine, std::optional<int> threads);

// 64-bit hash, as 16 hex digits, of the stable facts alone: those whose key begins "cpu.", "gpu."
// or "topology.". The same on every platform and in every version of this program.
std::string Fingerprint(const std::map<std::string, std::string>& facts);

// Returns one element of a run file's "machines". The top-level "flops", "bytes" and
// "launch_seconds" repeat the set of all threads.
nlohmann::json ToJson(const Machine& machine);
// Reads the JSON that ToJson writes, and schema 1. `where` ("FILE" or "FILE: machines[0]") starts
// every message. The three top-level members may all be missing, as in stored run files. Throws
// BadInput for a missing key or one of a wrong type, an unknown level or pipe, a rate that is not
// finite and positive, a confidence interval in the wrong order, or a specified ceiling that claims
// to be validated.
Machine MachineFromJson(const nlohmann::json& json, const std::string& where);

}  // namespace dlroof::machine
