// One line of oneDNN's verbose mode, taken apart. Views point into the line.
//
// A log of oneDNN's verbose mode (2.x and 3.x, and what of older ones has the same form), among any
// other output. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlroof::verbose {

enum class VerboseKind {
  kInformation,  // version, threads, instruction set, templates, warnings
  kExecuted,     // a primitive ran
  kCreated,      // a primitive was made or taken from the cache, with its time
  kDispatch,     // a note on the choice of an implementation, without a time
  kGraph,        // a partition of oneDNN Graph; its primitives have lines of their own
  kOther,        // an operation that this reader does not know
};

struct VerboseLine {
  VerboseKind kind = VerboseKind::kOther;
  bool first_generation = false;             // of MKL-DNN ("mkldnn_verbose")
  std::string_view operation;                // "exec", "create:cache_miss"
  std::string_view fields;                   // behind the operation and its comma
  std::optional<double> stamp_milliseconds;  // [ms] of its begin; absent: not printed, or no time
};

// Returns the position of the first marker ("onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,")
// at or behind `from`; npos: there is none.
std::size_t FindMarker(std::string_view line, std::size_t from = 0);

// `line` begins with a marker and has no line end.
VerboseLine TakeApart(std::string_view line);

// Names of the fields of an executed primitive's line in their order, as a template line lists
// them, without the time stamp and the operation: "engine", "primitive", ..., "exec_time".
using VerboseTemplate = std::vector<std::string>;
// Returns the template that oneDNN has had since 1.0 where a log prints none.
VerboseTemplate UsualTemplate(bool first_generation);
// Returns the template of a line of information; absent: it is none of executed primitives, or it
// lacks "primitive" or "exec_time".
std::optional<VerboseTemplate> TemplateOf(const VerboseLine& line);

// Returns a number of at least 0 and at most 1e15 that fills the text.
std::optional<double> NumberFromZero(std::string_view text);

// Returns the parts between separators; one empty part for an empty text.
std::vector<std::string_view> SplitText(std::string_view text, char separator);

// Fields of an executed primitive's line but its times: what tells primitives apart.
struct PrimitiveText {
  std::string engine, kind, implementation, prop;
  std::string tensors, attributes, auxiliary, problem;
  // Name and text of each field that the template has beyond these, in its order.
  std::vector<std::pair<std::string, std::string>> others;

  auto operator<=>(const PrimitiveText&) const = default;
};

// One call, in the order of the log.
struct Execution {
  std::uint32_t primitive = 0;          // index into VerboseLog::primitives
  double seconds = 0;                   // [s]
  std::optional<double> start_seconds;  // [s] since the clock's zero; absent: not printed
};

// A primitive that was made, or found in oneDNN's cache.
struct Creation {
  std::size_t before = 0;  // index of the execution that follows it
  double seconds = 0;      // [s]
  bool hit = false;        // found in the cache
  std::optional<double> start_seconds;
};

// "DLROOF_MARK,begin,1,1795369780567.337402": the program itself says where a step begins and ends.
struct StepMark {
  std::size_t before = 0;  // index of the execution that follows it
  bool begin = false;
  std::int64_t step = 0;
  double seconds = 0;  // [s] on the clock of the executions
};

// Lines of one kind that were not used, and the first of them.
struct RefusedLines {
  std::string reason;
  std::int64_t count = 0;       // [1]
  std::int64_t first_line = 0;  // from 1
};

struct LineCounts {
  std::int64_t all = 0;               // [1] of the file
  std::int64_t verbose = 0;           // [1] with a marker
  std::int64_t information = 0;       // [1]
  std::int64_t executed = 0;          // [1] executions of primitives, used or not
  std::int64_t used = 0;              // [1] of these
  std::int64_t created = 0;           // [1]
  std::int64_t dispatch = 0;          // [1]
  std::int64_t graph = 0;             // [1]
  std::vector<RefusedLines> refused;  // in order of appearance
};

struct VerboseLog {
  std::string version;                    // "v3.7.3"; empty: not printed
  std::string runtime;                    // "OpenMP", "threadpool"; empty: not printed
  std::optional<int> threads;             // that the library began with
  std::string isa_words;                  // "Intel AVX2"; empty: not printed
  std::vector<PrimitiveText> primitives;  // distinct, in order of appearance
  std::vector<Execution> executions;
  std::vector<Creation> creations;
  std::vector<StepMark> marks;
  LineCounts lines;
};

// Takes any text: each line is used, or counted with a reason, or is other output.
VerboseLog ReadVerboseLog(std::string_view text);

// Returns the name by which oneDNN spells the instruction set: "avx512_core_vnni" of "Intel AVX-512
// with Intel DL Boost"; empty: not known.
std::string IsaOf(std::string_view words);

// Returns true for a text with a marker in its first 1 MiB.
bool HasVerboseLine(std::string_view text);

}  // namespace dlroof::verbose
