// The journal of a supervised run: the request and every result, one JSON line each. A killed run
// resumes from its journal. Also merges the run files of single processes.
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

// A benchmark, by its names in the output of the programs' --benchmark_list_tests.
struct ListedPair {
  std::optional<std::string> base;  // name in BASE, in runs of two programs
  std::string contender;            // name in NEW, or in the only program

  bool operator==(const ListedPair&) const = default;
};

// The first line of a journal.
struct JournalHeader {
  std::vector<std::string> programs;   // paths: of one program, or of BASE and NEW
  std::vector<std::string> builds;     // BuildOf() of each program
  std::vector<std::string> arguments;  // for the programs
  std::vector<std::string> settings;   // other settings that influence results, as text
  std::vector<ListedPair> benchmarks;  // in the order of the run file
  std::uint64_t seed = 0;              // of the random order of the benchmarks
  // For each program, whether it is a Google Benchmark program without dlroof; empty: none is.
  std::vector<bool> plain;
  std::string id;  // identifies this run

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
  int block = 0;                  // number of the block or process, from 0
  double seconds = 0;             // [s] duration of the measurement
  std::vector<Outcome> outcomes;  // one, or BASE's and NEW's

  bool operator==(const JournalEntry&) const = default;
};

// Return the argument as a line of the journal, with its newline.
std::string JournalLine(const JournalHeader& header);
std::string JournalLine(const nlohmann::json& machines);
std::string JournalLine(const JournalEntry& entry);

struct Journal {
  std::optional<JournalHeader> header;  // absent if the run was killed before it wrote a line
  nlohmann::json machines;              // a JSON array; null while no result has machines
  std::vector<JournalEntry> entries;
  std::size_t complete_bytes = 0;  // [byte] size of the complete lines
};

// Parses the text of a journal. Ignores an incomplete last line. Throws BadInput for an invalid
// line and for a journal of a newer version; the message begins with `where`.
Journal ParseJournal(const std::string& text, const std::string& where);

// The journal on disk. Appended lines survive a kill of this process and a crash of the machine.
class JournalFile {
 public:
  // Opens or creates the file, reads it and removes an incomplete last line. Throws BadInput if the
  // file cannot be opened, is open in another process, or is not a valid journal.
  explicit JournalFile(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns the content that the file had when it was opened.
  const Journal& found() const { return found_; }

  // Writes the line to the disk before it returns. Throws BadInput if the disk is full.
  void Append(const std::string& line);
  void Remove();

 private:
  std::string path_;
  Descriptor file_;
  Journal found_;
};

// Number of repetitions that each process of an interleaved comparison makes before the measured
// windows (see InterleavedProcess::Settle). Results do not contain these repetitions.
inline constexpr std::size_t kSettlingRepetitions = 2;

// The result of one process for one benchmark: of a whole run, or of one block of an interleaved
// run.
struct Part {
  std::string name;  // name of the record
  // Number of the block (interleaved runs) or of the process (runs with several processes per
  // benchmark), for record::Repetition::block.
  std::optional<int> block;
  std::size_t settling = 0;       // [1] number of first repetitions that are not used
  std::optional<Reason> failure;  // why the fields below are empty
  nlohmann::json context;         // "context" of the process's run file
  nlohmann::json benchmarks;      // Google Benchmark's entries
  record::Record record;
};

// Returns the result of a process for the benchmark that the program lists as `listed`. The part
// has failed if the process's run file has no record of this benchmark. `plain`: a Google Benchmark
// program without dlroof, whose records have the names that it lists.
Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block,
              bool plain = false);

// Joins the parts of one benchmark (at least one) to a record, which has the repetitions of all
// parts with their numbers. Marks noisy windows of blocks. If a part has failed, the record has
// failed.
record::Record RecordOf(const std::string& listed, const std::vector<Part>& parts);

// The name and the results of one finished benchmark.
struct Supervised {
  std::string listed;
  std::vector<Part> parts;
};

struct Merged {
  roofline::PlacedRun run;
  nlohmann::json benchmarks;  // Google Benchmark's entries
};

// Merges all results as if one process had measured all benchmarks. The run has `machines` (a JSON
// array, or null), the first part's context, and all records and entries. Merges `about` into
// context.dlroof.
Merged MergedRun(const std::vector<Supervised>& supervised, const nlohmann::json& machines,
                 const nlohmann::json& about);

// Returns the JSON of the run file.
nlohmann::json ToJson(const Merged& merged);

// Draws for each of `count` pairs whether BASE comes first. Each block has its own random `stream`.
std::vector<bool> DrawBaseFirst(std::size_t count, std::uint64_t seed, std::uint64_t stream);

// Returns the estimated remaining time as text ("3 s", "2 min 10 s", "1 h 5 min"): `left` times the
// mean of `seconds`, which must not be empty.
std::string LeftText(const std::vector<double>& seconds, double left);

}  // namespace dlroof::supervise
