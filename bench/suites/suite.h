// Suites: lists of benchmarks in text files, built in or given by path, or in files of benchdnn
// (oneDNN's benchmark program).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::suites {

struct Layer {
  std::string name;   // name of a benchmark
  int64_t count = 1;  // [1] occurrences in the model
};

// A problem of a suite for which dlroof has no benchmark.
struct SkippedProblem {
  std::string file;         // the file that contains the problem
  std::optional<int> line;  // line in the file, from 1; absent if there are several
  std::string text;         // as written in the file
  std::string reason;       // why there is no benchmark: "1-D convolution"
};

struct Suite {
  std::string name;           // "resnet50", or the path given by the user
  std::vector<Layer> layers;  // without duplicates, in the order of the file
  bool counted = false;       // a model, whose layers have counts
  std::vector<SkippedProblem> skipped;
};

// The devices of a run. A problem uses the templates for these devices; all templates, if none is
// for them.
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
// problem starts a new list. An operator without templates in the file uses the templates of its
// Op. Direction and type select among the templates (see Choose). " xN": the layer occurs N times
// in the model. If any line has a count (even " x1"), the suite is counted, and lines without one
// have the count 1.
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

// A problem in another program's file, with the name of its benchmark in `name`, or the reason why
// there is none in `reason`.
struct ForeignProblem : SkippedProblem {
  std::optional<std::string> name;
};

// Returns a suite of the benchmarks in `problems`, without duplicates and counts. Problems without
// a benchmark become skipped problems.
Suite SuiteFromProblems(const std::string& file, const std::vector<ForeignProblem>& problems);

// Returns the built-in suites, sorted by name.
const std::vector<EmbeddedFile>& BuiltInSuites();

// Returns the suite's description: the first comment line of its text, without "# ".
std::string_view Summary(const EmbeddedFile& suite);

// Returns whether the text is a benchdnn file: its first word is an option, a problem descriptor,
// or the program.
bool LooksLikeBenchdnn(std::string_view text);

// Returns the problems in `text`, the content of `file`, in order, for all drivers that dlroof
// supports. A problem has the option values set before it.
//
// The first problem determines the driver until an option --DRIVER changes it. --DRIVER also begins
// a new command, as in lines printed by benchdnn, and resets all options. Options that do not
// change a call (duration, output, --skip-impl) are ignored. The default, --dir=FWD_B, is a
// training call with bias.
//
// Problems have no benchmark after an option that the driver lacks, a value without benchmarks or a
// list of values, and if they have another syntax; `reason` says so. --batch=FILE counts as one
// such problem. Throws BadInput, "FILE:LINE: ...", for more than 500,000 benchmarks.
std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file);

}  // namespace dlroof::suites
