// Reading of a run file's context, an object of which other programs write parts: what is missing
// or of another type is absent.
//
// The run file: a superset of Google Benchmark's JSON.
// Schema history: 1 = first. 2 = a record's "isa", "kernels" and notes of "counting" are members of
// their own, and labels are JSON (record_from_json.h has what they were).
//
// Several run files of one machine as one.
#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::record {

// Returns the member `key` of an object; null where there is none.
inline const nlohmann::json& Member(const nlohmann::json& json, const char* key) {
  static const nlohmann::json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

// Returns an empty text where there is none.
inline std::string Text(const nlohmann::json& json, const char* key) {
  const auto& member = Member(json, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

inline constexpr int kSchema = 2;

struct JsonPlace;

struct RunFile {
  nlohmann::json context =
      nlohmann::json::object();            // Google Benchmark's, with ours under "dlroof"
  std::vector<machine::Machine> machines;  // one per device
  std::vector<Record> records;
};

// The machine of the record's device; null when the file has none.
const machine::Machine* MachineFor(const RunFile& file, const Record& record);

// One repetition as Google Benchmark reports it; the common ground of its in-memory Run and its
// JSON entry.
struct Entry {
  std::string name;             // without suffixes such as /real_time
  double seconds = 0;           // [s] wall, per call
  double main_cpu_seconds = 0;  // [s] per call
  double iterations = 0;
  std::string time_unit;  // of the file it was read from; empty: none
  std::string label;
  bool skipped = false;
  std::string message;  // why skipped
  std::map<std::string, double> counters;
};

// All entries of one benchmark -> its record, noisy repetitions marked. They share one unit.
// `file` is the place of a file that they are from. Throws BadInput for a label that is wrong.
Record RecordFromEntries(const std::vector<Entry>& entries, const JsonPlace* file = nullptr);

// Messages of skipped benchmarks begin with one of these; any other message means failed.
inline constexpr const char* kUnsupportedPrefix = "unsupported: ";
inline constexpr const char* kWrongPrefix = "wrong: ";
// A repetition that did not run, after an interrupt or because it was not needed: no part of any
// record.
inline constexpr const char* kNotRun = "not run";

// A name without what Google Benchmark appends for its own settings ("/real_time", "/repeats:3",
// ...), but with "/threads:2", which tells benchmarks apart.
std::string BareName(const std::string& name);

// Marks the context of a file as kSchema's, as its records are once they are read. Throws BadInput
// for a newer one.
void UpdateSchema(nlohmann::json& context, const std::string& where);

// Accepts every schema, plain Google Benchmark JSON (times only) and a file cut off by a kill:
// complete entries are kept, and `warnings` gets one sentence. Reads once and holds one element's
// text at a time, so a pipe will do. Throws BadInput with the place: unreadable, empty, no JSON, no
// complete record, newer schema, wrong types. Members that nobody needs must be JSON too.
RunFile ReadRunFile(const std::string& path, std::ostream& warnings);
// The same from memory; `where` begins every message.
RunFile ParseRunFile(const std::string& text, const std::string& where, std::ostream& warnings);

// Returns the records and ceilings of all files, by path; the context is the first one's. The first
// of two records of one name and number of threads counts, and the first of two sets of ceilings of
// one number of threads. Throws BadInput for files of different machines.
RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the records of all files, each file's under a label of its own: the name of the file
// without folder and ".json", with a number where two are the same. The label stands behind the
// library of a record ("onednn@torch"), in its name too. The context is the first one's without
// its program; "dlroof.files" has the paths. Throws as JoinedRun.
RunFile SideBySide(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the label of a record of SideBySide; empty for another.
std::string_view LabelOf(const Record& record);

}  // namespace dlroof::record
