// Suites: lists of benchmarks, read from built-in texts, suite files or oneDNN's benchdnn files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/files.h"

namespace dlroof::suites {

struct Layer {
  std::string name;   // name of a benchmark
  int64_t count = 1;  // [1] occurrences in the model
};

// A problem of a suite for which dlroof has no benchmark.
struct SkippedProblem {
  std::string file;         // the file that contains the problem
  std::optional<int> line;  // line in the file, from 1; absent if several lines
  std::string text;         // as written in the file
  std::string reason;       // why there is no benchmark: "1-D convolution"
};

struct Suite {
  std::string name;           // "resnet50", or the path given by the user
  std::vector<Layer> layers;  // in the order of the file, without duplicates
  bool counted = false;       // whether layers have counts (a model)
  std::vector<SkippedProblem> skipped;
};

// The devices of a run. A problem uses its templates for these devices, or all if it has none.
struct SuiteDevices {
  bool cpu = true, gpu = false;
};

// Reads a suite file. "#" begins a comment. Blank lines and blanks at both ends of lines are
// ignored. A line has one of three forms:
//
//   op/device/library/direction/type/*[/option...]   a template: a name with "*" for its problem
//   op[/direction[/type]] problem[/option...] [xN]   one benchmark per template of the op
//   op/device/library/direction/type/problem[/option...] [xN]   one benchmark
//
// A problem uses the templates of its operator in preceding lines; the first template after a
// problem starts a new list. An operator without templates uses those of its Op. Direction and type
// select among the templates (see Choose). " xN": the layer occurs N times in the model. If any
// line has a count (even " x1"), the suite is counted, and lines without one have the count 1.
//
// {a,b} expands to each choice, and several lists to every combination (the last list varies
// fastest), each with the line's count. A choice may be empty; lists do not nest. Before the
// problem a list must be a complete part of the name (between slashes).
//
// Throws BadInput "FILE: ..." for a text without names or longer than 1 MiB, and "FILE:LINE: ..."
// for more than 10,000 names, an unclosed brace, an invalid count, a template without problems, a
// repeated name, and a name that MakeWorkload rejects (with the name, and the column in it).
// Accepts names whose library is missing in this build.
Suite ReadSuite(std::string_view text, const std::string& file, const SuiteDevices& devices = {});

// A problem in another program's file. `name`: its benchmark; if absent, `reason` says why not.
struct ForeignProblem : SkippedProblem {
  std::optional<std::string> name;
};

// Returns the suite of the problems' benchmarks, each once, without counts. Skips other problems.
Suite SuiteFromProblems(const std::string& file, const std::vector<ForeignProblem>& problems);

// Returns the built-in suites, sorted by name.
const std::vector<EmbeddedFile>& BuiltInSuites();

// Returns the suite's description: the first comment line of its text, without "# ".
std::string_view Summary(const EmbeddedFile& suite);

// Returns whether the text begins like a benchdnn file: with an option, problem or benchdnn's path.
bool LooksLikeBenchdnn(std::string_view text);

// Returns the problems in `text`, the content of `file`, in order, for all drivers that dlroof
// supports. A problem has the option values set before it.
//
// The first problem determines the driver until an option --DRIVER changes it. --DRIVER also begins
// a new command, as benchdnn prints it, and resets all options. Options that change no call
// (duration, --skip-impl) are ignored. The default, --dir=FWD_B, is a training call with bias.
//
// A problem has no benchmark if its syntax is unknown, or if an option before it is unknown to the
// driver or has a list of values or a value without benchmarks; `reason` says so. --batch=FILE is
// also returned as one. Throws BadInput, "FILE:LINE: ...", for more than 500,000 benchmarks.
std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file);

// A benchmark's name, or a template ("*" instead of a problem).
struct NameRow {
  workload::BenchmarkName name;
  int64_t count = 1;  // [1] occurrences in the model
};
using NamePart = std::string workload::BenchmarkName::*;

// Applies the user's choices of directions or types. Returns the rows with a chosen value. For a
// chosen value that no row of an operator and device has, also returns copies of their rows with
// this value, one copy for rows that differ only in `part`. Directions may be shortened: "bwd"
// means "bwd_data" and "bwd_weights", and "bwd" of an LSTM. Does not check the resulting names.
std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices);

// Values of flags: comma-separated lists. An empty list changes nothing.
struct SuiteChoices {
  std::string directions, types, batch;
};

// Applies the choices. Each batch size becomes a suite of its own, "NAME batch N". Names that
// become invalid (e.g. int8 for a gradient) are skipped problems.
//
// Throws BadInput, "FLAG=VALUE: ...", for a direction or type that no benchmark has, for an invalid
// batch size, and for a batch size if no problem has one.
std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices);

// Returns the suites used without --dlroof_suite: "paper", and with a CPU also "reference".
std::vector<std::string> DefaultSuites(const SuiteDevices& devices = {});

// Returns the suites named by the values, in order without duplicates, or the default suites if
// there are no values. A value is the name of a built-in suite, a line of a suite, the path of a
// suite file or benchdnn file (ReadBenchdnn), or a comma-separated list of these. It is a path if
// no built-in suite has that name and it contains '/' or '.' or exists. A value that begins with
// "--conv ", "--rnn " or another driver is a command line of benchdnn. Problems use the templates
// for `devices`. Throws BadInput as ReadSuite and ReadBenchdnn, and for an unknown name; the
// message begins with `flag` and lists the known names.
std::vector<Suite> SelectSuites(const std::vector<std::string>& values,
                                const SuiteDevices& devices = {},
                                const std::string& flag = "--dlroof_suite");

// Restricts the suites to these devices. Without the GPU, removes its benchmarks. Without the CPU,
// removes the reference loops and replaces oneDNN's benchmarks by the same ones of the operator's
// GPU library, unless the suite already has these. Skips those that the library lacks.
std::vector<Suite> OnDevices(std::vector<Suite> suites, bool cpu, bool gpu);

// Sets the cache state of all benchmarks whose names do not specify one.
std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache);

// Adds the option `algorithm` ("best", "winograd") to every benchmark that supports it. Throws
// BadInput if no operator has such an algorithm (Op::variants), or no benchmark supports it.
std::vector<Suite> WithAlgorithm(std::vector<Suite> suites, const std::string& algorithm);

// Returns whether one of the values is "help": the user asks for SuiteList.
bool AsksForSuiteList(const std::vector<std::string>& values);

// Returns a line per built-in suite, and a line with the default suites.
std::string SuiteList();

// Returns the benchmarks of all suites in order, without duplicates.
std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites);

// Returns a line for standard error, e.g. "suites paper, my_layers.txt: 186 benchmarks".
std::string SelectionSentence(const std::vector<Suite>& suites);

// Returns context.dlroof.suites of the run file: an array with an object per suite that has counts
// ("layers" with "name" and "count", including layers removed by a filter) or skipped problems
// ("skipped" with "text", "reason", "line" if known, and "file" if it is not the suite's).
nlohmann::json SuitesContext(const std::vector<Suite>& suites);

// Returns a line per suite and reason, with the number of skipped problems.
std::string SkippedSentences(const std::vector<Suite>& suites);

}  // namespace dlroof::suites
