// The journal of a supervised run, from which a killed run resumes: the request and every result,
// one line of JSON each. Also merges the run files of single processes into one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/process.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::supervise {

// One benchmark, by its names as the programs list them.
struct ListedPair {
  std::optional<std::string> base;  // in runs of two programs
  std::string contender;            // of NEW, or of the only program

  bool operator==(const ListedPair&) const = default;
};

// The first line of a journal.
struct JournalHeader {
  std::vector<std::string> programs;   // one, or BASE and NEW
  std::vector<std::string> builds;     // BuildOf each program
  std::vector<std::string> arguments;  // of the programs
  std::vector<std::string> settings;   // everything else that influences results, as text
  std::vector<ListedPair> benchmarks;  // in the order of the run file
  std::uint64_t seed = 0;              // of their order
  std::string id;                      // of this run

  bool operator==(const JournalHeader&) const = default;
};

// The result of one process for one benchmark.
struct Outcome {
  std::optional<Reason> failure;  // why there is no result
  nlohmann::json result;          // the process's run file without machines

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

// Return a line of the journal with its newline.
std::string JournalLine(const JournalHeader& header);
std::string JournalLine(const nlohmann::json& machines);
std::string JournalLine(const JournalEntry& entry);

struct Journal {
  std::optional<JournalHeader> header;  // absent if the run was killed before it wrote a line
  nlohmann::json machines;              // an array, or null if no result has come with machines
  std::vector<JournalEntry> entries;
  std::size_t complete_bytes = 0;  // [byte] size of the complete lines
};

// Parses a journal. Ignores an incomplete last line. Throws BadInput, beginning with `where`, for
// an invalid line and for a journal of a newer version.
Journal ParseJournal(const std::string& text, const std::string& where);

// The journal on disk. Appended lines survive a kill of this program and a crash of the machine.
class JournalFile {
 public:
  // Opens or creates the file, reads it and removes an incomplete last line. Throws BadInput if the
  // file cannot be opened, if another process has it open, and what ParseJournal throws.
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

// Repetitions that each process of an interleaved comparison makes before the windows (see
// InterleavedProcess::Settle). The result does not contain them.
inline constexpr std::size_t kSettlingRepetitions = 2;

// The result of one process for one benchmark: all of it, or one block of an interleaved run.
struct Part {
  std::optional<int> block;       // in interleaved runs
  std::optional<Reason> failure;  // why the fields below have no values
  nlohmann::json context;         // of its run file
  nlohmann::json benchmarks;      // Google Benchmark's entries
  record::Record record;
};

// Returns the part of benchmark `listed`, a name as the program lists it. Without a record of that
// name the part has failed.
Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block);

// Joins the parts of one benchmark, of which there is at least one. Repetitions of blocks follow
// each other, marked by their block, and are judged for interference together. The record has
// failed if a part has.
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

// Returns the run as one process would have written it: with `machines` (an array, or null), the
// first part's context, into whose "dlroof" `about` is merged, and all entries and records.
Merged MergedRun(const std::vector<Supervised>& supervised, const nlohmann::json& machines,
                 const nlohmann::json& about);

// Returns the run file.
nlohmann::json ToJson(const Merged& merged);

// Draws for each of `count` pairs whether BASE goes first. Each block has its own `stream`.
std::vector<bool> DrawBaseFirst(std::size_t count, std::uint64_t seed, std::uint64_t stream);

// Returns the time left if each of `left` benchmarks takes the mean of `seconds`, which has at
// least one value: "3 s", "2 min 10 s", "1 h 5 min".
std::string LeftText(const std::vector<double>& seconds, double left);

}  // namespace dlroof::supervise
