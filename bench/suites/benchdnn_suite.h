// Reads problem lines and batch files of benchdnn, the benchmark program of oneDNN 3.2, as our
// benchmarks, and its performance lines as records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/suite.h"
#include "reporters/imports/import.h"

namespace dlroof::suites {

// Returns whether a file is one of benchdnn's: its first word is an option, a problem, or the
// program.
bool LooksLikeBenchdnn(std::string_view text);

// Returns the problems of a file in its order, for the drivers of benchdnn that ops have: every
// problem with every combination of the values that the preceding options have, where those of the
// driver's first option vary slowest. `text` is the content of `file`, which messages name.
// --batch=FILE is searched in the folder of the file that contains it, in that folder's conv, rnn,
// ..., and then likewise from `file`.
//
// The driver is that of the first problem until an option --DRIVER changes it. Such an option
// begins a new command, as in the lines that benchdnn prints, and resets all options to their
// defaults. Options that do not change a call (duration, output, --skip-impl) are checked and
// ignored. --match and --start skip the same problems as in benchdnn (a problem ends with its first
// combination that does not match). The driver's default, --dir=FWD_B, is a training call with
// bias.
//
// Throws BadInput, "FILE:LINE: column N: ...", for an option that the driver does not have, an
// invalid value or problem, a batch file that cannot be read or includes itself, and more than
// 500,000 benchmarks.
std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file);

// Imports the output of benchdnn --mode=P: lines "perf,..." with the fields of the preceding line
// "Output template: ", or benchdnn's default fields. The time is the average (%0time%), or else the
// minimum (%-time%), in ms. The FLOPs are %Gops%, on the pipe that follows from the
// implementation's name. If that names no instruction set and the type is narrower than f32, the
// FLOPs are left out with a remark, which is also in the record's `counting`. A problem that is one
// of our benchmarks gets its name and, if the op knows them, its compulsory bytes; any other keeps
// benchdnn's text as its name. Throws BadInput as described in import.h.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

}  // namespace dlroof::suites
