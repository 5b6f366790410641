// Suites: lists of benchmarks in text files, either built into the program or given by their path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::suites {

struct Layer {
  std::string name;   // of a benchmark
  int64_t count = 1;  // [1] occurrences in the model
};

// A problem of a suite for which dlroof has no benchmark.
struct SkippedProblem {
  std::string file;         // that contains it
  std::optional<int> line;  // of that file, from 1, if the problem comes from one line
  std::string text;         // as written
  std::string reason;       // "3-D convolution"
};

struct Suite {
  std::string name;           // "resnet50", or the path of a file as the user gave it
  std::vector<Layer> layers;  // each benchmark once, in the order of the file
  bool counted = false;       // the suite is a model, whose layers have counts
  std::vector<SkippedProblem> skipped;
};

// The devices whose templates a problem uses. A problem without templates for them uses all its
// templates.
struct SuiteDevices {
  bool cpu = true, gpu = false;
};

// Reads a suite file. "#" begins a comment; blank lines and spaces at both ends are ignored. A line
// has one of three forms:
//
//   op/device/library/direction/type/*[/option...]   a template: a name with "*" for its problem
//   op[/direction[/type]] problem[/option...] [xN]   the benchmarks that the templates make of it
//   op/device/library/direction/type/problem[/option...] [xN]   one benchmark
//
// A problem uses the templates of its op in the lines before it. The first template after a problem
// begins a new list. An op without templates in the file uses those of its Op row. A direction and
// a type select among the templates (Choose). " xN" means that the layer occurs N times in the
// model. If at least one line has a count (even " x1"), the suite is counted, and lines without a
// count have 1.
//
// {a,b} expands to each of its choices, and several lists to every combination (the last one varies
// fastest), each with the line's count. A choice may be empty, and lists do not nest. In the parts
// before a problem, a list must be a whole part.
//
// Throws BadInput "FILE: ..." for a text without names or longer than 1 MiB, and "FILE:LINE: column
// N: ..." for more than 10,000 names, a brace that is not closed, an invalid count, a template
// without problems, a repeated name, and a name that MakeWorkload refuses (with the place of the
// bad part in the template or the problem). Accepts names whose library this build lacks.
Suite ReadSuite(std::string_view text, const std::string& file, const SuiteDevices& devices = {});

// A problem of a file of another program. Either `name` is its benchmark, or `reason` says why
// dlroof has none.
struct ForeignProblem : SkippedProblem {
  std::optional<std::string> name;
};

// Returns the benchmarks among `problems`, each once, and the others as skipped. The suite is not
// counted.
Suite SuiteFromProblems(const std::string& file, const std::vector<ForeignProblem>& problems);

// Returns the built-in suites, sorted by name.
const std::vector<EmbeddedFile>& BuiltInSuites();

// Returns a description of a suite: the first comment line of its text, without the "# ".
std::string_view Summary(const EmbeddedFile& suite);

}  // namespace dlroof::suites
