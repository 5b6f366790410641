// Parses problem lines and batch files of benchdnn, oneDNN's benchmark program, into
// dlroof's benchmarks, and benchdnn's performance lines into records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/suite.h"
#include "reporters/imports/import.h"

namespace dlroof::suites {

// Returns whether a text is a file for benchdnn: its first word is an option, a problem descriptor,
// or the program.
bool LooksLikeBenchdnn(std::string_view text);

// Returns the problems in `text`, the content of `file`, in their order, for all drivers that
// dlroof has. A problem has the values of the preceding options. --batch=FILE is searched in the
// folder of the file that contains the option, in that folder's conv, rnn, ..., and then likewise
// from `file`.
//
// The first problem determines the driver, until an option --DRIVER changes it. --DRIVER also
// begins a new command, as in the lines that benchdnn prints, and resets all options to their
// defaults. Options that do not change a call (duration, output, --skip-impl) are checked and
// ignored. The default --dir=FWD_B is a training call with bias.
//
// An option that the driver lacks (--match and --start, which choose problems, are such), a value
// that is not known, a list of values, and a problem of another form are the reason why their
// problems have no benchmark.
//
// Throws BadInput, "FILE:LINE: column N: ...", for a batch file that cannot be read or includes
// itself, and for more than 500,000 benchmarks.
std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file);

// Imports the output of benchdnn --mode=P: lines "perf,..." with the fields of the preceding line
// "Output template: ", or with benchdnn's default fields. The time is the average (%0time%), or
// else the minimum (%-time%), in ms. The FLOPs are %Gops%, of convolutions those of taps inside the
// image as everywhere (conv::prb_t::count_ops, filter_axis.h); their pipe follows from the
// implementation's name. If that name contains no instruction set and the type is narrower than
// f32, the record has no FLOPs, and a remark in `counting` says so. A problem for which dlroof has
// a benchmark gets the benchmark's name and, if the op knows them, its compulsory bytes; any other
// has benchdnn's text as its name. Throws BadInput as described in import.h.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

}  // namespace dlroof::suites
