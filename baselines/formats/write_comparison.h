// A comparison as text for people (terminal, merge request) and for machines.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof {

// What the compared files are called.
struct ComparedFiles {
  std::string base, fresh;
};

// What needs attention first, with reasons beneath; rows that moved with the whole run are one
// line. `width` [columns] of the terminal, 0 is no limit.
void WriteTable(const CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out);

// A comment for a merge request in GitLab's and GitHub's Markdown: all but the unchanged in a
// table, of which at most 100 rows (a comment holds 65,536 characters).
void WriteMarkdown(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// One JSON object: "benchmarks" has an object with "name" and "verdict" for each, the rest says how
// they were judged. Unknown is absent.
void WriteJson(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// JUnit XML as CI servers read it: a test case per benchmark; slower and alerts are failures,
// newly failed is an error, what was not judged is skipped. Characters that XML 1.0 cannot hold are
// written as "\u0001".
void WriteJunit(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// SARIF 2.1.0 (OASIS): a result per benchmark that got worse, located at NEW's file and by name.
void WriteSarif(const CompareResult& result, const ComparedFiles& files, std::ostream& out);

// "3 slower, 1 faster, 70 same": verdicts that occur, the worst first.
std::string CountsText(const CompareResult& result);
// "only 1 of 40 benchmarks is in both files (75 in BASE, 40 in NEW)", where it is less than half of
// the smaller file: perhaps two files of different things; else empty.
std::string FewSharedText(const CompareResult& result);
// How it was judged, one line each: minimum effect and noise, what else differs between the runs,
// and what moved the whole run, of several stored runs for each; and what has no partner in them.
std::vector<std::string> RemarksOf(const CompareResult& result);
// Everything to be said of one benchmark beside its numbers: reason, cause, alerts; may be empty.
std::string NotesOf(const Comparison& row);
// "1.050 (1.040 to 1.061), effect +0.98": ratio, 95 % interval and effect size; empty where it was
// not judged.
std::string RatioText(const Comparison& row);
// Whether it is a reason to fail: slower, newly failed or alerted.
bool GotWorse(const Comparison& row);

}  // namespace dlroof
