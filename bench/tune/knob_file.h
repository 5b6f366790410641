// Knobs of any program: coordinates of a tuning in text files, ours built in, others given by path.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/tuning/tuning.h"
#include "bench/tune/trials.h"
#include "counters/base/files.h"

namespace dlroof::tune {

// A file is lines of two kinds. "#" begins a comment; blank lines and spaces at both ends do not
// count.
//
//   knob NAME | REASON                    choices follow, of which one at a time is taken
//   knob NAME, changes results | REASON   the same, tried only where that is allowed
//   knob NAME, acts on PART and PART | REASON   parts of a program's time: primitives, reorders,
//                                         creation, outside; one that does not say acts on all
//   VARIABLE=VALUE ... | REASON           a choice: variables of the environment
//   --FLAG=VALUE --FLAG | REASON          a choice: arguments, behind those of the program
//
// A value with spaces stands in double quotes. {cpus}, {cores} and {half} are numbers of this
// machine, {library:NAME} is the path of a shared library.

// This machine, as far as files depend on it.
struct KnobPlace {
  int cpus = 1;   // [1] that may be used
  int cores = 1;  // [1] of these
  // Returns the path of a shared library; empty: it is not here.
  std::function<std::string(const std::string& name)> library;
  // Returns whether the user has set the variable: it is no knob then.
  std::function<bool(const std::string& variable)> is_set;
};
KnobPlace ThisKnobPlace();

struct Knobs {
  std::vector<tuning::Coordinate> coordinates;
  ActsOn acts_on;                     // of coordinates that say so
  std::vector<std::string> left_out;  // sentences: choices that cannot be here, knobs not asked for
};

// Adds the coordinates of a text. A library that is missing and a variable that is set leave out
// their choices. Throws BadInput with FILE:LINE: a line of neither kind, a choice before a knob, a
// knob twice, a variable that another knob has, a word in braces that is none.
void AddKnobs(std::string_view text, const std::string& file, const KnobPlace& place,
              bool may_change_results, Knobs& knobs);

// Returns the knobs of the built-in sets and files. Throws as AddKnobs, and for a word that is
// neither a set nor a file.
Knobs KnobsOf(const std::vector<std::string>& names_or_files, const KnobPlace& place,
              bool may_change_results);

// The built-in sets, a file each.
const std::vector<EmbeddedFile>& BuiltInKnobs();
// Names of the built-in sets: "allocator, onednn, ...".
std::string KnobSets();

// The knob under which a coordinate keeps its part of LD_PRELOAD, which several may set.
inline constexpr std::string_view kPreload = "LD_PRELOAD:";

}  // namespace dlroof::tune
