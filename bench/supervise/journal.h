// The journal of a supervised run: the request and every result, one line of JSON each. A killed
// run resumes from it.
//
// Merges the run files of single processes into one. Pure.
//
// The order of benchmarks and the time left. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/process.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::supervise {

// One benchmark, of one program or of BASE's and NEW's. Names as the programs list them.
struct ListedPair {
  std::string base;  // empty: there is one program
  std::string contender;

  bool operator==(const ListedPair&) const = default;
};

// The first line.
struct JournalHeader {
  std::vector<std::string> programs;   // one, or BASE's and NEW's
  std::vector<std::string> builds;     // of each program, by BuildOf
  std::vector<std::string> arguments;  // of the programs
  std::vector<std::string> settings;   // all other causes of results, as text
  std::vector<ListedPair> benchmarks;  // in the order of the run file
  std::uint64_t seed = 0;              // of their order
  std::string id;                      // of this run

  bool operator==(const JournalHeader&) const = default;
};

// The result of one process for one benchmark.
struct Outcome {
  std::string failed;     // reason of a failure; empty: there is a result
  nlohmann::json result;  // its run file without machines

  bool operator==(const Outcome&) const = default;
};

// A finished benchmark, or one block of it.
struct JournalEntry {
  ListedPair benchmark;
  int block = 0;                  // [1] from 0
  double seconds = 0;             // [s] duration
  std::vector<Outcome> outcomes;  // one, or BASE's and NEW's

  bool operator==(const JournalEntry&) const = default;
};

// Each ends with a newline.
std::string JournalLine(const JournalHeader& header);
std::string JournalLine(const nlohmann::json& machines);
std::string JournalLine(const JournalEntry& entry);

struct Journal {
  std::optional<JournalHeader> header;  // absent: killed before anything was written
  nlohmann::json machines;              // of the run file; null: none
  std::vector<JournalEntry> entries;
  std::size_t whole_bytes = 0;  // [byte] of whole lines; a kill cut off the rest
};

// Parses a journal; ignores a last line without its end. Throws BadInput, beginning with `where`,
// for any other foreign line and for a newer version.
Journal ParseJournal(const std::string& text, const std::string& where);

// The journal on disk. Appended lines survive a kill of this program and of the machine.
class JournalFile {
 public:
  // Opens or creates the file, reads it and removes a line that a kill cut off. Throws BadInput if
  // the file cannot be opened, if another process has it open, and what ParseJournal throws.
  explicit JournalFile(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns the content before the first Append.
  const Journal& found() const { return found_; }

  // Writes the line to the disk before it returns. Throws BadInput if the disk is full.
  void Append(const std::string& line);
  void Remove();

 private:
  std::string path_;
  Descriptor file_;
  Journal found_;
};

// Repetitions that each process of an interleaved comparison makes alone, before the turns begin.
// The result does not contain them.
inline constexpr std::size_t kAloneRepetitions = 2;

// A part of one benchmark's result.
struct Part {
  std::optional<int> block;
  std::string failed;         // reason of a failure; then all else is empty
  nlohmann::json context;     // of its run file
  nlohmann::json benchmarks;  // Google Benchmark's entries
  record::Record record;
};

// Returns the part of benchmark `listed`, a name as the program lists it. Without a record of that
// name the part has failed.
Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block);

// Joins the parts of one benchmark. Windows of blocks follow each other, marked by their block, and
// are judged for interference together. The record has failed if a part has. `parts` is not empty.
record::Record RecordOf(const std::string& listed, const std::vector<Part>& parts);

// A finished benchmark, in the order of the file.
struct Supervised {
  std::string listed;
  std::vector<Part> parts;
};

struct Merged {
  roofline::PlacedRun run;
  nlohmann::json benchmarks;  // Google Benchmark's entries
};

// Returns the run as one process would have written it: `machines` (an array, or null), the first
// part's context with `about` merged into its "dlroof", and entries and records.
Merged MergedRun(const std::vector<Supervised>& supervised, const nlohmann::json& machines,
                 const nlohmann::json& about);

// Returns the run file.
nlohmann::json ToJson(const Merged& merged);

// Draws the first side of each of `count` pairs; true: BASE. Each block has its own `stream`.
std::vector<bool> DrawnSides(std::size_t count, std::uint64_t seed, std::uint64_t stream);

// Returns the time left, if each of `left` takes the mean of `seconds`: "3 s", "2 min 10 s", "1 h 5
// min"; empty if `seconds` is.
std::string LeftText(const std::vector<double>& seconds, double left);

}  // namespace dlroof::supervise
