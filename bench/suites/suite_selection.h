// Selects the suites of a run from the values of --dlroof_suite, and applies the user's choice of
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

// Indices of the parts of a benchmark's name. The options follow.
enum NamePart : size_t { kOp, kDevice, kLibrary, kDirection, kType, kProblem };

// The parts of a benchmark's name, or of a template ("*" instead of a problem).
struct NameRow {
  std::vector<std::string_view> parts;
  int64_t count = 1;  // [1] occurrences in the model
};

// Applies a user's choices for one part of names, for each op and device. If the rows contain a
// choice, selects the rows with that choice. Otherwise puts the choice in place of `part`, in the
// rows with the problem's first value of that part. A direction may be shortened: "bwd" means
// "bwd_data" and "bwd_weights", and "bwd" of an LSTM. Does not check the resulting names.
std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices);

// Values of the flags: lists separated by commas. An empty list does not change the suites.
struct SuiteChoices {
  std::string directions, types, batch;
};

// Returns the suites with these choices. Each batch size creates its own suite, "NAME batch N".
// Names that are invalid, such as int8 for a gradient, are skipped with the reason.
//
// Throws BadInput, "FLAG=VALUE: ...", for a direction or type that no benchmark
// has, for an invalid batch size, and for a batch size if no problem has one.
std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices);

// Returns the suites of a run without --dlroof_suite: "paper", and with a CPU also "reference".
std::vector<std::string> DefaultSuites(const SuiteDevices& devices = {});

// Returns the suites that the values name, in their order and each once, or the default suites if
// there are no values. A value is the name of a built-in suite, the path of a suite file or of a
// benchdnn file (ReadBenchdnn), or several of these separated by commas. A value is a path if no
// built-in suite has that name and it contains '/' or '.' or exists. A value that begins with
// "--conv ", "--rnn " or another driver is a command line of benchdnn. Problems use the templates
// of `devices`.
//
// Throws BadInput if ReadSuite or ReadBenchdnn rejects a file, and for an unknown name (the message
// begins with `flag` and lists the known names).
std::vector<Suite> SelectSuites(const std::vector<std::string>& values,
                                const SuiteDevices& devices = {},
                                const std::string& flag = "--dlroof_suite");

// Restricts the suites to these devices. Without the GPU, its benchmarks are removed. Without the
// CPU, the reference loops are removed, and oneDNN's benchmarks become benchmarks of the op's GPU
// library. A benchmark of oneDNN is removed if the suite already contains its replacement, and
// skipped if the GPU library has no such case.
std::vector<Suite> OnDevices(std::vector<Suite> suites, bool cpu, bool gpu);

// Sets the cache state `cache` for all benchmarks whose names specify no cache state.
std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache);

// Adds the option `algorithm` ("best", "winograd") to every benchmark whose name may have it.
// Throws BadInput, beginning with "--dlroof_algorithm=", if no operator has such an algorithm
// (Op::variants), or if no benchmark of the suites may have it.
std::vector<Suite> WithAlgorithm(std::vector<Suite> suites, const std::string& algorithm);

// Returns whether a value is "help", which asks for SuiteList.
bool AsksForSuiteList(const std::vector<std::string>& values);

// Returns one line per built-in suite, and a line with the default suites.
std::string SuiteList();

// Returns the benchmarks of all suites in their order, each once.
std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites);

// Returns one line for stderr with the selected benchmarks: "suite my_layers.txt: 12 benchmarks",
// or "suites paper, reference: 186 benchmarks".
std::string SelectionSentence(const std::vector<Suite>& suites);

// Returns context.dlroof.suites of the run file: an array with an object for each suite that is
// counted ("layers" with "name" and "count", including layers that a filter removes) or has skipped
// problems ("skipped" with "text", "reason", "line" if known, and "file" if not the suite's).
nlohmann::json SuitesContext(const std::vector<Suite>& suites);

// Returns one line per suite and reason, with the number of problems skipped for that reason.
std::string SkippedSentences(const std::vector<Suite>& suites);

}  // namespace dlroof::suites
