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

// The parts of a benchmark's name by their position. Options follow.
enum NamePart : size_t { kOp, kDevice, kLibrary, kDirection, kType, kProblem };

// The parts of a benchmark's name, or of a template, whose problem is "*".
struct NameRow {
  std::vector<std::string_view> parts;
  int64_t count = 1;  // [1] occurrences in the model
};

// Selects the rows whose `part` is one of the choices. If no row of an op and a device has a
// choice, it replaces the part in those rows of each problem that have the problem's first value.
// So a choice that the suite contains selects rows, and any other choice replaces values. A
// direction may be shortened: "bwd" means "bwd_data" and "bwd_weights", and "bwd" of an LSTM. Does
// not check the resulting names.
std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices);

// Values of the flags: lists separated by commas. An empty list does not change the suite.
struct SuiteChoices {
  std::string library, directions, types, batch;
};

// Applies the choices to the suites. Each batch size makes a suite of its own, "NAME batch N".
// Names that are invalid, such as int8 for a gradient, are skipped with the reason.
//
// Throws BadInput, "FLAG=VALUE: column N: ...", for a library, direction or type that no benchmark
// has, and for a batch size that a problem cannot have or that no problem can use.
std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices);

// Returns the suites of a run without --dlroof_suite: "paper", and on a CPU also "reference".
std::vector<std::string> DefaultSuites(const SuiteDevices& devices = {});

// Returns the suites that the values name, in their order and each once, or the default suites if
// there are no values. A value is the name of a built-in suite, the path of a file, or several of
// these separated by commas. It is a path if no built-in suite has that name and it contains '/' or
// '.' or exists. A file may be a suite file or one of benchdnn's (ReadBenchdnn). A value that
// begins with "--conv ", "--rnn " or another driver is a command line of benchdnn. Problems use the
// templates of `devices`.
//
// Throws BadInput for what ReadSuite or ReadBenchdnn refuses, and for an unknown name (the message
// begins with `flag` and lists the known names).
std::vector<Suite> SelectSuites(const std::vector<std::string>& values,
                                const SuiteDevices& devices = {},
                                const std::string& flag = "--dlroof_suite");

// Restricts the suites to these devices. Without the GPU its benchmarks are removed. Without the
// CPU the benchmarks of oneDNN become those of the op's library on the GPU, unless the suite
// already contains these or the library has no such case (then they are skipped), and the reference
// loops are removed.
std::vector<Suite> OnDevices(std::vector<Suite> suites, bool cpu, bool gpu);

// Puts the benchmarks whose names do not specify a cache state into the state `cache`.
std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache);

// Returns whether a value ("help") asks for SuiteList.
bool AsksForSuiteList(const std::vector<std::string>& values);

// Returns one line per built-in suite, and the default suites.
std::string SuiteList();

// Returns the distinct benchmarks of all suites in their order.
std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites);

// Returns one line for stderr that says what runs: "suite my_layers.txt: 12 benchmarks", or "suites
// paper, reference: 186 benchmarks".
std::string SelectionSentence(const std::vector<Suite>& suites);

// Returns context.dlroof.suites of the run file: an array with an object for each suite that is
// counted ("layers" with "name" and "count", including those that a filter removes) or has skipped
// problems ("skipped" with "text", "reason", "line" if known, and "file" if it is not the suite's).
nlohmann::json SuitesContext(const std::vector<Suite>& suites);

// Returns a line for each suite and each reason for which it skips problems.
std::string SkippedSentences(const std::vector<Suite>& suites);

}  // namespace dlroof::suites
