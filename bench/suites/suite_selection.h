// Choices of library, direction, type and batch size, which benchmarks of a suite follow.
//
// The suites of a run, from the values of --dlroof_suite.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/suite.h"
#include "bench/workload/workload.h"

namespace dlroof::suites {

// Parts of a benchmark's name by their place in it. Options follow.
enum NamePart : size_t { kOp, kDevice, kLibrary, kDirection, kType, kProblem };

// A benchmark's name in its parts, or a template's, whose problem is "*".
struct NameRow {
  std::vector<std::string_view> parts;
  int64_t count = 1;  // [1] times that it occurs in the model
};

// Returns the rows that have one of the choices as this part. A choice that no row of an op and
// device has is made there: of each problem's rows, those with the part's first value get it. So a
// choice that the suite knows selects, and another one replaces. A direction is also chosen by its
// beginning: "bwd" is "bwd_data" and "bwd_weights", and an LSTM's "bwd". Checks no name.
std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices);

// Values of the flags, lists with commas; empty: as the suite has it.
struct SuiteChoices {
  std::string library, directions, types, batch;
};

// The same suites with the choices. Each batch size makes a suite of its own, "NAME batch N". A
// name that cannot be, such as int8 of a gradient, is skipped with the reason.
//
// Throws BadInput, "FLAG=VALUE: column N: ...", for a library, direction or type that no benchmark
// has, and for a batch size that a problem cannot have or that no problem takes.
std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices);

// The suites of a run that names none: "paper", and "reference" for a CPU.
std::vector<std::string> DefaultSuites(const SuiteDevices& devices = {});

// Each value is a built-in suite's name, a file's path, or several with commas between them. What
// has a '/' or '.' in it, and what exists, is a file unless a built-in suite has its name. Built-in
// names replace the default set, files alone are added to it. In the order given, the default set
// first; a suite that comes twice counts once. Suites that are not selected are not read. Problems
// follow the templates of `devices`.
//
// A file may also be one of benchdnn's (ReadBenchdnn), and a value that begins with "--conv ",
// "--rnn " or another driver is benchdnn's command line itself, which counts as a name.
//
// Throws BadInput: what ReadSuite or ReadBenchdnn refuses, or an unknown name (after `flag`, with
// the known ones).
std::vector<Suite> SelectSuites(const std::vector<std::string>& values,
                                const SuiteDevices& devices = {},
                                const std::string& flag = "--dlroof_suite");

// The same suites, for these devices alone. With both nothing changes. Without the GPU its
// benchmarks are left out. Without the CPU its oneDNN benchmarks become the same ones by cuDNN on
// the GPU, where the suite has not got those itself; what cuDNN's has no name for is skipped, the
// reference loops are left out.
std::vector<Suite> OnDevices(std::vector<Suite> suites, bool cpu, bool gpu);

// The same suites, their benchmarks in `cache` where a name leaves that open.
std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache);

// True when a value asks for SuiteList: "help".
bool AsksForSuiteList(const std::vector<std::string>& values);

// The built-in suites, a line each.
std::string SuiteList();

// All their benchmarks in order; one that comes again is the same benchmark.
std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites);

// For context.dlroof.suites of the run file: an object for each suite that is counted ("layers":
// all of them, each with "name" and "count", whatever a filter leaves of them) or has skipped
// problems ("skipped": "line", "text", "reason", and "file" where it is another). An empty array
// where there is none.
nlohmann::json SuitesContext(const std::vector<Suite>& suites);

// A line per suite and reason that problems were skipped for; empty where none was.
std::string SkippedSentences(const std::vector<Suite>& suites);

}  // namespace dlroof::suites
