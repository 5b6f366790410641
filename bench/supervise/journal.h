// The journal of a supervised run: the request and every result, one line of JSON each. A killed
// run resumes from it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/process.h"

namespace dlroof::supervise {

// One benchmark, of one program or of BASE's and NEW's. Names as the programs list them.
struct ListedPair {
  std::string base;  // empty: there is one program
  std::string fresh;

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

}  // namespace dlroof::supervise
