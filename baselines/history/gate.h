// A gate for CI: on which benchmarks a slowdown is not excluded yet, and the short reports (a
// comment of at most ten lines, annotations of GitHub). Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::history {

// Returns the names of the benchmarks on which the comparison cannot exclude a slowdown of more
// than the minimum effect, and of those that it calls slower, but for the names in `settled`: the
// most suspicious first.
std::vector<std::string> UnclearNames(const compare::CompareResult& result,
                                      const std::set<std::string>& settled);

// Replaces the rows of `result` by those of `later`, a comparison of some of its benchmarks, and
// counts the verdicts anew. `later` keeps its runs, into which the rows then point. Returns the
// names of the rows with a verdict in `later`.
std::set<std::string> ReplaceRows(const compare::CompareResult& later,
                                  compare::CompareResult& result);

// What a gate says.
struct Report {
  const compare::CompareResult* result = nullptr;  // never null
  std::string commit;                              // of the new run; may be empty
  std::string branch;                              // of the stored runs
  std::string newest_commit;                       // of the newest stored run; may be empty
  int runs = 0;                                    // [1] stored runs
  int again = 0;                                   // [1] benchmarks that were measured again
  // The commit whose stored program was measured interleaved with the new one, if there was one.
  std::optional<std::string> interleaved_with;
  int unclear = 0;  // [1] benchmarks on which a slowdown is still not excluded
};

inline constexpr int kMaxCommentLines = 10;

// Returns the comment for a merge request in Markdown, at most kMaxCommentLines lines.
std::string CommentOf(const Report& report);

// Returns workflow commands of GitHub Actions, a line each: an error for each of the first ten
// benchmarks that got worse (GitHub shows ten), and a warning if some are unclear.
std::string AnnotationsOf(const Report& report);

// Returns lines for a terminal: the counts, and each benchmark that got worse.
std::string SummaryOf(const Report& report);

}  // namespace dlroof::history
