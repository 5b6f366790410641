// The suites of a run, from the values of --dlroof_suite.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/suites/suite.h"
#include "bench/workload/workload.h"

namespace dlroof::suites {

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
