// The journal of a supervised run: what was asked for and every result, a line of JSON each, so
// that a run that is killed can go on. Pure; journal_file.h writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dlroof {

// What is run: the same benchmark of one program, or of BASE's and of NEW's. Names as the programs
// list them.
struct ListedPair {
  std::string base;  // empty where there is one program only
  std::string fresh;
};

// The first line.
struct JournalHeader {
  std::vector<std::string> programs;   // one, or BASE's and NEW's
  std::vector<std::string> builds;     // of each program: what tells that it was built anew
  std::vector<std::string> arguments;  // that they are given
  std::vector<std::string> settings;   // everything else that results depend on, as text
  std::vector<ListedPair> benchmarks;  // in the order of the file that is to be
  std::uint64_t seed = 0;              // of the order in which they run
  std::string id;                      // of this run
};

// What one process left of one benchmark.
struct Outcome {
  std::string failed;     // why there is no result; empty: there is one
  nlohmann::json result;  // its run file without machines
};

// A line for what was done: one benchmark, or one block of it.
struct JournalEntry {
  ListedPair benchmark;
  int block = 0;                  // [1] from 0
  double seconds = 0;             // [s] that it took
  std::vector<Outcome> outcomes;  // one, or BASE's and NEW's
};

// Each ends with a newline.
std::string JournalLine(const JournalHeader& header);
std::string JournalLine(const nlohmann::json& machines);
std::string JournalLine(const JournalEntry& entry);

struct Journal {
  std::optional<JournalHeader> header;  // absent: killed before anything was written
  nlohmann::json machines;              // of the run file; null: none was written
  std::vector<JournalEntry> entries;
  std::size_t whole_bytes = 0;  // of whole lines; what follows was cut off by a kill
};

// `where` begins every message. Throws BadInput: a line that is not a journal's, other than the
// last one without its end; a newer version.
Journal ParseJournal(const std::string& text, const std::string& where);

}  // namespace dlroof
