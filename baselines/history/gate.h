// A gate for CI: which benchmarks may still be slower and should be measured again, and reports for
// merge requests (at most ten lines), GitHub annotations and terminals. Pure functions.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::history {

// Returns the benchmarks with verdict "slower", or for which the comparison cannot exclude a
// slowdown above the minimum effect. Omits those in `settled`. Sorted: most likely slower first.
std::vector<std::string> UnclearNames(const compare::CompareResult& result,
                                      const std::set<std::string>& settled);

// Replaces rows of `result` by the rows of `later`, a repeated comparison of some of its
// benchmarks, and recounts the verdicts. The replaced rows point into the runs of `later`, which
// must outlive `result`. Returns the names of the replaced rows: those with a judgement in `later`.
std::set<std::string> ReplaceRows(const compare::CompareResult& later,
                                  compare::CompareResult& result);

// Content of a gate's report.
struct Report {
  const compare::CompareResult* result = nullptr;  // never null
  std::string commit;                              // of the new run; may be empty
  std::string branch;                              // of the stored runs
  std::string newest_commit;                       // of the newest stored run; may be empty
  int runs = 0;                                    // [1] number of stored runs compared with
  int again = 0;                                   // [1] number of benchmarks measured again
  // Set if the new program was measured interleaved with this commit's stored program.
  std::optional<std::string> interleaved_with;
  int unclear = 0;  // [1] number of benchmarks for which a slowdown is still not excluded
};

inline constexpr int kMaxCommentLines = 10;

// Returns the comment for a merge request in Markdown, at most kMaxCommentLines lines.
std::string CommentOf(const Report& report);

// Returns workflow commands of GitHub Actions, one per line: an error for each of the ten worst
// benchmarks (GitHub shows ten), and a warning if some benchmarks are unclear.
std::string AnnotationsOf(const Report& report);

// Returns lines for a terminal: counts of verdicts, and each benchmark that got worse.
std::string SummaryOf(const Report& report);

}  // namespace dlroof::history
