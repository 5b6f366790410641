// Writes a comparison for users (terminal, merge request) and for programs. To add a format, write
// and declare its function and add a row to the table in write_comparison.cpp.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::compare {

// Names of the compared files, and an option of the table.
struct ComparedFiles {
  std::string base, contender;
  bool all_rows = false;  // show unchanged rows of a large comparison, too
};

struct ComparisonWriter {
  std::string_view format;  // value of --format
  void (*write)(const CompareResult& result, const ComparedFiles& files, std::ostream& out);
};

// Returns all writers; the first is the default. The table is as wide as the terminal.
const std::vector<ComparisonWriter>& ComparisonWriters();

// Writes a summary, then the rows sorted by verdict (worst first), then reasons. `width`: [columns]
// of the terminal; 0: no limit.
void WriteTable(const CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out);

// Writes a comment for a merge request in GitLab's and GitHub's Markdown: a table of at most 100
// changed benchmarks, because comments are limited to 65,536 characters.
void WriteMarkdown(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Writes one JSON object: "benchmarks" has an object with "name" and "verdict" per benchmark; the
// other members describe how they were judged. Unknown values are omitted.
void WriteJson(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Writes JUnit XML for CI servers, one test case per benchmark: failure if slower, error if newly
// failed, skipped if not judged. Characters that XML 1.0 forbids are written as e.g. "\u0001".
void WriteJunit(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Returns the number of benchmarks per verdict, worst first, e.g. "3 slower, 1 faster, 70 same".
std::string CountsText(const std::map<statistics::Verdict, int>& count);
// If fewer than half of the smaller file's benchmarks are in both files, returns e.g. "only 1 of 40
// benchmarks is in both files (75 in BASE, 40 in NEW)", else "".
std::string FewSharedText(const CompareResult& result);
// Returns ", or a larger --budget, up to 40 blocks each" if an undecided benchmark has fewer blocks
// of an interleaved measurement, else "".
std::string BudgetAdvice(const CompareResult& result);
// Returns how much longer the wall time is than the CPU time if that is typically over 1.2 times
// (statistics::kMinWait), else "".
std::string WaitText(const CompareResult& result);
// Returns lines on how the runs were judged: minimum effect, noise, other differences.
std::vector<std::string> RemarksOf(const CompareResult& result);
// Returns the verdict's reason and the cause of the change; may be empty.
std::string NotesOf(const Comparison& row);

}  // namespace dlroof::compare
