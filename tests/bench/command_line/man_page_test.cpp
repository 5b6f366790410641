#include "bench/command_line/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::command_line {
namespace {

using testing::HasSubstr;

TEST(ReadManualText, HasSectionsTermsAndParagraphs) {
  const auto sections = ReadManualText(
      "DESCRIPTION\n  First line,\n  second line.\n\n  Next paragraph.\n\nEXIT STATUS\n0\n  "
      "Good.\n2\n"
      "  Bad.\n",
      "x.txt");
  ASSERT_EQ(sections.size(), 2);
  EXPECT_EQ(sections[0].title, "DESCRIPTION");
  ASSERT_EQ(sections[0].entries.size(), 1);
  EXPECT_EQ(sections[0].entries[0].term, "");
  EXPECT_THAT(sections[0].entries[0].paragraphs,
              testing::ElementsAre("First line, second line.", "Next paragraph."));
  ASSERT_EQ(sections[1].entries.size(), 2);
  EXPECT_EQ(sections[1].entries[1].term, "2");
  EXPECT_THAT(sections[1].entries[1].paragraphs, testing::ElementsAre("Bad."));
}

TEST(ReadManualText, RefusesTextBeforeTheFirstSection) {
  EXPECT_THROW(ReadManualText("some text\n", "x.txt"), BadInput);
}

// A command with whatever roff would take for its own.
Command Hostile() {
  return {.path = {"dlroof", "try"},
          .about = "'tis a `test` of a\\b",
          .arguments = {{.names = {"-o", "--out-put"},
                         .type = "FILE",
                         .choices = {"a", "b"},
                         .limits = "INT in [1 - 8]",
                         .help = ".5 s or a~b^c; as well-known as --flag-x"},
                        {.names = {"FILES"},
                         .type = "FILE",
                         .help = "files",
                         .positional = true,
                         .required = true,
                         .many = true}}};
}

std::string PageOfHostile() {
  const auto command = Hostile();
  return WriteManPage({.command = command,
                       .sections = ReadManualText("EXAMPLES\ndlroof try -o x\n  Tries.\n", "x"),
                       .see_also = {"dlroof", "dlroof_bench"}},
                      {.version = "1.2.3", .date = "2026-01-02"});
}

TEST(WriteManPage, HasTheSectionsOfAManualPage) {
  const auto page = PageOfHostile();
  EXPECT_THAT(page, testing::StartsWith(".TH DLROOF\\-TRY 1 2026-01-02 \"dlroof 1.2.3\""));
  EXPECT_THAT(page,
              HasSubstr(".SH SYNOPSIS\n\\fBdlroof try\\fR [\\fIOPTION\\fR...] \\fIFILES\\fR...\n"));
  EXPECT_THAT(page,
              HasSubstr(".SH OPTIONS\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-out\\-put\\fR \\fIFILE\\fR\n"));
  EXPECT_THAT(page, HasSubstr("One of: a, b. Range: [1 - 8]."));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n.TP\n\\fBdlroof try \\-o x\\fR\nTries.\n"));
  EXPECT_THAT(page, HasSubstr(".SH SEE ALSO\n\\fBdlroof\\fR(1),\n\\fBdlroof_bench\\fR(1)\n"));
}

// A line that begins with a point or an apostrophe would be a request, and vanish; a hyphen of a
// flag that is not a minus sign could not be pasted into a shell.
TEST(WriteManPage, EscapesWhatRoffWouldInterpret) {
  const auto page = PageOfHostile();
  EXPECT_THAT(page, HasSubstr("\\- \\&\\(aqtis a \\(gatest\\(ga of a\\eb\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.5 s or a\\(tib\\(hac; as well-known as \\-\\-flag\\-x.\n"));
}

TEST(WriteManPage, AFlagsValueMayFollowAnEqualsSign) {
  auto command = Hostile();
  command.equals_sign = true;
  EXPECT_THAT(WriteManPage({.command = command, .sections = {}, .see_also = {}}, {}),
              HasSubstr("\\fB\\-\\-out\\-put\\fR=\\fIFILE\\fR\n"));
}

}  // namespace
}  // namespace dlroof::command_line
