// The journal of a supervised run: the request and every result, one line of JSON each. A killed
// run resumes from it. Pure; journal_file.h writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dlroof {

// One benchmark, of one program or of BASE's and NEW's. Names as the programs list them.
struct ListedPair {
  std::string base;  // empty: there is one program
  std::string fresh;
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
};

// The result of one process for one benchmark.
struct Outcome {
  std::string failed;     // reason of a failure; empty: there is a result
  nlohmann::json result;  // its run file without machines
};

// A finished benchmark, or one block of it.
struct JournalEntry {
  ListedPair benchmark;
  int block = 0;                  // [1] from 0
  double seconds = 0;             // [s] duration
  std::vector<Outcome> outcomes;  // one, or BASE's and NEW's
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

}  // namespace dlroof
