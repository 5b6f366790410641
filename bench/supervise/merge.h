// One run file out of many: each benchmark was run by its own process, or by several. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/journal.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof {

// Repetitions that each process of an interleaved comparison makes alone before the turns begin:
// they are no part of the result.
inline constexpr std::size_t kAloneRepetitions = 2;

// A part of one benchmark's result.
struct Part {
  std::optional<int> block;
  std::string failed;         // why there is nothing else
  nlohmann::json context;     // of the run file that it came from
  nlohmann::json benchmarks;  // Google Benchmark's entries
  Record record;
};

// `listed` is the name as the program lists it. Without a record of that name the part failed.
Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block);

// Everything known of one benchmark; in blocks, their windows follow each other, marked by their
// block, and are looked at for disturbance together. Failed when a part is. `parts` is not empty.
Record RecordOf(const std::string& listed, const std::vector<Part>& parts);

// A benchmark that was run, in the order of the file.
struct Supervised {
  std::string listed;
  std::vector<Part> parts;
};

struct Merged {
  PlacedRun run;
  nlohmann::json benchmarks;  // Google Benchmark's entries
};

// Merges what the processes left, as one process would have written it: `machines` (an array, or
// null), the context of the first that has one, with `about` merged into its "dlroof".
Merged MergedRun(const std::vector<Supervised>& supervised, const nlohmann::json& machines,
                 const nlohmann::json& about);

// Returns the run file.
nlohmann::json ToJson(const Merged& merged);

}  // namespace dlroof
