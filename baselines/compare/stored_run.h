// Stored run files as baselines: which of a folder answer to a new run, and when a run was made.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {

// All *.json under `folder`, folders in it too, sorted. Throws BadInput where it is none.
std::vector<std::filesystem::path> JsonFiles(const std::filesystem::path& folder);
// Absent for a file that is no run file (a study's table, a machine), or one that was cut off.
std::optional<NamedRun> ReadIfRun(const std::filesystem::path& path);

// Returns the run files under `folder` (*.json, folders in it too) that Compare accepts beside
// `fresh`: same fingerprint, conventions, threads, cache state, and a benchmark in common; at least
// one, oldest first by context.date. `fresh` itself and files that are no run files are passed
// over; `warnings` gets a sentence for each run file of the same machine that was. `names` may map
// the benchmarks of some. Throws BadInput: no such folder, `fresh` names no machine, nothing found
// (with how many files were looked at), or a mapped name that none of those found has.
std::vector<NamedRun> FindBaselines(const std::filesystem::path& folder, const NamedRun& fresh,
                                    const NameMap& names, std::ostream& warnings);

// [s] since 1970 of context.date: "2026-03-02T10:00:00+01:00" (ISO 8601), or with a space for the T
// and without an offset, as older versions of Google Benchmark write it, which is taken as UTC.
// Fractions of a second are left out. 0, older than all, where a file has none.
double Moment(const record::RunFile& file);

}  // namespace dlroof::compare
