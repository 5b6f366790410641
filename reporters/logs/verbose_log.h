// Reads logs of oneDNN's verbose mode: of oneDNN 2.x, 3.x and older versions with the same form.
// The log may be mixed with any other output. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlroof::logs {

enum class VerboseKind {
  kInformation,  // version, threads, instruction set, templates, warnings
  kExecuted,     // a primitive ran
  kCreated,      // a primitive was created or found in the cache, with its time
  kNested,       // a primitive was created within another one's creation, which includes its time
  kDispatch,     // a note on a creation or on the choice of an implementation, without a time
  kPartition,    // a partition of oneDNN Graph ran
  kGraph,        // another line of oneDNN Graph
  kOther,        // an unknown operation
};

// One line. Its views point into the text of the line.
struct VerboseLine {
  VerboseKind kind = VerboseKind::kOther;
  std::string_view operation;                // "exec", "create:cache_miss"
  std::string_view fields;                   // after the operation and its comma
  std::optional<double> stamp_milliseconds;  // [ms] start time; set if the log prints it
};

// Returns where, from `from` on, the first marker "onednn_verbose," or "dnnl_verbose," is, or npos.
std::size_t FindMarker(std::string_view line, std::size_t from = 0);

// Splits a line that begins with a marker, without its line end.
VerboseLine ParseLine(std::string_view line);

// The names of the fields of an executed primitive in their order, as a template line lists them,
// without the time stamp and the operation: "engine", "primitive", ..., "exec_time".
using VerboseTemplate = std::vector<std::string>;
// Returns the template that the information line has, or nullopt if there is none or if it lacks
// "primitive" or "exec_time".
std::optional<VerboseTemplate> TemplateOf(const VerboseLine& line);

// Returns the number if the whole text is a number from 0 to 1e15, else nullopt.
std::optional<double> NumberFromZero(std::string_view text);

// Returns the parts between separators. An empty text has one empty part.
std::vector<std::string_view> SplitText(std::string_view text, char separator);

// The fields of an executed primitive's line except its times. They identify a primitive.
struct PrimitiveText {
  std::string engine, kind, implementation, prop;
  std::string tensors, attributes, auxiliary, problem;
  // Name and text of each additional field of the template, in its order.
  std::vector<std::pair<std::string, std::string>> others;

  auto operator<=>(const PrimitiveText&) const = default;
};

// One call, in the order of the log.
struct Execution {
  std::uint32_t primitive = 0;          // index into VerboseLog::primitives
  double seconds = 0;                   // [s]
  std::optional<double> start_seconds;  // [s] on the log's clock; set if the log prints it
  std::uint32_t process = 0;            // index into VerboseLog::processes
};

// The creation of a primitive, or its retrieval from oneDNN's cache.
struct Creation {
  std::size_t before = 0;  // index of the execution that follows it
  double seconds = 0;      // [s]
  bool hit = false;        // the primitive was found in the cache
  std::optional<double> start_seconds;
  std::uint32_t process = 0;  // index into VerboseLog::processes
};

// "DLROOF_MARK,begin,1,1795369780567.337402" in a log: begin (or end) of step 1, at a time [ms].
struct StepMark {
  std::size_t before = 0;  // index of the execution that follows it
  bool begin = false;
  std::int64_t step = 0;
  double seconds = 0;  // [s] on the clock of the executions
};

// "DLROOF_PROCESS,1240,1200,1": process 1240, whose parent is 1200 and grandparent 1, wrote the
// following lines. Only the first such line of a process names its ancestors.
struct LogProcess {
  std::int64_t id = 0;                  // 0: the log does not name the process
  std::vector<std::int64_t> ancestors;  // the parent first
};
inline constexpr std::string_view kProcessLine = "DLROOF_PROCESS,";

// A field in PrimitiveText::others. Its value "other" marks a primitive that another process than
// the main process executed.
inline constexpr std::string_view kProcessField = "process";

// The lines that were rejected for one reason.
struct RefusedLines {
  std::string reason;
  std::int64_t count = 0;       // [1]
  std::int64_t first_line = 0;  // number of the first of them, from 1
};

// Numbers of lines [1].
struct LineCounts {
  std::int64_t all = 0;
  std::int64_t verbose = 0;  // lines with oneDNN's marker
  std::int64_t information = 0;
  std::int64_t executed = 0;  // executions of primitives, used or refused
  std::int64_t used = 0;      // executions that were used
  std::int64_t created = 0;
  std::int64_t dispatch = 0;
  std::int64_t graph = 0;  // lines of oneDNN Graph except partitions counted as `executed`
  std::vector<RefusedLines> refused;  // in order of appearance
};

// The content of a log. A oneDNN Graph partition is a primitive of the kind "partition", whose
// `problem` lists the operations. Its execution is left out if the executions of its primitives are
// in the log, too: if those on the lines before it, within its time, take at least half of its
// time. A ukernel, which computes or packs a block of a product in the program's own thread, is a
// primitive of the kind "brgemm" or "transform".
struct VerboseLog {
  // Facts about the library. A text that the log does not print is empty.
  std::string version;                    // "v3.7.3"
  std::string runtime;                    // "OpenMP", "threadpool"
  std::optional<int> threads;             // at the start of the library
  std::string isa_words;                  // "Intel AVX2"
  std::vector<PrimitiveText> primitives;  // distinct, in order of appearance
  std::vector<Execution> executions;
  std::vector<Creation> creations;
  std::vector<StepMark> marks;
  // In order of appearance. If the log does not name processes: one with the id 0.
  std::vector<LogProcess> processes;
  // Index of the process whose calls make up the program's steps: of the processes without an
  // ancestor in the log, the one whose calls take the most time.
  std::uint32_t main_process = 0;
  LineCounts lines;
};

// Returns whether the primitive is a ukernel: see VerboseLog.
bool IsUkernel(const PrimitiveText& text);

// Reads any text: uses each line, or refuses it with a reason, or ignores it as other output.
VerboseLog ReadVerboseLog(std::string_view text);

// Returns oneDNN's name of an ISA: "avx512_core_vnni" for "Intel AVX-512 with Intel DL Boost".
// Returns nullopt for words that name no known ISA.
std::optional<std::string> IsaOf(std::string_view words);

// Returns whether there is a marker in the first 1 MiB of the text.
bool HasVerboseLine(std::string_view text);

// Parts of the log reader: syntax of a line, wrapped lines, processes. Private to the module.

// The fields of a line after its operation.
struct LineParts {
  std::vector<std::string_view> fields;  // without the last one, the time
  std::string_view before;               // the text before the time, without the comma
  std::optional<double> milliseconds;    // [ms] if the last field is a number
};
LineParts PartsOf(std::string_view fields, const VerboseTemplate& names);

bool AreDigits(std::string_view text);

// Returns the text without blanks at its end.
std::string_view Trimmed(std::string_view text);

// Returns the line from the position `marker` on, without a terminal's padding and without the rest
// of the JSON in which docker and journald store lines ("...,0.5\n","stream":"stdout"}).
std::string_view OfOneDnn(std::string_view line, std::size_t marker);

// Joins lines that a terminal wrapped. Adds empty lines, so that later lines keep their numbers. A
// line is joined with the next one if it is as long as the longest line of an execution, and the
// next one has no marker. Returns nullopt unless joining completes a line that has no time at its
// end; otherwise the next lines may be the program's own.
std::optional<std::string> Unwrapped(std::string_view text);

// Adds the facts about the library in an information line that is no template.
void ReadFacts(std::string_view fields, VerboseLog& log);

// Sets the main process of a log, and marks the other processes' primitives with kProcessField.
void SetApart(VerboseLog& log);

}  // namespace dlroof::logs
