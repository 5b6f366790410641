// Selects the suites of a run from the values of --dlroof_suite, and applies the user's choices of
// library, direction, type, batch size, device and cache state to their benchmarks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/suite.h"
#include "bench/workload/workload.h"

namespace dlroof::suites {

// Indices of the parts of a benchmark's name; options follow.
enum NamePart : size_t { kOp, kDevice, kLibrary, kDirection, kType, kProblem };

// The parts of a benchmark's name, or of a template ("*" instead of a problem).
struct NameRow {
  std::vector<std::string_view> parts;
  int64_t count = 1;  // [1] occurrences in the model
};

// Applies the user's choices for one part of the names, separately for each operator and device. If
// rows with a chosen value exist, selects these. Otherwise sets the value in the rows that have,
// for their problem, the first value of that part. Directions may be shortened: "bwd" means
// "bwd_data" and "bwd_weights", and "bwd" of an LSTM. Does not check the resulting names.
std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices);

// Values of flags: comma-separated lists; an empty one changes nothing.
struct SuiteChoices {
  std::string directions, types, batch;
};

// Applies the choices. Each batch size becomes a suite of its own, "NAME batch N". Invalid names,
// such as int8 for a gradient, are skipped with the reason.
//
// Throws BadInput, "FLAG=VALUE: ...", for a direction or type that no benchmark has, for an invalid
// batch size, and for a batch size if no problem has one.
std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices);

// Returns the suites used without --dlroof_suite: "paper", and with a CPU also "reference".
std::vector<std::string> DefaultSuites(const SuiteDevices& devices = {});

// Returns the suites named by the values, in order without duplicates, or the default suites if
// there are no values. A value is the name of a built-in suite, the path of a suite file or
// benchdnn file (ReadBenchdnn), or a comma-separated list of these. It is a path if no built-in
// suite has that name and it contains '/' or '.' or exists. A value that begins with "--conv ",
// "--rnn " or another driver is a command line of benchdnn. Problems use the templates for
// `devices`. Throws BadInput as ReadSuite and ReadBenchdnn, and for an unknown name; the message
// begins with `flag` and lists the known names.
std::vector<Suite> SelectSuites(const std::vector<std::string>& values,
                                const SuiteDevices& devices = {},
                                const std::string& flag = "--dlroof_suite");

// Restricts the suites to these devices. Without the GPU its benchmarks are removed. Without the
// CPU the reference loops are removed, and oneDNN's benchmarks are replaced by those of the
// operator's GPU library: removed if the suite already contains the replacement, skipped if the GPU
// library lacks it.
std::vector<Suite> OnDevices(std::vector<Suite> suites, bool cpu, bool gpu);

// Sets the cache state of all benchmarks whose names do not specify one.
std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache);

// Adds the option `algorithm` ("best", "winograd") to every benchmark that supports it. Throws
// BadInput, beginning with "--dlroof_algorithm=", if no operator has such an algorithm
// (Op::variants), or no benchmark of the suites supports it.
std::vector<Suite> WithAlgorithm(std::vector<Suite> suites, const std::string& algorithm);

// Returns whether a value is "help", which requests SuiteList.
bool AsksForSuiteList(const std::vector<std::string>& values);

// Returns a line per built-in suite, and a line with the default suites.
std::string SuiteList();

// Returns the benchmarks of all suites in order, without duplicates.
std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites);

// Returns a line for standard error: "suite my_layers.txt: 12 benchmarks", or "suites paper,
// reference: 186 benchmarks".
std::string SelectionSentence(const std::vector<Suite>& suites);

// Returns context.dlroof.suites of the run file: an array with an object per suite that is counted
// ("layers" with "name" and "count", including layers removed by a filter) or has skipped problems
// ("skipped" with "text", "reason", "line" if known, and "file" if it is not the suite's).
nlohmann::json SuitesContext(const std::vector<Suite>& suites);

// Returns a line per suite and reason, with the number of skipped problems.
std::string SkippedSentences(const std::vector<Suite>& suites);

}  // namespace dlroof::suites
