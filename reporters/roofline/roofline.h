// Placement of one record under its machine's roofs, and the vocabulary of ops that reports use.
// Pure: no clock, no hardware, no text layout.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"

namespace dlroof::roofline {

// A parameter of an op's problems under the name that people use.
struct SweepWord {
  std::string name;  // "image"
  std::string key;   // key in a problem's text: "h", or "_s" after the underscore
  // Keys that change with `key`, separated by blanks: a square kernel's width, "same" padding.
  std::string follow = {};

  bool operator==(const SweepWord&) const = default;
};

// What to do about calls far above their roof, if the problem's text shows the cause.
struct ProblemRemedy {
  std::string device;    // "gpu": device of the calls to which it applies
  std::string key;       // "_p": key of the problem's text (ProblemParts)
  std::string contains;  // ":": it applies if the key's value contains this text
  std::string option;    // it does not apply to calls that already have this option
  std::string evidence;  // a clause: "its padding differs at the two ends"
  std::string next;      // a clause: what to try
};

// Two FLOP counts [flop] of a call whose filter reaches into padding.
struct ProductFlops {
  double useful = 0;  // only filter taps inside the image; this count is in records
  double dense = 0;   // with padding; this count is in the literature and in older run files
};

struct OpWords {
  std::string noun;              // one call of the op: "convolution"
  std::vector<SweepWord> sweep;  // parameters of its problems, in the order of reports
  // The members below are not in run files: they are known only for this program's ops.
  std::vector<ProblemRemedy> remedies = {};
  // Returns the FLOPs of a problem, nullopt for an invalid text. Empty for ops without padding.
  std::function<std::optional<ProductFlops>(const std::string& problem)> product_flops = {};
};
using OpVocabulary = std::map<std::string, OpWords, std::less<>>;  // by the op's name

// Registers the vocabulary of one of this program's ops. Returns false if the op already has one.
bool RegisterOpWords(const std::string& op, OpWords words);

// Returns the vocabulary of this program's ops, plus that of other ops in the `context` of a run
// file (context.dlroof.ops). Accepts any JSON and ignores members of other types.
OpVocabulary WordsOf(const nlohmann::json& context);
// Returns the noun for a call of the op, or "call" if `words` (if empty: this program's) has none.
std::string_view NounOf(std::string_view op, const OpVocabulary& words);
// Returns the op's entry of `words` (if empty: of this program's vocabulary), or null.
const OpWords* FindWords(std::string_view op, const OpVocabulary& words);
// Returns the JSON for context.dlroof.ops.
nlohmann::json ToJson(const OpVocabulary& words);

// A parameter, and the ops that have it with the same name and key.
struct SweepParameter {
  SweepWord word;
  std::vector<std::string> ops;
};
// Returns each parameter once, in the order of the ops' names and of their lists.
std::vector<SweepParameter> SweepParameters(const OpVocabulary& words);
// Returns the names of the parameters, each once.
std::vector<std::string> SweepNames(const OpVocabulary& words);

// A key and its value in a problem's text: "n16c64_s2p0:1x0:1" has n 16, c 64, _s 2, _p 0:1x0:1.
struct ProblemPart {
  std::string key, value;
  // Offsets in the text. `begin` is the key's first letter, after any underscore.
  std::size_t begin = 0, value_begin = 0, end = 0;
};
// Returns the parts of a problem's text, in its order. An "x" after a digit belongs to the value.
std::vector<ProblemPart> ProblemParts(std::string_view problem);

// Returns candidates for the problem's text with another value of this parameter, the likeliest
// first: the op may or may not omit a key with value 1. Keys in `word.follow` with the same old
// value get the new value too (a square stays square), but the padding (_p) does not change.
std::vector<std::string> WithValue(std::string_view problem, const SweepWord& word,
                                   const std::string& value);

// Returns the keys in `word.follow`.
std::vector<std::string> Followers(const SweepWord& word);

// Choices for the placement of records under their roofs.
struct PlaceView {
  std::vector<Level> levels;  // memory levels to use; empty: all known levels
  // Divide the FLOPs of all pipes by the best matrix ceiling, as in the time-based roofline paper.
  bool tensor_balance = false;
  OpVocabulary words;  // of the file's ops; empty: this program's
};

// Classic roofline: one point per level with known bytes.
struct ClassicPoint {
  Level level = Level::kDram;
  double intensity = 0;         // [flop/byte]
  double flops_per_second = 0;  // [flop/s] achieved
  double roof = 0;              // [flop/s] min(compute roof, intensity x bandwidth)
  // [1] achieved / roof. Exactly one of the two is set: `fraction`, or its upper limit
  // `fraction_at_most` if a roof is not validated (see TimePoint::times_over_roof).
  std::optional<double> fraction, fraction_at_most;
  std::optional<std::pair<double, double>> ci95;  // [flop/s] 95 % interval of flops_per_second
  bool memory_bound = false;                      // the bandwidth roof is the lower one
  Provenance flops_from = Provenance::kModelled, bytes_from = Provenance::kModelled;
};

enum class Bound { kCompute, kMemory, kOverhead };
std::string_view Key(Bound bound);

// What is wrong if a call moves the bytes of a level faster than the level's roof allows.
enum class WrongPart { kRoof, kBytes, kUnknown };
std::string_view Key(WrongPart part);

// Time-based roofline (Wang et al. 2020): the record in seconds. All [s]. (compute_seconds,
// memory_seconds) is the complexity point.
struct TimePoint {
  double seconds = 0;          // measured
  double compute_seconds = 0;  // sum over pipes of FLOPs / ceiling
  // Key of the ceiling used for each pipe: the best row that the record's ISA allows
  // ("fp32.vector.avx2" without AVX-512), or the plain pipe if the ISA is unknown.
  std::map<std::string, std::string> compute_roofs;
  // FLOPs of each pipe / its own ceiling, even if compute_seconds uses another ceiling
  // (tensor_balance). Empty if one of the pipes has no ceiling.
  std::map<std::string, double> pipe_seconds;
  std::map<Level, double> memory_seconds;  // bytes / ceiling
  // Levels whose roof the call exceeds. They have a classic point, but no memory_seconds: they are
  // not considered for `bound` and `times_over_roof`. A remark says which number is wrong.
  std::map<Level, WrongPart> above_roof;
  // Launches x launch cost or, if not known, the time of a GPU call minus that in a CUDA graph.
  std::optional<double> overhead_seconds;
  Bound bound = Bound::kCompute;
  std::optional<Level> bound_level;  // set if `bound` is kMemory
  // [1] seconds / max(compute_seconds, memory_seconds), without overhead. Exactly one of the two is
  // set. If the largest of these times uses a ceiling that is not validated, the true ceiling may
  // be higher, so `times_over_roof_at_least` is set, a lower limit. Ceilings of the shorter times
  // do not matter: with higher ceilings these times only get shorter.
  std::optional<double> times_over_roof, times_over_roof_at_least;
  // At least one of the roofs used (for bound, times over the roof, percentages) is not measured.
  bool specified = false;
  // Levels at which the roofline of only compute and this level gives a lower limit of the times
  // over the roof, because the longer of its two times uses a ceiling that is not validated.
  std::vector<Level> not_validated_levels;
  // The time point: the complexity point times `times_over_roof` or its limit; at most `seconds`.
  std::optional<double> point_compute_seconds;
  std::map<Level, double> point_memory_seconds;
};

// Bandwidth of a record with unknown FLOPs, at the level with the longest roof time. Arithmetic may
// bound such a call, so `fraction` is the share of this roof only.
struct BandwidthPoint {
  Level level = Level::kDram;
  double bytes_per_second = 0;     // [byte/s] achieved
  double roof = 0;                 // [byte/s]
  std::optional<double> fraction;  // [1] achieved / roof; not set if the roof failed validation
  std::optional<double> fraction_at_most;  // [1] its upper limit, set instead in that case
  bool specified = false;                  // the roof is specified, not measured
  Provenance bytes_from = Provenance::kModelled;
};

struct Placement {
  std::vector<ClassicPoint> classic;
  record::Rare<TimePoint> time;
  record::Rare<BandwidthPoint> bandwidth;  // set only if FLOPs are not known
  std::vector<std::string> remarks;        // why a number is missing; AddFindings adds more
  // Remarks about roofs that the call exceeds; each says whether the roof or the work is wrong.
  std::vector<std::string> above_roof_remarks;
  // Says which count of ProductFlops the record has, if they differ by over 1 %. Also in `asides`.
  record::Rare<std::string> flop_count;
  // Facts that change no number here: failed validations that do not matter, bytes placed at L2.
  std::vector<std::string> asides;
  // Ceilings that make times_over_roof a lower limit, with the reason why they are not validated.
  // Not repeated in `remarks`: reports write each reason once, for all records together.
  std::map<std::string, std::string> uncertain;
  // Ceilings under which nothing is placed, by name, with the reason why they may be wrong by any
  // factor. The machine has no better ceiling of the same pipe or level.
  std::map<std::string, std::string> unusable;
  std::string advice;  // one sentence; set by AddFindings if there is evidence
};

// Returns times_over_roof [1] or its lower limit: Place and PlaceTime set one of them.
std::optional<double> LeastTimesOverRoof(const TimePoint& time);

// FLOPs, bytes and launches of a record, each from the most trusted provenance with this quantity.
struct KnownWork {
  const std::map<std::string, double>* flops = nullptr;  // by pipe, all from one provenance
  Provenance flops_from = Provenance::kModelled;
  std::map<Level, std::pair<double, Provenance>> bytes;  // of the levels of the view
  std::optional<double> launches;
};
// Returns the record's known work. The record must outlive the result.
KnownWork BestKnown(const record::Record& record, const PlaceView& view = {});

// Returns the capacity [byte] of the largest cache of a core, or 0 if no cache's size is known.
double LargestCache(const machine::Machine& machine);

// Returns the nearest cache that can hold all tensors (`bytes` [byte] together) when a call with
// warm caches begins. Then each tensor passes this cache at least once; DRAM traffic is unknown. On
// a CPU counts the L1 and L2 of all threads together and one L3; on a GPU only L2. Returns nullopt
// if the caches are not warm, unknown or too small.
std::optional<Level> HoldingCache(const record::Record& record, const machine::Machine& machine,
                                  double bytes);

// Returns the cost [s] of one launch contained in the record's time: launch_seconds for a call on
// an idle device, kQueuedOverhead for a queued call, kGraphNodeOverhead in a CUDA graph. Returns
// nullopt if the time is a sum of kernel durations (no launches) or the cost is unknown.
std::optional<double> LaunchCost(const record::Record& record, const machine::CeilingSet& ceilings);

// Places a record under its roofs. The placement of a record without a time is empty; without work
// or ceilings it has only remarks that say so.
Placement Place(const record::Record& record, const machine::Machine* machine,
                const PlaceView& view = {});

// Returns only the record's time point, without its point_ members, or nullopt if it has none.
// `seconds` [s] replaces the median of the record's Timing, which Place uses.
std::optional<TimePoint> PlaceTime(const record::Record& record, double seconds,
                                   const machine::Machine& machine, const PlaceView& view = {});

// A placed call: the input of each AdviceRule.
struct AdviceCase {
  const record::Record& record;
  const TimePoint& time;
  const machine::CeilingSet& ceilings;
  std::string_view noun;           // word for one call of the op: "convolution"
  const OpWords* words = nullptr;  // the op's vocabulary; null for an unknown op
};

struct AdviceRule {
  std::string_view name;
  // Returns a clause with the measured value if that reaches the rule's threshold, else nullopt.
  std::optional<std::string> (*evidence)(const AdviceCase&);
  std::string_view next;  // a clause: what to try if the rule applies
};

// Returns the rules, the most important one first.
std::span<const AdviceRule> AdviceRules();

// Adds remarks to `placement`: a call above its roof, a reference implementation, a type emulated
// in fp32, algorithms with wrong results. Sets its advice: the bound, the distance to the roof, the
// evidence of at most two rules, and what to try next. Sets no advice if the call is not placed or
// its time is noisy or uncertain. `words` is the vocabulary for NounOf.
void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement);

// Returns whether the time's 95 % interval is wider than half the median.
bool IsUncertain(const record::Timing& timing);

// Returns the upper limit [s] of the measured time `seconds` [s]: scaled by upper end / median of
// the record's 95 % interval, at least by 1.02. A call whose roof time is longer exceeds the roof.
double LongestSeconds(const record::Record& record, double seconds);

// Returns whether the modelled DRAM bytes of a GPU call may include data that later waves of thread
// blocks read again: the traffic model that adds such bytes also adds a note to record.counting.
bool HasModelledRereads(const record::Record& record);

// A call's bytes at one memory level, and that level's roof.
struct LevelUse {
  const record::Record& record;
  const machine::Machine& machine;
  const machine::Ceiling& ceiling;  // the level's roof
  Level level = Level::kDram;
  double bytes = 0;  // [byte]
  Provenance bytes_from = Provenance::kModelled;
  double seconds = 0;  // [s] measured time of the call
};

// Returns what is wrong if the level's bytes were moved faster than its roof allows, else nullopt.
//
// - Measured bytes were moved, so the roof is too low (kRoof).
// - Compulsory bytes (all tensors, each once) at DRAM: kBytes if the call is below the roof without
//   the bytes that a warm cache may hold. Otherwise kUnknown for a specified roof, else kRoof.
// - Other modelled or simulated bytes: kBytes if the roof is validated, else kUnknown.
std::optional<WrongPart> WrongPartOf(const LevelUse& use);

// Returns "above the l2 roof by 50 %, so l2 does not count as its bound: ...".
std::string AboveRoofRemark(const LevelUse& use, WrongPart wrong);

// Returns a sentence that says whether the record's modelled FLOPs include products with padding.
// Returns nullopt if the two counts (ProductFlops) differ by at most 1 %.
std::optional<std::string> FlopCountText(const record::Record& record, const OpWords* words);

// Registers the function that computes the FLOPs, without padding, of an op's record from its name:
// those of its matrix products or, if it has none, of all its steps. `flops` throws BadInput for an
// invalid problem. Returns false if the op already has a function.
using NamedFlops = std::function<double(const record::Record& record)>;
bool RegisterNamedFlops(const std::string& op, NamedFlops flops);

// Removes the modelled FLOPs of a record if they contradict the problem in its name, and adds a
// counting note. Returns what is wrong, or nullopt. Readers of run files call it for each record.
std::optional<std::string> DropWrongFlops(const OpWords* words, record::Record& record);

// If the call exceeds its arithmetic roof, adds a remark that says whether the roof or the FLOP
// count is wrong. The count may include FLOPs that the call skips (Winograd, padding). Requires
// placement.time.
void ReportAboveArithmeticRoof(const record::Record& record, const OpWords* words,
                               const machine::CeilingSet& ceilings, Placement& placement);

}  // namespace dlroof::roofline
