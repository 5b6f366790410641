// Knobs of any program: coordinates of a tuning that text files describe, built-in ones and the
// user's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/tuning/tuning.h"
#include "bench/tune/trials.h"
#include "counters/base/files.h"

namespace dlroof::tune {

// A file has lines of these kinds. "#" begins a comment; blank lines and spaces at both ends of a
// line are ignored.
//
//   knob NAME | REASON                          begins a knob, which takes one of the choices below
//   knob NAME, changes results | REASON         a knob that is tried only with --allow-precision
//   knob NAME, acts on PART and PART | REASON   a knob that acts on parts of a program's time:
//                                               primitives, reorders, creation, outside
//                                               (default: all)
//   VARIABLE=VALUE ... | REASON                 a choice: environment variables
//   --FLAG=VALUE --FLAG | REASON                a choice: arguments, appended to the program's
//
// A value with spaces is written in double quotes. {cpus}, {cores} and {half} are numbers of this
// machine, {library:NAME} is the path of a shared library.

// What knob files depend on: this machine and the user's environment.
struct KnobPlace {
  int cpus = 1;   // [1] CPUs that may be used
  int cores = 1;  // [1] cores of these CPUs
  // Returns the path of a shared library if it is installed.
  std::function<std::optional<std::string>(const std::string& name)> library;
  // Returns whether the user has set the variable, which is not tuned then.
  std::function<bool(const std::string& variable)> is_set;
};
KnobPlace ThisKnobPlace();

struct Knobs {
  std::vector<tuning::Coordinate> coordinates;
  ActsOn acts_on;                    // of coordinates that specify it
  std::vector<std::string> skipped;  // sentences: knobs and choices that are not tried, and why
};

// Adds the coordinates of a knob file's text. Skips choices that need a missing library or a
// variable that is set. Throws BadInput with FILE:LINE for an invalid line, a choice before the
// first knob, a repeated knob, a variable of two knobs, and an unknown word in braces.
void AddKnobs(std::string_view text, const std::string& file, const KnobPlace& place,
              bool may_change_results, Knobs& knobs);

// Returns the knobs of built-in sets and files. Throws as AddKnobs, and for a word that is neither
// a set nor a file.
Knobs KnobsOf(const std::vector<std::string>& names_or_files, const KnobPlace& place,
              bool may_change_results);

// Returns the built-in sets, one file each.
const std::vector<EmbeddedFile>& BuiltInKnobs();
// Returns the names of the built-in sets: "allocator, onednn, ...".
std::string KnobSets();

// Prefix of the names under which settings store parts of LD_PRELOAD, to which several knobs add.
inline constexpr std::string_view kPreload = "LD_PRELOAD:";

}  // namespace dlroof::tune
