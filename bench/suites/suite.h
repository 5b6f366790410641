// Suites: lists of benchmarks in text files, either built into the program or specified by path, or
// files of benchdnn, oneDNN's benchmark program.
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
  std::optional<int> line;  // line in that file, from 1; absent if it comes from several
  std::string text;         // the problem as the file writes it
  std::string reason;       // why dlroof has no benchmark: "1-D convolution"
};

struct Suite {
  std::string name;           // "resnet50", or the path that the user specified
  std::vector<Layer> layers;  // each benchmark once, in the order of the file
  bool counted = false;       // true for models, whose layers have counts
  std::vector<SkippedProblem> skipped;
};

// The devices of a run. A problem uses only the templates for these devices, or all its templates
// if none is for them.
struct SuiteDevices {
  bool cpu = true, gpu = false;
};

// Reads a suite file. "#" begins a comment; blank lines and spaces at both ends of a line are
// ignored. A line has one of three forms:
//
//   op/device/library/direction/type/*[/option...]   a template: a name with "*" for its problem
//   op[/direction[/type]] problem[/option...] [xN]   one benchmark per template of the op
//   op/device/library/direction/type/problem[/option...] [xN]   one benchmark
//
// A problem uses the templates of its op in the lines before it; the first template after a problem
// begins a new list of templates. An op without templates in the file uses those of its Op. A
// direction and a type select among the templates (Choose). " xN" means that the layer occurs N
// times in the model. If at least one line has a count (even " x1"), the suite is counted, and
// lines without a count have the count 1.
//
// {a,b} expands to each of its choices, and several lists expand to every combination (the last
// list varies fastest), each with the line's count. A choice may be empty, and lists do not nest.
// Before the problem, a list must be a whole part of the name.
//
// Throws BadInput "FILE: ..." for a text without names or longer than 1 MiB, and "FILE:LINE: ..."
// for more than 10,000 names, an open brace, an invalid count, a template without problems, a
// repeated name, and a name that MakeWorkload rejects (with the name, and the column in it).
// Accepts names whose library this build lacks.
Suite ReadSuite(std::string_view text, const std::string& file, const SuiteDevices& devices = {});

// A problem in a file of another program, with the name of its benchmark in `name`, or with the
// reason why dlroof has no such benchmark in `reason`.
struct ForeignProblem : SkippedProblem {
  std::optional<std::string> name;
};

// Returns a suite of the benchmarks that `problems` name, each once, without numbers of
// occurrences. Problems for which dlroof has no benchmark become its skipped problems.
Suite SuiteFromProblems(const std::string& file, const std::vector<ForeignProblem>& problems);

// Returns the built-in suites, sorted by name.
const std::vector<EmbeddedFile>& BuiltInSuites();

// Returns a description of a suite: the first comment line of its text, without the "# ".
std::string_view Summary(const EmbeddedFile& suite);

// Returns whether a text is a file for benchdnn: its first word is an option, a problem descriptor,
// or the program.
bool LooksLikeBenchdnn(std::string_view text);

// Returns the problems in `text`, the content of `file`, in their order, for all drivers that
// dlroof has. A problem has the values of the preceding options.
//
// The first problem determines the driver, until an option --DRIVER changes it. --DRIVER also
// begins a new command, as in the lines that benchdnn prints, and resets all options to their
// defaults. Options that do not change a call (duration, output, --skip-impl) are ignored. The
// default --dir=FWD_B is a training call with bias.
//
// An option that the driver lacks, a value without benchmarks, a list of values, and a problem of
// another form are the reason why their problems have no benchmark. --batch=FILE counts as a
// problem without one. Throws BadInput, "FILE:LINE: ...", for more than 500,000 benchmarks.
std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file);

}  // namespace dlroof::suites
