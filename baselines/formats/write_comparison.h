// A comparison as text for people (terminal, merge request) and for machines. A new format is a
// file write_NAME.cpp, its declaration here and its row in the table of write_comparison.cpp.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::formats {

// Names of the compared files.
struct ComparedFiles {
  std::string base, contender;
};

struct ComparisonWriter {
  std::string_view format;  // as --format spells it
  void (*write)(const compare::CompareResult& result, const ComparedFiles& files,
                std::ostream& out);
};

// Returns the default format first. The table is as wide as the terminal.
const std::vector<ComparisonWriter>& ComparisonWriters();

// Writes the rows that need attention first, with reasons beneath. Rows that moved with the whole
// run share a line. `width` [columns] of the terminal; 0: no limit.
void WriteTable(const compare::CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out);

// A comment for a merge request in GitLab's and GitHub's Markdown: all but the unchanged in a
// table, of which at most 100 rows (a comment holds 65,536 characters).
void WriteMarkdown(const compare::CompareResult& result, const ComparedFiles& files,
                   std::ostream& out);

// One JSON object: "benchmarks" has an object with "name" and "verdict" for each, the rest says how
// they were judged. Unknown is absent.
void WriteJson(const compare::CompareResult& result, const ComparedFiles& files, std::ostream& out);

// JUnit XML as CI servers read it: a test case per benchmark; slower and alerts are failures,
// newly failed is an error, what was not judged is skipped. Characters that XML 1.0 cannot hold are
// written as "\u0001".
void WriteJunit(const compare::CompareResult& result, const ComparedFiles& files,
                std::ostream& out);

// SARIF 2.1.0 (OASIS): a result per benchmark that got worse, located at NEW's file and by name.
void WriteSarif(const compare::CompareResult& result, const ComparedFiles& files,
                std::ostream& out);

// "3 slower, 1 faster, 70 same": verdicts that occur, the worst first.
std::string CountsText(const compare::CompareResult& result);
// "only 1 of 40 benchmarks is in both files (75 in BASE, 40 in NEW)", where it is less than half of
// the smaller file: perhaps two files of different things; else empty.
std::string FewSharedText(const compare::CompareResult& result);
// Returns lines on how it was judged: minimum effect, noise, other differences between the runs,
// and the cause that moved the whole run. Several stored runs have lines each. One line counts the
// benchmarks without a stored partner.
std::vector<std::string> RemarksOf(const compare::CompareResult& result);
// Returns the reason, cause and alerts of one benchmark; may be empty.
std::string NotesOf(const compare::Comparison& row);
// "1.050 (1.040 to 1.061), effect +0.98": ratio, 95 % interval and effect size; empty where it was
// not judged.
std::string RatioText(const compare::Comparison& row);
// Returns whether it is a reason to fail: slower, newly failed or alerted.
bool GotWorse(const compare::Comparison& row);

}  // namespace dlroof::formats
