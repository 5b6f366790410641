// Placement of one record under its machine's roofs, and the vocabulary of ops that reports use.
// Pure functions.
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

// A parameter of an op's problems.
struct SweepWord {
  std::string name;  // the name that people use, e.g. "image"
  std::string key;   // its key in a problem's text, e.g. "h"; "_s" is an s after the underscore
  // Keys that change with `key`, separated by blanks: a square kernel's width, "same" padding.
  std::string follow = {};

  bool operator==(const SweepWord&) const = default;
};

// Advice on calls that take many times their roof's time, if the problem's text shows the cause.
struct ProblemRemedy {
  std::string device;    // device of the calls to which the remedy applies, e.g. "gpu"
  std::string key;       // key in the problem's text (ProblemParts), e.g. "_p"
  std::string contains;  // the remedy applies if the value of `key` contains this text, e.g. ":"
  std::string option;    // the remedy applies if the call does not have this option yet
  std::string evidence;  // a clause, e.g. "its padding differs at the two ends"
  std::string next;      // a clause: what to try
};

// Two FLOP counts [flop] of a call whose filter reaches into padding.
struct ProductFlops {
  double useful = 0;  // of filter taps inside the image; records have this count
  double dense = 0;   // including padding; literature and older run files have this count
};

using NamedFlops = std::function<double(const record::Record& record)>;

struct OpWords {
  std::string noun;              // word for one call of the op, e.g. "convolution"
  std::vector<SweepWord> sweep;  // parameters of its problems, in the order of reports
  // Run files do not have the members below: they are known only for this program's ops.
  std::vector<ProblemRemedy> remedies = {};
  // Returns the FLOPs of a problem, nullopt for an invalid text. Unset for ops without padding.
  std::function<std::optional<ProductFlops>(const std::string& problem)> product_flops = {};
  // Computes from a record's name the FLOPs [flop], without padding, of the op's matrix products
  // or, if the op has none, of all its steps. Throws BadInput for an invalid problem. May be empty.
  NamedFlops named_flops = {};
};
using OpVocabulary = std::map<std::string, OpWords, std::less<>>;  // by the op's name

// Registers the vocabulary of one of this program's ops. Returns false if the op already has one.
bool RegisterOpWords(const std::string& op, OpWords words);

// Returns the vocabulary of this program's ops, plus that of other ops in the `context` of a run
// file (context.dlroof.ops). Accepts any JSON and ignores members of other types.
OpVocabulary WordsOf(const nlohmann::json& context);
// An empty `words` stands for this program's vocabulary. NounOf returns "call" for an op without a
// noun, FindWords null for an unknown op.
std::string_view NounOf(std::string_view op, const OpVocabulary& words);
const OpWords* FindWords(std::string_view op, const OpVocabulary& words);
// Returns the JSON for context.dlroof.ops.
nlohmann::json ToJson(const OpVocabulary& words);

// A parameter, and the ops that have a parameter with the same name, key and followers.
struct SweepParameter {
  SweepWord word;
  std::vector<std::string> ops;
};
// Returns each parameter once, in the order of the ops' names and of their lists.
std::vector<SweepParameter> SweepParameters(const OpVocabulary& words);
std::vector<std::string> SweepNames(const OpVocabulary& words);

// A key and its value in a problem's text. "n16c64_s2p0:1x0:1" has the parts n = 16, c = 64, _s = 2
// and _p = 0:1x0:1.
struct ProblemPart {
  std::string key, value;
  // Offsets in the text. `begin` is the key's first letter, after any underscore.
  std::size_t begin = 0, value_begin = 0, end = 0;
};
// Returns the parts of a problem's text, in its order. An "x" after a digit belongs to the value.
std::vector<ProblemPart> ProblemParts(std::string_view problem);

// Returns candidates for the problem's text with another value of this parameter, the likeliest
// first: several, because an op may or may not omit a key with value 1. Keys in `word.follow` whose
// old value is the same get the new value too (a square stays square), except the padding (_p).
std::vector<std::string> WithValue(std::string_view problem, const SweepWord& word,
                                   const std::string& value);

std::vector<std::string> Followers(const SweepWord& word);

// Choices for the placement of records under their roofs.
struct PlaceView {
  std::vector<Level> levels;  // memory levels to use; empty: all known levels
  // Divide the FLOPs of all pipes by the best matrix ceiling, as in the time-based roofline paper.
  bool tensor_balance = false;
  OpVocabulary words;  // vocabulary of the file's ops; if empty, this program's is used
};

// Share of a roof that a call reaches.
struct RoofShare {
  double value = 0;      // [1]
  bool at_most = false;  // an upper limit: the roof is not validated (see TimePoint::at_least)
};

// Classic roofline: one point per level with known bytes.
struct ClassicPoint {
  Level level = Level::kDram;
  double intensity = 0;         // [flop/byte]
  double flops_per_second = 0;  // [flop/s] achieved
  double roof = 0;              // [flop/s] min(compute roof, intensity x bandwidth)
  RoofShare share;              // achieved / roof
  std::optional<std::pair<double, double>> ci95;  // [flop/s] 95 % interval of flops_per_second
  bool memory_bound = false;                      // the bandwidth roof is the lower one
  Provenance flops_from = Provenance::kModelled, bytes_from = Provenance::kModelled;
};

enum class Bound { kCompute, kMemory, kOverhead };
std::string_view Key(Bound bound);

// What is wrong if a call moves the bytes of a level faster than the level's roof allows.
enum class WrongPart { kRoof, kBytes, kUnknown };
std::string_view Key(WrongPart part);

// A record on the time-based roofline (Wang et al. 2020). Times are in seconds [s]; the complexity
// point is (compute_seconds, memory_seconds).
struct TimePoint {
  double seconds = 0;          // measured
  double compute_seconds = 0;  // sum over pipes of FLOPs / ceiling
  // By pipe: key of the ceiling by which its FLOPs are divided: the best row that the record's ISA
  // allows, e.g. "fp32.vector.avx2" without AVX-512; the pipe itself if the ISA is unknown.
  std::map<std::string, std::string> compute_roofs;
  // FLOPs of each pipe / its own ceiling, even if compute_seconds uses another ceiling
  // (tensor_balance). Empty if one of the pipes has no ceiling.
  std::map<std::string, double> pipe_seconds;
  std::map<Level, double> memory_seconds;  // bytes / ceiling
  // Levels whose roof the call exceeds. They have a classic point but no memory_seconds, so `bound`
  // and `times_over_roof` ignore them. A remark says which number is wrong.
  std::map<Level, WrongPart> above_roof;
  // Launches x launch cost or, if one of these is unknown, the time of a GPU call minus its time in
  // a CUDA graph. Not set if that is unknown too.
  std::optional<double> overhead_seconds;
  Bound bound = Bound::kCompute;
  std::optional<Level> bound_level;  // set if `bound` is kMemory
  double times_over_roof = 1;  // [1] seconds / max(compute_seconds, memory_seconds): no overhead
  // times_over_roof is a lower limit, because the longest of these roof times uses a ceiling that
  // is not validated: the true ceiling may be higher. The ceilings of the shorter roof times do not
  // matter: higher ceilings would make them even shorter.
  bool at_least = false;
  // At least one of the roofs used is specified, not measured.
  bool specified = false;
  // Levels for which the longer one of compute time and the level's memory time uses a ceiling that
  // is not validated: a roofline of compute and this level gives only a lower limit of `x roof`.
  std::vector<Level> not_validated_levels;
  // The time point: the complexity point x `times_over_roof`.
  std::optional<double> point_compute_seconds;
  std::map<Level, double> point_memory_seconds;
};

// Bandwidth of a record with unknown FLOPs, at the level with the longest roof time. Arithmetic may
// bind the call instead, so `share` is only that of this level's roof.
struct BandwidthPoint {
  Level level = Level::kDram;
  double bytes_per_second = 0;  // [byte/s] achieved
  double roof = 0;              // [byte/s]
  RoofShare share;              // achieved / roof
  bool specified = false;       // the roof is specified, not measured
  Provenance bytes_from = Provenance::kModelled;
};

struct Placement {
  std::vector<ClassicPoint> classic;
  record::Rare<TimePoint> time;
  record::Rare<BandwidthPoint> bandwidth;  // set only if FLOPs are not known
  std::vector<std::string> remarks;        // e.g. why a number is missing; see AddFindings
  // The remarks on roofs that the call exceeds; each says whether the roof or the work is wrong.
  std::vector<std::string> above_roof_remarks;
  // FlopCountText, if it returns a sentence. Also in `asides`.
  record::Rare<std::string> flop_count;
  // Facts that verbose reports show, e.g. a roof that failed validation but does not bind.
  std::vector<std::string> asides;
  // Ceilings that make times_over_roof a lower limit, by name, with the reason why they are not
  // validated. `remarks` lacks them: reports write each reason once, for all records together.
  std::map<std::string, std::string> uncertain;
  // Ceilings that may be wrong by any factor, by name, with the reason. The machine has no better
  // ceiling of the same pipe or level, so the record is not placed under that pipe or level.
  std::map<std::string, std::string> unusable;
  std::string advice;  // one sentence by AddFindings; may be empty
};

// FLOPs, bytes and launches of a record, each from the most trusted provenance with this quantity.
struct KnownWork {
  const std::map<std::string, double>* flops = nullptr;  // by pipe, all from one provenance
  Provenance flops_from = Provenance::kModelled;
  std::map<Level, std::pair<double, Provenance>> bytes;  // [byte] at the levels of the view
  std::optional<double> launches;
};
// Returns the record's known work, which points into the record.
KnownWork BestKnown(const record::Record& record, const PlaceView& view = {});

// Returns the capacity [byte] of the largest cache of a core, or 0 if no cache's size is known.
double LargestCache(const machine::Machine& machine);

// Returns the nearest cache that can hold all tensors (`bytes` [byte] together) when a call with
// warm caches begins. Each tensor then passes this cache at least once, and the DRAM traffic is
// unknown. On a CPU adds up the L1 and L2 of all threads and counts one L3; on a GPU considers only
// L2. Returns nullopt if the call is not warm, or all caches are unknown or too small.
std::optional<Level> HoldingCache(const record::Record& record, const machine::Machine& machine,
                                  double bytes);

// Returns the cost [s] of one launch (on a CPU: of one library call) that the record's time
// contains: launch_seconds for a call on an idle device, kQueuedOverhead for a queued call,
// kGraphNodeOverhead in a CUDA graph. Returns nullopt if the time is a sum of kernel durations,
// which contains no launches, or if the cost is unknown.
std::optional<double> LaunchCost(const record::Record& record, const machine::CeilingSet& ceilings);

// Places a record under its roofs. The placement of a record without a time is empty; the placement
// of a record without work or ceilings has only remarks that say what is missing.
Placement Place(const record::Record& record, const machine::Machine* machine,
                const PlaceView& view = {});

// Returns the record's time point as Place computes it, but for the time `seconds` [s] instead of
// the record's median time, and without the point_ members. Returns nullopt if it is not placed.
std::optional<TimePoint> PlaceTime(const record::Record& record, double seconds,
                                   const machine::Machine& machine, const PlaceView& view = {});

// A placed call: the input of each AdviceRule.
struct AdviceCase {
  const record::Record& record;
  const TimePoint& time;
  const machine::CeilingSet& ceilings;
  std::string_view noun;           // NounOf the op
  const OpWords* words = nullptr;  // the op's vocabulary; null for an unknown op
};

struct AdviceRule {
  std::string_view name;
  // Returns a clause with the measured value if the value reaches the rule's threshold, or nullopt.
  std::optional<std::string> (*evidence)(const AdviceCase&);
  std::string_view next;  // a clause: what to try if the rule applies
};

// Returns the rules, the most important one first.
std::span<const AdviceRule> AdviceRules();

// Adds remarks to `placement`: a call above its roof, a reference implementation, a type emulated
// in fp32, algorithms with wrong results. Sets its advice: the bound, the distance to the roof, the
// evidence of at most two rules, and what to try next. Sets no advice if the call is not placed, or
// if its time is noisy or uncertain.
void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement);

// Returns whether the time's 95 % interval is wider than half the median.
bool IsUncertain(const record::Timing& timing);

// Returns the upper limit [s] of the measured time `seconds` [s]: scaled by upper end / median of
// the record's 95 % interval, at least by 1.02. A call whose roof time is longer exceeds the roof.
double LongestSeconds(const record::Record& record, double seconds);

// Returns whether the modelled DRAM bytes of a GPU call may include bytes that later waves of
// thread blocks read again: the traffic model that adds such bytes also adds a counting note.
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
// - Measured bytes: kRoof, because these bytes were moved, so the roof is too low.
// - Compulsory bytes (all tensors, each once) at DRAM: kBytes if the call is below the roof once
//   the bytes that a warm cache may hold are subtracted. Otherwise kRoof, or kUnknown if the roof
//   is specified.
// - Other modelled or simulated bytes: kBytes if the roof is validated, else kUnknown.
std::optional<WrongPart> WrongPartOf(const LevelUse& use);

// Returns e.g. "above the l2 roof by 50 %, so l2 does not count as its bound: REASON".
std::string AboveRoofRemark(const LevelUse& use, WrongPart wrong);

// Returns a sentence that says whether the record's modelled FLOPs include products with padding,
// or nullopt if the two counts (ProductFlops) are unknown or differ by at most 1 %.
std::optional<std::string> FlopCountText(const record::Record& record, const OpWords* words);

// If the modelled FLOPs of a record contradict the problem in its name, removes them, adds a
// counting note and returns what is wrong; otherwise returns nullopt.
std::optional<std::string> DropWrongFlops(const OpWords* words, record::Record& record);

// If the call exceeds its arithmetic roof, adds a remark that says whether the roof or the FLOP
// count is wrong (it may include FLOPs that the call skips: Winograd, padding). Requires
// placement.time.
void ReportAboveArithmeticRoof(const record::Record& record, const OpWords* words,
                               const machine::CeilingSet& ceilings, Placement& placement);

}  // namespace dlroof::roofline
