// Reads problem lines and batch files of benchdnn, the benchmark program of oneDNN 3.2, as
// benchmarks of ours.
//
// Performance lines of benchdnn, oneDNN's benchmark program, as records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/suite.h"
#include "reporters/imports/import.h"

namespace dlroof::suites {

// Returns true for a file of benchdnn's: its first word is an option, a problem, or the program.
bool LooksLikeBenchdnn(std::string_view text);

// The benchmarks of a file of those drivers of benchdnn that ops have, in its order: every problem
// with every combination of the values that the options before it have, those of the driver's first
// option varying slowest. `text` is what `file` holds; `file` is named in messages, and its folder
// is where --batch=FILE is looked for: beside the file that says it, in that folder's conv, rnn,
// ..., then likewise from `file` itself.
//
// The driver is that of the first problem until --DRIVER says otherwise; those begin a new
// command, as lines that benchdnn prints have them: all options are at their defaults again.
// Options that change no call (how long to measure, what to print, --skip-impl) are checked and
// ignored; --match and --start leave out what they do in benchdnn (a problem's first combination
// that does not match ends that problem). The driver's default --dir=FWD_B is a training call with
// bias.
//
// Throws BadInput, "FILE:LINE: column N: ...", for an option that the driver does not have (by its
// name), a value or problem that cannot be, a batch file that cannot be read or includes itself,
// and beyond 500,000 benchmarks.
std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file);

// The output of benchdnn --mode=P: lines "perf,..." in the order of the fields that the line
// "Output template: " before them names, benchdnn's own where there is none. Time is the average
// (%0time%), else the least (%-time%), in ms; FLOPs are its %Gops%, on the pipe that the
// implementation's name tells; where it names no instruction set and the type is narrower than f32
// they are left out, with a remark and in the record's `counting`. A problem that is a benchmark of
// ours gets its name and, where its op knows them, its compulsory bytes; another keeps benchdnn's
// words. Throws BadInput as import.h says.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

}  // namespace dlroof::suites
