// A gate for CI: which stored runs a new run is compared with, on which benchmarks a slowdown is
// not excluded yet, and the short reports (a comment of at most ten lines, annotations of GitHub).
// Pure, but for reading the history.
#pragma once

#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/history/history.h"

namespace dlroof::history {

// Returns the runs that were stored as runs of `branch`. If there are none, the runs of the commits
// `reachable` (of a branch in Git's sense, full names).
std::vector<history::StoredRun> RunsOfBranch(const std::vector<history::StoredRun>& runs,
                                             const std::string& branch,
                                             const std::set<std::string>& reachable);

// The stored runs that a new run is compared with, oldest first.
struct Baseline {
  std::vector<compare::NamedRun> runs;
  std::vector<std::string> commits;  // of these runs
};

// Returns the last `most` of `runs` (oldest first) that can be compared with `contender`: same
// machine, conventions (but of FLOPs), and a benchmark in common. Writes a sentence for each of the
// others that it passes over to `warnings`.
Baseline ChooseBaseline(const history::History& history,
                        const std::vector<history::StoredRun>& runs, std::size_t most,
                        const compare::NamedRun& contender, std::ostream& warnings);

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
