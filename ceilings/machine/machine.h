// The ceilings of a machine's pipes and memory levels per thread count, and their JSON form.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/rate.h"
#include "counters/base/work.h"
#include "counters/cpu/clocks.h"

namespace dlroof::machine {

// The numbers by which a ceiling is validated. Each is absent if it was not measured.
struct Validation {
  std::optional<double> doubling;   // [1] time of twice the work / time of the work; ideal: 2
  std::optional<double> spread;     // [1] width of ci95 / the median of the repetitions
  std::optional<double> drift;      // [1] 1 - lowest / highest rate of the row's clean passes
  std::optional<double> clean;      // [1] share of repetitions that were clean (IsClean, rate.h)
  std::optional<double> scaling;    // [1] rate / (threads x rate of one thread); GPU: the rate
                                    // per SM / the rate per SM if half of the SMs work
  std::optional<double> per_cycle;  // [flop/cycle], [byte/cycle] per thread or SM, at clock_hz
  std::optional<double> per_cycle_expected;  // nearest value that the hardware allows
  std::optional<std::string> result;         // how the kernel's results were checked

  bool operator==(const Validation&) const = default;
};

// One measurement of a row (a kernel's ceiling). A row has several, made at different times.
struct Visit {
  std::string at;                            // ISO 8601, UTC
  double per_second = 0;                     // [flop/s] or [byte/s]
  int clean = 0;                             // repetitions without interference (IsClean, rate.h)
  std::optional<double> clock_hz;            // [1/s]
  std::optional<double> per_cycle;           // as in Validation
  std::optional<double> per_cycle_expected;  // as in Validation
  bool validated = false;                    // this measurement by itself passed all checks

  bool operator==(const Visit&) const = default;
};

enum class CeilingStatus {
  kValidated,     // measured, and all checks passed
  kNotValidated,  // measured, and a check failed: Ceiling::reasons names it
  kSpecified,     // copied from a data sheet or another tool, not measured
};

struct Ceiling {
  double per_second = 0;                          // [flop/s] or [byte/s], > 0
  std::optional<std::pair<double, double>> ci95;  // [flop/s], [byte/s] 95 % interval of the median
  // [flop/s] or [byte/s] Rate after 10 s of load. Absent if unknown or within 3 % of per_second.
  std::optional<double> sustained_per_second;
  std::optional<double> sustained_clock_hz;  // [1/s] core clock after 10 s without a pause
  // [1] Bytes that the memory level moves (modelled, with write-allocate) divided by the bytes that
  // the program accesses, which `per_second` counts. Absent for L1 and for arithmetic.
  std::optional<double> moved_per_named;
  int threads = 1;  // threads that ran the kernel together
  std::string how;  // text for people: kernel, ISA, working set, statistic
  std::string mix;  // only in a memory level's roof: its mix of loads and stores ("copy.avx2")
  // [1/s] Clock of the cores or SMs, while the kernel ran or, if that is unknown, right after it.
  std::optional<double> clock_hz;
  CeilingStatus status = CeilingStatus::kNotValidated;
  // The rate may be wrong by any factor: the kernel did not do the counted work, or its arrays were
  // in another memory level. Only set if the ceiling is not validated.
  bool unbounded = false;
  std::vector<std::string> reasons;  // why the ceiling is not validated
  Validation validation;
  std::vector<Visit> visits;  // of this machine, in the order of time; at most eight

  bool IsValidated() const { return status == CeilingStatus::kValidated; }
  bool IsSpecified() const { return status == CeilingStatus::kSpecified; }
  // Returns true if reports may show percentages of this ceiling: it is validated or specified.
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

// Result of comparing a cache's reported size with the sweep over working sets.
struct SweepFinding {
  std::string text;
  bool disagrees = false;

  bool operator==(const SweepFinding&) const = default;
};

// Keys in CeilingSet::overheads [s]. kQueuedOverhead: time per empty kernel if many are queued
// before the GPU begins, i.e. the launch cost that a call's device time contains.
inline constexpr const char* kQueuedOverhead = "queued";
inline constexpr const char* kGraphNodeOverhead = "graph-node";  // an empty kernel in a CUDA graph

// The ceilings of one thread count.
struct CeilingSet {
  // By key: the roof of each pipe ("fp32.vector") and its measured rows ("fp32.vector.avx2").
  std::map<std::string, Ceiling> flops;
  std::map<Level, Ceiling> bytes;           // the roof of each level: its fastest mix
  std::map<std::string, Ceiling> mixes;     // rows by "<level>.<mix>.<isa>" ("l3.copy-nt.avx2")
  std::optional<double> launch_seconds;     // [s] cost of starting one primitive
  std::map<std::string, double> overheads;  // [s] "fork-join", "timer"; GPU "queued", "graph-node"
  cpu::TeamState best_state;                // best state of the cores (issue rate, round trip)
  std::vector<SweepPoint> sweep;            // bandwidth of loads, by rising working set
  std::map<Level, std::vector<RidgePoint>> ridges;  // by rising intensity
  // "quick", "roofs" (the roofs that a run needed), "full", "thorough"; "" if dlroof measured none
  std::string effort;
  std::map<std::string, std::string> absent;     // row, level or overhead -> why it is not measured
  std::map<std::string, std::string> costs_how;  // "launch" or overhead -> how it was measured
  std::map<std::string, std::string> sustained;  // row -> text: rate after 10 s / burst rate
  std::map<std::string, SweepFinding> edges;     // by level key ("l2"); old files: "caches" (all)

  bool operator==(const CeilingSet&) const = default;
};

struct Machine {
  std::string device;       // "cpu", "gpu": the second part of a benchmark's name
  std::string name;         // for people
  std::string fingerprint;  // hash of stable facts; ceilings are used only where it is the same
  std::string measured_at;  // ISO 8601, UTC
  std::map<Level, double> cache_bytes;       // [byte] capacity of each cache that a core uses
  std::map<int, CeilingSet> by_threads;      // by thread count; a GPU has one set, for 1 thread
  std::map<std::string, std::string> facts;  // hardware and versions; see Fingerprint
  // [1/cycle] Highest measured rate of additions of one thread (MeasureIssueRate, clocks.h).
  std::optional<double> issue_rate = std::nullopt;

  bool operator==(const Machine&) const = default;
};

// Returns the CeilingSet of the largest thread count. Throws std::logic_error if there is none.
const CeilingSet& AllThreads(const Machine& machine);
// Returns the CeilingSet of `threads` threads, or null if it is missing or `threads` is absent.
const CeilingSet* ForThreads(const Machine& machine, std::optional<int> threads);

// Returns the arithmetic or memory row with this key, or null if the set lacks it.
const Ceiling* FindRow(const CeilingSet& set, const std::string& row);

// Returns the set with each ceiling's burst rate replaced by its sustained rate, if that is known.
CeilingSet Sustained(CeilingSet ceilings);

// Returns the current time for Machine::measured_at.
std::string NowUtc();

// Returns a 64-bit hash, as 16 hex digits, of the facts whose key begins with "cpu.", "gpu." or
// "topology.". The hash is the same on every platform and in every version of this program.
std::string Fingerprint(const std::map<std::string, std::string>& facts);

// Returns one element of a run file's array "machines". Its members "flops", "bytes" and
// "launch_seconds" duplicate the CeilingSet of the largest thread count.
nlohmann::json ToJson(const Machine& machine);
// Reads the JSON that ToJson writes, and the older schema 1. Messages begin with `where` ("FILE" or
// "FILE: machines[0]"). The duplicated members may all be missing. Throws BadInput if a key is
// missing or has the wrong type, a level or pipe is unknown, a rate is not finite and positive, an
// interval's ends are in the wrong order, or a ceiling is both specified and validated.
Machine MachineFromJson(const nlohmann::json& json, const std::string& where);

// Joins measurements (visits) of a machine's rows. Other programs, a host that lowers the clock and
// a busy sibling thread only lower a rate. So the best of many visits is the best evidence, and
// visits at different times that agree with it validate it, even if none alone is validated. Pure.

// [1] Values of the parameter `tolerance` of Learned and AgreementOf.
inline constexpr double kArithmeticAgreement = 0.03, kMemoryAgreement = 0.05;
inline constexpr double kApartSeconds = 60;  // [s] min time between two visits that validate a rate

// How many visits of a row agree with its fastest clean visit. Agreeing visits have at least one
// clean repetition, a rate within `tolerance`, a clock (if known) within 5 % of the row's highest,
// and operations per cycle (if known) within 4 % of a value that the CPU allows.
struct Agreement {
  int visits = 0;    // all visits
  int agreeing = 0;  // agreeing visits, including the fastest
  double best = 0;   // [flop/s] or [byte/s] fastest rate with a clean repetition; 0: none
};
Agreement AgreementOf(const Ceiling& ceiling, double tolerance);

// Returns log(rate in `base` / rate in `contender`) of each pipe and memory level, per thread
// count, whose ceiling is validated in both. Uses the rates of the last visits. Leaves out a
// ceiling if its last visit in `base` is also the last one in `contender`.
std::vector<double> LogRateRatios(const Machine& base, const Machine& contender);

// Joins a new measurement `now` of a DRAM or L3 row with the `stored` one (null: none). Returns the
// fastest rate, validated only if two visits at least kApartSeconds apart agree on it: programs on
// other cores slow these levels for seconds, and no other check detects this. If one of the two
// ceilings is `unbounded`, uses only the other one.
Ceiling LearnedShared(const Ceiling* stored, const Ceiling& now);

// Joins a new measurement `now` of a row with the stored one. The result has the visits of both (at
// most 8, the fastest) and one of these rates:
// - The faster validated rate, if one of the ceilings is validated, unless two visits agree on a
//   rate that is higher by more than `tolerance`: then that rate, validated.
// - Otherwise the fastest rate, validated if two visits agree on it.
// If one of the two ceilings is `unbounded`, returns the other one.
Ceiling Learned(const Ceiling& stored, const Ceiling& now, double tolerance);

// Joins a new measurement `now` of one thread count with the stored set. Joins each row by
// LearnedShared (DRAM, L3) or Learned (others). Takes the lower launch cost and overheads, the more
// thorough `effort`, and the new value of everything else that `now` contains. Stored roofs stay;
// call AddRoofs afterwards to choose them again among the rows.
CeilingSet Learned(const CeilingSet& stored, const CeilingSet& now);

// The key of an arithmetic row is "<type>.<unit>.<part>". <part> is an instruction set, possibly
// with a variant. Readers of machine files derive the needed instructions from it:
//   portable                    plain C++ as compiled, needs no CPU feature
//   sse2 ssse3 sse41 avx avx2   avx2 includes FMA for floating point; avx does not
//   fma_scalar                  FMA3 on single elements
//   avx_vnni                    vpdpbusd ymm in VEX encoding
//   avx512                      AVX512F, for int8 AVX512BW
//   avx512_vnni avx512_bf16 avx512_fp16
//   amx                         AMX-TILE with AMX-INT8, AMX-BF16 or AMX-FP16, by the type
// Variants: _scalar (one element per instruction), _nofma (separate multiply and add), _ymm
// (256-bit vectors of an AVX-512 extension), _l1 (AMX loads its operands from L1 repeatedly).

// Converts a rate [iteration/s] into a ceiling: multiplies it with `work_per_iteration` [flop] or
// [byte] of all `threads`. Appends the number of clean or noisy repetitions to `how`.
Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how);

// Marks the ceiling as not validated. Adds `reason` unless the ceiling already has it.
void AddReason(Ceiling& ceiling, const std::string& reason);
// Calls AddReason and marks the ceiling as unbounded: its rate may be wrong by any factor.
void AddUnboundedReason(Ceiling& ceiling, const std::string& reason);

using CeilingRow = std::pair<const std::string, Ceiling>;

// Returns the row with the highest rate. If it is not validated, returns the fastest validated row
// within 3 % (measurement noise) of it, if there is one. Returns null if `rows` is empty.
const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows);

// Returns "fp32.vector" for "fp32.vector.avx2" and for "fp32.vector".
std::string PlainPipe(const std::string& row);
// Adds to `flops` the roof of each pipe ("fp32.vector"): a copy of the row ("fp32.vector.avx2")
// that ChooseRoof chooses. `how` of the roof begins with the row's key. On a GPU the choice is
// among the rows with right results; a pipe without one has no roof. On a CPU a roof for which
// there is FasterNotValidated is not validated. Pure.
void AddPipeRoofs(std::map<std::string, Ceiling>& flops, bool on_gpu = false);
// Sets the roof of each memory level that has mixes in the set: the mix that ChooseRoof chooses,
// whose name ("copy.avx2") it has in Ceiling::mix. On a GPU the choice is among the mixes with
// right results. Pure.
void AddLevelRoofs(CeilingSet& set, bool on_gpu = false);

// Returns why `best` may be below the roof of `rows`: a row that can start more operations per
// cycle (per_cycle_expected) is not validated. Returns nullopt if there is no such row.
std::optional<std::string> FasterNotValidated(const Ceiling& best,
                                              const std::vector<const CeilingRow*>& rows);

// Returns the row that ChooseRoof chooses among the level's copy kernels ("dram.copy-nt.avx512"):
// the roof of calls that write as many bytes as they read. Returns null without copy kernels.
const CeilingRow* FastestCopy(const CeilingSet& ceilings, Level level);

// Sets Validation::scaling = rate / (threads x rate of one thread) for all pipes and for L1 and L2,
// which are not shared by all cores. It is below 0.9 if cores share a power budget or L2, or
// threads share a core. `cores` is the number of cores that the process may use. If it is at least
// the number of threads, and the scaling at equal clock is below 0.9, other programs used the
// cores: the ceiling is marked as not validated. Call AddScaling again after a new measurement.
void AddScaling(Machine& machine, std::optional<int> cores);

// Marks a ceiling as not validated if a measurement with more threads is more than 3 % faster per
// thread, or one with fewer threads more than 3 % faster in all: another program or a lower clock
// slowed the ceiling's own measurement. The reason contains both rates. Repeated calls add it once.
void CompareThreadCounts(Machine& machine);

// Returns the instruction set of a row without its variant: "avx512" for
// "fp32.vector.avx512_nofma". Returns "" for a key without <part> or with an unknown <part>.
std::string_view IsaOfRow(std::string_view row_key);

// Returns the CPU features (counters/cpu/cpu.h) that the row needs: none without a known <part>.
std::set<std::string> FeaturesOfRow(std::string_view row_key);

// Returns true if code limited to `effective_isa` may use the row's instructions. ISAs have
// oneDNN's names (dnnl_cpu_isa_t without prefix: "avx2", "avx512_core_vnni"). Returns true for an
// unknown ISA or a key without <part>: too low a roof misleads more than too high a roof.
bool RowAllowed(std::string_view row_key, std::string_view effective_isa);

}  // namespace dlroof::machine
