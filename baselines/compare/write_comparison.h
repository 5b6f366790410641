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
  void (*write)(const compare::CompareResult& result, const ComparedFiles& files,
                std::ostream& out);
};

// Returns all writers; the first is the default. The table is as wide as the terminal.
const std::vector<ComparisonWriter>& ComparisonWriters();

// Writes the summary, then the rows that need attention first, with reasons below them. `width`
// [columns] of the terminal; 0 means no limit.
void WriteTable(const compare::CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out);

// Writes a comment for a merge request in GitLab's and GitHub's Markdown: a table of at most 100
// benchmarks that changed (a comment is limited to 65,536 characters).
void WriteMarkdown(const compare::CompareResult& result, const ComparedFiles& files,
                   std::ostream& out);

// Writes one JSON object: "benchmarks" has an object with "name" and "verdict" for each; the other
// members describe how they were judged. Unknown values have no key.
void WriteJson(const compare::CompareResult& result, const ComparedFiles& files, std::ostream& out);

// Writes JUnit XML as CI servers read it: a test case per benchmark. A slower benchmark or one with
// alerts is a failure, a newly failed one an error, one that was not judged is skipped. Characters
// that XML 1.0 does not allow are written as "\u0001".
void WriteJunit(const compare::CompareResult& result, const ComparedFiles& files,
                std::ostream& out);

// Returns the number of benchmarks by verdict, the worst first: "3 slower, 1 faster, 70 same".
std::string CountsText(const compare::CompareResult& result);
// Returns "only 1 of 40 benchmarks is in both files (75 in BASE, 40 in NEW)" if fewer than half of
// the smaller file's benchmarks are in both, else "".
std::string FewSharedText(const compare::CompareResult& result);
// Returns lines on how the runs were judged: minimum effect, noise, other differences between the
// runs. Each of several stored runs has its own lines, also with its common shift. One line counts
// the benchmarks without a stored result.
std::vector<std::string> RemarksOf(const compare::CompareResult& result);
// Returns the reason, cause and alerts of one benchmark; may be empty.
std::string NotesOf(const compare::Comparison& row);
// Returns the ratio and its 95 % interval, "1.050 (1.040 to 1.061)", or "" if the benchmark was not
// judged.
std::string RatioText(const compare::Comparison& row);
// Returns whether the benchmark fails the comparison: slower, newly failed or alerted.
bool GotWorse(const compare::Comparison& row);

}  // namespace dlroof::compare
