// The run file: a superset of Google Benchmark's JSON (schema 1).
// Schema history: 1 = first.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "reporters/record.h"

namespace dlroof {

inline constexpr int kSchema = 1;

// One repetition as Google Benchmark reports it; the common ground of its in-memory Run and its
// JSON entry.
struct Entry {
  std::string name;             // without suffixes such as /real_time
  double seconds = 0;           // [s] wall, per call
  double main_cpu_seconds = 0;  // [s] per call
  double iterations = 0;
  std::string label;
  bool skipped = false;
  std::string message;  // why skipped
  std::map<std::string, double> counters;
};

// All entries of one benchmark -> its record, disturbed repetitions marked.
Record RecordFromEntries(const std::vector<Entry>& entries);

nlohmann::json RecordToJson(const Record& record, const Machine* machine);

// Accepts schema 1, plain Google Benchmark JSON (times only) and a file cut off by a kill (complete
// entries are kept; `warnings` gets one sentence). Throws BadInput: unreadable, empty, no complete
// record, newer schema, wrong types.
RunFile ReadRunFile(const std::string& path, std::ostream& warnings);

}  // namespace dlroof
