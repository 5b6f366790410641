// Words for ops that reports use. Each op registers its own; context.dlroof.ops of a run file holds
// those of the program that wrote the file.
//
// Placement of one record on its machine's roofs. Pure: no clock, no hardware, no text layout.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::roofline {

// A parameter of an op's problems, as people call it.
struct SweepWord {
  std::string name;         // "image"
  std::string key;          // letters in a problem's text: "h"; "_s" follows the underscore
  std::string follow = {};  // keys that change with it, separated by blanks: a square kernel's
                            // width, padding that keeps the image's size
};

struct OpWords {
  std::string noun;              // one call of the op: "convolution"
  std::vector<SweepWord> sweep;  // in the order in which reports list them
};
using OpVocabulary = std::map<std::string, OpWords, std::less<>>;  // by the op's name

// Adds an op of this program. Returns true.
bool RegisterOpWords(const std::string& op, OpWords words);

// Returns the words of this program's ops, and those that `context` of a run file has for others.
// Takes any JSON: what is none of ours is passed over.
OpVocabulary WordsOf(const nlohmann::json& context);
// Returns what a call of the op is, by `words` or, where they are empty, by this program's. Returns
// "call" for an op that they lack.
std::string_view NounOf(std::string_view op, const OpVocabulary& words);
// Returns context.dlroof.ops.
nlohmann::json ToJson(const OpVocabulary& words);

// A parameter of one name, and the ops that have it under the same letters.
struct SweepParameter {
  SweepWord word;
  std::vector<std::string> ops;
};
// Returns each parameter once, in the order of the ops' names and of their lists.
std::vector<SweepParameter> SweepParameters(const OpVocabulary& words);
// Returns the names of the parameters, each once.
std::vector<std::string> SweepNames(const OpVocabulary& words);

// The text of a problem as keys and values: "n16c64_s2p0:1x0:1" has n 16, c 64, _s 2, _p 0:1x0:1.
struct ProblemPart {
  std::string key, value;
  std::size_t begin = 0, value_begin = 0, end = 0;  // in the text; the key's without its underscore
};
std::vector<ProblemPart> ProblemParts(std::string_view problem);

// Returns the texts that the problem may have with another value of this parameter, the likeliest
// first: an op has one text per problem, and leaves 1 out of some. A square image or kernel stays
// square, padding stays as it is.
std::vector<std::string> WithValue(std::string_view problem, const SweepWord& word,
                                   const std::string& value);

// Returns the keys that follow the parameter.
std::vector<std::string> Followers(const SweepWord& word);

// Choices for the placement of records on their roofs.
struct PlaceView {
  std::vector<Level> levels;    // whose bytes count; empty: all that are known
  bool tensor_balance = false;  // judge all FLOPs by the best matrix ceiling, as the time-based
                                // roofline paper's code does, whatever pipe executed them
  OpVocabulary words;           // of the file's ops; empty: those of this program
};

// Classic roofline: one point per level with known bytes.
struct ClassicPoint {
  Level level = Level::kDram;
  double intensity = 0;            // [flop/byte]
  double flops_per_second = 0;     // [flop/s] achieved
  double roof = 0;                 // [flop/s] min(compute roof, intensity x bandwidth)
  std::optional<double> fraction;  // [1] achieved / roof; absent in doubt (TimePoint::gap)
  std::optional<std::pair<double, double>> ci95;  // [flop/s] of flops_per_second, from the time's
  bool memory_bound = false;                      // the slanted part is the lower one
  Provenance flops_from = Provenance::kModelled, bytes_from = Provenance::kModelled;
};

enum class Bound { kCompute, kMemory, kOverhead };
std::string_view Key(Bound bound);

// Time-based roofline (Wang et al. 2020): the same record in seconds. All [s]. (compute_seconds,
// memory_seconds) is the complexity point.
struct TimePoint {
  double seconds = 0;          // measured
  double compute_seconds = 0;  // sum over pipes of FLOPs / ceiling
  // By pipe the ceiling that it was judged by: its best row of what the library may use
  // ("fp32.vector.avx2" where AVX-512 is forbidden), the plain key where that is not known.
  std::map<std::string, std::string> compute_roofs;
  // By pipe its FLOPs / its own ceiling, whatever `compute_seconds` judges by; empty where one of
  // them has no ceiling.
  std::map<std::string, double> pipe_seconds;
  std::map<Level, double> memory_seconds;  // bytes / ceiling
  std::optional<double> overhead_seconds;  // launches x launch cost
  Bound bound = Bound::kCompute;
  std::optional<Level> bound_level;  // with kMemory
  // [1] seconds / max(compute, memory): distance from the roof. Absent in doubt: where the largest
  // of these times rests on a ceiling that is not validated, in part or whole, or another one would
  // reach it if the not validated ceilings that it rests on had half their rates. Overhead has no
  // part in it: where compute and memory lie below it, so does the largest of them.
  std::optional<double> slowdown;
  // It rests on roofs that are given, not measured: so do bound, gap and percent.
  bool specified = false;
  // In doubt by the same rule when compute and this level alone count.
  std::vector<Level> not_validated_levels;
  // The time point: the complexity point times `gap`, its largest coordinate is `seconds`. Absent
  // and empty without a gap.
  std::optional<double> point_compute_seconds;
  std::map<Level, double> point_memory_seconds;
};

struct Placement {
  std::vector<ClassicPoint> classic;
  std::optional<TimePoint> time;
  std::vector<std::string> remarks;  // why something is absent; more by AddFindings (advice.h)
  std::vector<std::string> asides;   // about ceilings in doubt that take no number away
  std::map<std::string, std::string> uncertain;  // ceilings that take one away: why not validated
  std::string advice;  // one sentence, by AddFindings; empty where the evidence is too weak
};

// A record without time, work or matching ceilings gives an empty placement whose remarks say what
// is missing.
Placement Place(const record::Record& record, const machine::Machine* machine,
                const PlaceView& view = {});

// Returns the record's time point alone, without its point_ members. `seconds` [s] is the median of
// the record's Timing, which Place would take.
std::optional<TimePoint> PlaceTime(const record::Record& record, double seconds,
                                   const machine::Machine& machine, const PlaceView& view = {});

}  // namespace dlroof::roofline
