// Writes a comparison for people (terminal, merge request) and for programs. To add a format, write
// its function, declare it here and add its row to the table in write_comparison.cpp.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::compare {

// Names of the compared files.
struct ComparedFiles {
  std::string base, contender;
  bool all_rows = false;  // also of a large comparison the rows that did not change
};

struct ComparisonWriter {
  std::string_view format;  // as --format spells it
  void (*write)(const CompareResult& result, const ComparedFiles& files, std::ostream& out);
};

// Returns all writers; the first is the default. The table is as wide as the terminal.
const std::vector<ComparisonWriter>& ComparisonWriters();

// Writes the summary, then the rows that need attention first, with reasons below them. `width`
// [columns] of the terminal; 0 means no limit.
void WriteTable(const CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out);

// Writes a comment for a merge request in GitLab's and GitHub's Markdown: a table of at most 100
// benchmarks that changed (a comment is limited to 65,536 characters).
void WriteMarkdown(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Writes one JSON object: "benchmarks" has an object with "name" and "verdict" for each; the other
// members describe how they were judged. Unknown values have no key.
void WriteJson(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Writes JUnit XML as CI servers read it: a test case per benchmark. A slower benchmark is a
// failure, a newly failed one an error, one that was not judged is skipped. Characters that XML 1.0
// does not allow are written as "\u0001".
void WriteJunit(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Returns the number of benchmarks by verdict, the worst first: "3 slower, 1 faster, 70 same".
std::string CountsText(const CompareResult& result);
// Returns "only 1 of 40 benchmarks is in both files (75 in BASE, 40 in NEW)" if fewer than half of
// the smaller file's benchmarks are in both, else "".
std::string FewSharedText(const CompareResult& result);
// Returns lines on how the runs were judged: minimum effect, noise, other differences between the
// runs.
std::vector<std::string> RemarksOf(const CompareResult& result);
// Returns the reason and cause of one benchmark; may be empty.
std::string NotesOf(const Comparison& row);

}  // namespace dlroof::compare
