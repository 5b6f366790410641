#include "baselines/compare/page_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dlroof::compare {
namespace {

TEST(MarkdownText, EscapesMarksButNotUnderscoresWithinWords) {
  EXPECT_EQ(MarkdownText("r3s3_p1 a|b"), "r3s3_p1 a&#124;b");
  EXPECT_EQ(MarkdownText("_x_ *y* a__b"), "&#95;x&#95; &#42;y&#42; a&#95;&#95;b");
  EXPECT_EQ(MarkdownText("<b>"), "&#60;b&#62;");
}

TEST(WriteMarkdownItem, BreaksLongLinesAtSpacesAndIndentsThem) {
  std::ostringstream out;
  WriteMarkdownItem("12.", std::string(100, 'a') + " bbb " + std::string(20, 'c') + " d", out);
  EXPECT_EQ(out.str(),
            "12. " + std::string(100, 'a') + " bbb\n    " + std::string(20, 'c') + " d\n");
}

TEST(WriteMarkdownItem, NeverBeginsALineWithAMark) {
  std::ostringstream out;
  WriteMarkdownItem("-", std::string(117, 'a') + " - b", out);
  EXPECT_EQ(out.str(), "- " + std::string(117, 'a') + " - b\n");
}

TEST(WriteMarkdownItem, AShortWordTakesTheOneBeforeItToTheNextLine) {
  std::ostringstream out;
  const std::string first(60, 'a'), second(57, 'b');
  WriteMarkdownItem("-", first + ' ' + second + " 2 x", out);
  EXPECT_EQ(out.str(), "- " + first + "\n  " + second + " 2 x\n");
}

}  // namespace
}  // namespace dlroof::compare
