// Knobs of any program: environment variables and flags that a tuning may change. Text files
// describe them: built-in ones and the user's.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/tuning/tuning.h"
#include "bench/tune/trials.h"
#include "counters/base/files.h"

namespace dlroof::tune {

// A knob file has lines of these kinds. "#" begins a comment; blank lines and spaces at both ends
// of a line are ignored.
//
//   knob NAME | REASON                          begins a knob, which takes one of the choices below
//   knob NAME, changes results | REASON         a knob that is tried only with --allow-precision
//   knob NAME, acts on PART and PART | REASON   a knob that acts on parts of a program's time:
//                                               primitives, reorders, creation, outside
//                                               (default: all)
//   default VARIABLE=VALUE                      what the program does without the variable; a
//                                               choice that says the same is not tried
//   VARIABLE=VALUE ... | REASON                 a choice: environment variables
//   --FLAG=VALUE --FLAG | REASON                a choice: arguments, appended to the program's
//
// A value with spaces is written in double quotes. {cpus}, {cores} and {half} are replaced by
// numbers of this machine, {library:NAME} by the path of a shared library, {threads} by the number
// of threads that programs use by default, and {needs:FEATURE} by nothing: where this machine lacks
// the feature, the choice would be the default, and is left out. A `default` line whose words are
// not known here is ignored.

// The properties of this machine and of the user's environment that choices depend on.
struct KnobPlace {
  int cpus = 1;   // [1] CPUs that may be used
  int cores = 1;  // [1] cores of these CPUs
  // Returns the path of the shared library `name` if it is installed.
  std::function<std::optional<std::string>(const std::string& name)> library;
  // Returns whether the user has set the variable. Such variables are not tuned.
  std::function<bool(const std::string& variable)> is_set;
  // Features of the CPU ("avx512f"), and "huge_pages_on_request" where programs have to ask for
  // transparent huge pages.
  std::set<std::string> features = {};
};
KnobPlace ThisKnobPlace();

struct Knobs {
  std::vector<tuning::Coordinate> coordinates;
  ActsOn acts_on;                    // for knobs that specify "acts on"
  std::vector<std::string> skipped;  // sentences: what is not tried, and why
};

// Adds the knobs of a knob file's text to `knobs`. Skips choices that need a missing library or a
// variable that the user has set. Throws BadInput with FILE:LINE for an invalid line, a choice
// before the first knob, a repeated knob, a variable in two knobs, or an unknown word in braces.
void AddKnobs(std::string_view text, const std::string& file, const KnobPlace& place,
              bool may_change_results, Knobs& knobs);

// Returns the knobs of built-in sets and files. Throws what AddKnobs throws, and BadInput for a
// word that is neither a set nor a file.
Knobs KnobsOf(const std::vector<std::string>& names_or_files, const KnobPlace& place,
              bool may_change_results);

// Returns the built-in sets, one file each.
const std::vector<EmbeddedFile>& BuiltInKnobs();
// Returns the names of the built-in sets: "allocator, onednn, ...".
std::string KnobSets();

// Prefix of the names under which a setting stores libraries for LD_PRELOAD, one from each knob.
inline constexpr std::string_view kPreload = "LD_PRELOAD:";

}  // namespace dlroof::tune
