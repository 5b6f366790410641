// Merges the run files of single processes into one. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/journal.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::supervise {

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
// are judged for disturbance together. The record has failed if a part has. `parts` is not empty.
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

}  // namespace dlroof::supervise
