// Suites: lists of benchmarks in text files, ours built into the program, others given by path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::suites {

struct Layer {
  std::string name;   // of a benchmark
  int64_t count = 1;  // [1] times that it occurs in the model
};

// A problem of the file that no benchmark here stands for.
struct SkippedProblem {
  std::string file;    // that it stands in
  int line = 0;        // of that file, from 1; 0: of no one line
  std::string text;    // as written
  std::string reason;  // "3-D convolution"
};

struct Suite {
  std::string name;           // "resnet50"; of a file: its path as it was given
  std::vector<Layer> layers;  // each benchmark once, in the order of the file
  bool counted = false;       // a model: its layers say how often they occur
  std::vector<SkippedProblem> skipped;
};

// Devices whose templates a problem follows. Where it has templates of neither, it follows all.
struct SuiteDevices {
  bool cpu = true, gpu = false;
};

// A line is one of three. "#" begins a comment, blank lines and spaces at both ends do not count.
//
//   op/device/library/direction/type/*[/option...]   a template: a name with "*" for its problem
//   op[/direction[/type]] problem[/option...] [xN]   the benchmarks that the templates make of it
//   op/device/library/direction/type/problem[/option...] [xN]   one benchmark
//
// A problem follows the templates of its op above it, up to the problem before them; where there
// are none, those of the op's row. Its direction and type choose among them (Choose). " xN": the
// layer occurs N times in the model. One in the file (" x1" will do) makes the suite counted; lines
// without have 1 then.
//
// {a,b} stands for each of its choices, several lists for every combination (the last varies
// fastest), each with the line's count; a choice may be empty, lists do not nest. Before a problem
// a list is all of a part.
//
// Throws BadInput, "FILE: ..." for a text that holds no name or is longer than 1 MiB; "FILE:LINE:
// column N: ..." for the 10,001st name; a brace that is not closed; a count that is none; a
// template that no problem follows; a name that is there twice; and a name that MakeWorkload
// refuses (the place of its bad part in the file, be it the template's or the problem's). A name
// whose library this build lacks is kept.
Suite ReadSuite(std::string_view text, const std::string& file, const SuiteDevices& devices = {});

// A problem of a file in another program's notation, with the reason why it is no benchmark here.
struct ForeignProblem : SkippedProblem {
  std::string name;  // of the benchmark; empty: there is none
};

// The benchmarks among `problems`, each once, and the others as skipped. Never counted.
Suite SuiteFromProblems(const std::string& file, const std::vector<ForeignProblem>& problems);

// Returns the suites of this folder in the order of their names.
const std::vector<EmbeddedFile>& BuiltInSuites();

// Returns its content in words: the first comment line of its text, without the "# ".
std::string_view Summary(const EmbeddedFile& suite);

}  // namespace dlroof::suites
