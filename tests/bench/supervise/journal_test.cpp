#include "bench/supervise/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::supervise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JournalHeader Header() {
  JournalHeader header{.programs = {"old", "new"},
                       .builds = {"1", "2"},
                       .arguments = {"--benchmark_filter=\"x\n"},
                       .settings = {"random order"}};
  header.benchmarks = {{"a/n20", "a/n21"}};
  header.seed = 0xfedcba9876543210U;
  header.id = "0a";
  return header;
}

JournalEntry JournalEntryOfTwo() {
  JournalEntry entry{{"a/n20", "a/n21"}, 3, 1.5, {}};
  entry.outcomes.push_back({"signal 11", {}});
  entry.outcomes.push_back({"", {{"records", nlohmann::json::array()}}});
  return entry;
}

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { ParseJournal(text, "j"); });
}

TEST(Journal, GivesBackWhatWasWritten) {
  const auto text = JournalLine(Header()) +
                    JournalLine(nlohmann::json::array({{{"device", "cpu"}}})) +
                    JournalLine(JournalEntryOfTwo());
  const auto journal = ParseJournal(text, "j");
  EXPECT_EQ(journal.header, Header());
  EXPECT_EQ(journal.machines.at(0).at("device"), "cpu");
  EXPECT_THAT(journal.entries, ElementsAre(JournalEntryOfTwo()));
  EXPECT_EQ(journal.whole_bytes, text.size());
}

TEST(Journal, CutAnywhereKeepsItsWholeLines) {
  const auto header = JournalLine(Header()), entry = JournalLine(JournalEntryOfTwo());
  const auto text = header + entry + entry;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto journal = ParseJournal(text.substr(0, cut), "j");
    const bool has_header = cut >= header.size();
    const std::size_t entries = has_header ? (cut - header.size()) / entry.size() : 0;
    EXPECT_EQ(journal.header.has_value(), has_header) << cut;
    EXPECT_EQ(journal.entries.size(), entries) << cut;
    EXPECT_EQ(journal.whole_bytes, has_header ? header.size() + entries * entry.size() : 0) << cut;
  }
}

TEST(Journal, OthersFilesAreRefusedWithTheirLine) {
  EXPECT_THAT(Refusal("hello\n"), HasSubstr("j:1: not a line"));
  EXPECT_THAT(Refusal("{}\n"), HasSubstr("j:1: not the journal"));
  EXPECT_THAT(Refusal(JournalLine(Header()) + "{\n" + JournalLine(JournalEntryOfTwo())),
              HasSubstr("j:2: "));
  EXPECT_THAT(Refusal(R"({"dlroof_journal": 2, "seed": 1})"
                      "\n"),
              HasSubstr("newer dlroof (schema 2"));
  auto entry = JournalEntryOfTwo();
  entry.outcomes.pop_back();
  EXPECT_THAT(Refusal(JournalLine(Header()) + JournalLine(entry)), HasSubstr("one of each"));
}

TEST(Journal, WordsThatAreNoUtf8DoNotStopIt) {
  auto entry = JournalEntryOfTwo();
  entry.outcomes[0].failed = "\xff said";
  EXPECT_EQ(ParseJournal(JournalLine(Header()) + JournalLine(entry), "j").entries.size(), 1);
}

}  // namespace
}  // namespace dlroof::supervise
