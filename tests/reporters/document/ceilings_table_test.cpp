// tests/data/run_ceilings.json has some ceilings of
// baselines/stored/cascade-lake-2c/2026-11-21-conv2d.json; its rates, validations, mixes, curves
// and overheads are written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ceilings/machine/machine.h"
#include "reporters/document/tables.h"
#include "reporters/text/text.h"
#include "tests/fakes/placed_files.h"

namespace dlroof::document {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string Table(const roofline::PlacedRun& run, int width) {
  std::ostringstream out;
  Write(CeilingsDocument(run.file.machines), width, out);
  return out.str();
}

// Returns the first line that begins with `start`, or an empty text.
std::string LineOf(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start)) return line;
  return "";
}

std::size_t At(const std::string& text, const std::string& part) { return text.find(part); }

TEST(CeilingsDocument, ShowsEveryColumnInAWideTerminal) {
  EXPECT_EQ(
      LineOf(Table(fakes::CeilingsRun(), 120), "  fp32.vector"),
      "  fp32.vector          305 GFLOP/s  280 GFLOP/s  2.40 GHz  63.8 of 64  0.400 %     1.00");
}

TEST(CeilingsDocument, OnlyACeilingWithoutValidationHasAReason) {
  const auto table = Table(fakes::CeilingsRun(), 0);
  EXPECT_THAT(LineOf(table, "    avx2"), EndsWith("0.95"));
  EXPECT_THAT(LineOf(table, "  int8.vector"),
              EndsWith("  twice the work took 2.31 times the time, allowed is 2 within 2.0 %"));
}

TEST(CeilingsDocument, PipesAreSortedHighestFirstEachBeforeItsFinerRows) {
  const auto table = Table(fakes::CeilingsRun(), 0);
  EXPECT_LT(At(table, "\n  int8.vector "), At(table, "\n    avx512_vnni "));
  EXPECT_LT(At(table, "\n    avx512_vnni "), At(table, "\n  fp32.vector "));
  EXPECT_LT(At(table, "\n  fp32.vector "), At(table, "\n    avx512 "));
  EXPECT_LT(At(table, "\n    avx512 "), At(table, "\n    avx2 "));
}

TEST(CeilingsDocument, AFinerRowWithoutAPlainOneHasItsFullName) {
  auto run = fakes::CeilingsRun();
  fakes::TwoThreadsOf(run).flops.erase("fp32.vector");
  EXPECT_THAT(Table(run, 0), HasSubstr("\n  fp32.vector.avx2 "));
}

TEST(CeilingsDocument, ALevelNamesTheMixThatSetItsRoof) {
  const auto table = Table(fakes::CeilingsRun(), 0);
  EXPECT_THAT(table, HasSubstr("\n  DRAM update.avx512  "));
  EXPECT_THAT(table, HasSubstr("\n  L1   load.avx512  "));
}

TEST(CeilingsDocument, NoLineIsWiderThanTheTerminal) {
  auto run = fakes::CeilingsRun();
  auto& reasons = fakes::TwoThreadsOf(run).flops.at("int8.vector").reasons;
  reasons.at(0) = "µ" + reasons.at(0) + std::string(300, 'x');
  for (const int width : {80, 100, 120, 200}) {
    std::istringstream lines(Table(run, width));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(text::TextWidth(line), width) << line;
  }
}

TEST(CeilingsDocument, ASpecifiedRateIsNeitherValidatedNorMeasured) {
  auto run = fakes::CeilingsRun();
  fakes::TwoThreadsOf(run).flops.at("fp32.vector") = {
      .per_second = 1e12, .how = "data sheet", .status = machine::CeilingStatus::kSpecified};
  EXPECT_THAT(LineOf(Table(run, 0), "  fp32.vector"),
              testing::EndsWith("specified, not measured here: data sheet"));
}

TEST(CeilingsDocument, IsOneTableWithoutVariantsUnlessAllIsAskedFor) {
  std::ostringstream out;
  Write(CeilingsDocument(fakes::CeilingsRun().file.machines, false), 0, out);
  EXPECT_THAT(out.str(), HasSubstr("with 2 threads\n"));
  for (const char* more : {"with 1 thread", "avx2", "the curve falls"})
    EXPECT_THAT(out.str(), Not(HasSubstr(more)));
}

TEST(CeilingsDocument, OverheadsAndFindingsOfTheSweepFollow) {
  const auto table = Table(fakes::CeilingsRun(), 0);
  EXPECT_THAT(LineOf(table, "  fork-join"), EndsWith(" 1.10 µs"));
  EXPECT_THAT(LineOf(table, "  timer"), EndsWith(" 26.0 ns"));
  const auto one = table.substr(At(table, "with 1 thread\n"));
  EXPECT_THAT(table, HasSubstr("\n  L3: the curve falls at 16.5 MiB, from 48 to 24 GB/s;"));
  EXPECT_THAT(one, HasSubstr("\n  L1: the curve falls at 33.4 KiB, from 340 to 116 GB/s;"));
  EXPECT_THAT(one, Not(HasSubstr("from 680")));
  EXPECT_THAT(one, HasSubstr("\n  launch: not measured: in each repetition a thread waited"));
}

TEST(CeilingsDocument, AnUnknownQuantityIsAbsent) {
  auto run = fakes::CeilingsRun();
  auto& set = fakes::TwoThreadsOf(run);
  set = {};
  set.flops["fp32.vector"] = {.per_second = 1e9, .status = machine::CeilingStatus::kValidated};
  set.bytes[Level::kL1] = {.per_second = 1e9, .status = machine::CeilingStatus::kValidated};
  set.edges = {{"", {.text = "x"}}};
  set.absent = {{"", "x"}};
  const auto table = Table(run, 0);
  EXPECT_THAT(table, HasSubstr("                       rate\n  fp32.vector  1.00 GFLOP/s\n  L1"));
  EXPECT_THAT(table, HasSubstr("  L1              1.00 GB/s\n\nceilings of"));
}

}  // namespace
}  // namespace dlroof::document
