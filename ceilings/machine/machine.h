// Measured ceilings of a machine's pipes and memory levels, per thread count, each with its proof.
//
// Machines of schema 1, which kept typed values as sentences and as keys of `facts`.
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

// The numbers of a ceiling's self-proof; absent: not measured.
struct Validation {
  std::optional<double> doubling;   // [1] time of twice the work / time of the work: 2 is right
  std::optional<double> spread;     // [1] width of ci95 / the median: how far repetitions agree
  std::optional<double> drift;      // [1] 1 - the slowest pass / the fastest, of the clean ones
  std::optional<double> clean;      // [1] share of repetitions in which no thread waited for a CPU
  std::optional<double> scaling;    // [1] rate / (threads x the rate of one thread)
  std::optional<double> per_cycle;  // [flop/cycle] or [byte/cycle] of one thread at `clock_hz`
  std::optional<double> per_cycle_expected;  // [the same] the architecture's value that it meets
  std::string result;  // comparison of the kernel's results with a plain loop; empty: none made

  bool operator==(const Validation&) const = default;
};

struct Ceiling {
  double per_second = 0;                          // [flop/s] or [byte/s], > 0
  std::optional<std::pair<double, double>> ci95;  // [the same] of the median of clean repetitions
  std::optional<double> sustained_per_second;     // [the same] after 10 s of nothing else, where it
                                                  // was measured; `per_second` is the burst
  // [1] of a memory level: bytes that the level moves (modelled, write-allocate included) for each
  // one that the program names and `per_second` counts; absent where nothing moves on
  std::optional<double> moved_per_named;
  int threads = 1;                 // how many ran it together
  std::string how;                 // kernel, ISA, working set, statistic
  std::string mix;                 // "copy.avx2": the level's best mix; empty: not a level's roof
  std::optional<double> clock_hz;  // [1/s] core clock during the kernel, where it was measured
  bool validated = false;          // passed its self-proof
  bool specified = false;          // stated by a data sheet or another tool: not measured here and
                                   // never `validated`; what is placed on it says so
  bool unbounded = false;  // not validated for a reason that allows any error: its kernel did
                           // not do what it counts, or its arrays lie elsewhere
  std::vector<std::string> reasons;  // of not being validated
  Validation validation;

  std::string ReasonText() const;  // all reasons, separated by "; "
  // Returns whether percentages may rest on it: it is validated, or its user stands for it.
  bool CarriesPercentages() const { return validated || specified; }

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

// Comparison of the sweep over working sets with the size of a cache.
struct SweepFinding {
  std::string text;
  bool disagrees = false;

  bool operator==(const SweepFinding&) const = default;
};

// The ceilings of one thread count.
struct CeilingSet {
  std::map<std::string, Ceiling>
      flops;  // by pipe key; finer rows ("fp32.vector.avx2") beside the plain best one
  std::map<Level, Ceiling> bytes;        // the envelope: the best mix of each level
  std::map<std::string, Ceiling> mixes;  // each mix: "<level>.<mix>.<isa>", "dram.copy-nt.avx512"
  std::optional<double> launch_seconds;  // [s] cost of starting one primitive
  std::map<std::string, double> overheads;          // [s] "fork-join", "timer"
  cpu::TeamState best_state;                        // of these threads' cores, as they were met
  std::vector<SweepPoint> sweep;                    // loads, by working set
  std::map<Level, std::vector<RidgePoint>> ridges;  // by level, by rising intensity
  std::string effort;  // "quick", "full" or "thorough"; empty: imported or written by hand
  std::map<std::string, std::string> absent;     // row, level or overhead -> why it has no value
  std::map<std::string, std::string> costs_how;  // "launch" or overhead -> how it was measured
  std::map<std::string, std::string> sustained;  // row -> share of the burst after 10 s
  std::map<std::string, SweepFinding> edges;     // by level key, or "caches" for all

  bool operator==(const CeilingSet&) const = default;
};

struct Machine {
  std::string device;       // "cpu", "gpu": the second part of a benchmark's name
  std::string name;         // for people
  std::string fingerprint;  // hash of stable facts; ceilings of another fingerprint are never used
  std::string measured_at;  // ISO 8601, UTC
  std::map<Level, double> cache_bytes;   // [byte] capacity per cache level as seen by one core
  std::map<int, CeilingSet> by_threads;  // always holds 1 and all
  std::map<std::string, std::string>
      facts;  // descriptive, such as versions; the fingerprint hashes some: key -> text
  // [1/cycle] additions that a CPU's core starts, the best seen of one thread alone
  // (counters/cpu/clocks.h).
  std::optional<double> issue_rate = std::nullopt;

  bool operator==(const Machine&) const = default;
};

// The set measured with the most threads. Throws std::logic_error when the machine has none.
const CeilingSet& AllThreads(const Machine& machine);
// Returns the set measured with exactly this number of threads, or null if there is none or the
// number is unknown.
const CeilingSet* ForThreads(const Machine& machine, std::optional<int> threads);

// 64-bit hash, as 16 hex digits, of the stable facts alone: those whose key begins "cpu.", "gpu."
// or "topology." (design 6.11). The same on every platform and in every version of this program.
std::string Fingerprint(const std::map<std::string, std::string>& facts);

// Returns one element of a run file's "machines". The top-level "flops", "bytes" and
// "launch_seconds" repeat the set of all threads.
nlohmann::json ToJson(const Machine& machine);
// Reads what ToJson writes, and schema 1 (machine_schema1.h). `where` ("FILE" or
// "FILE: machines[0]") starts every message. The three top-level members may all be missing, as in
// stored run files. Throws BadInput on a missing or wrong-typed key, an unknown level or pipe, a
// rate that is not finite and positive, a confidence interval that is not ordered, a given ceiling
// that is validated.
Machine MachineFromJson(const nlohmann::json& json, const std::string& where);

// Splits the one text that schema 1 joined all reasons into.
std::vector<std::string> Schema1Reasons(const std::string& text);

// Moves "effort.<N>", "absent.<row>.threads.<N>", "sweep.<level>.threads.<N>", "sustained.<row>"
// and "<cost>.threads.<N>" from `facts` into the sets. Reads `mix` and removes the scaling's remark
// from `how`. Facts of thread counts without a set stay as they are.
void ConvertSchema1(Machine& machine);

}  // namespace dlroof::machine
