#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"

namespace dlroof::record {
namespace {

using testing::ElementsAre;

TEST(Schema1, SentencesBecomeNotesAndKernels) {
  Record record;
  AddSentence("modelled: blocks of 64: 6 of 56", record);
  AddSentence("perf: the kernel sees no PMU", record);
  AddSentence(
      "measured: CUPTI on GV100, 2 passes; 7 kernel launches: 3 x gemm<float, 2>, 3d_copy, "
      "2 more; 40 % of DRAM's bytes are written",
      record);
  EXPECT_THAT(record.counting,
              ElementsAre(CountingNote{"", Provenance::kModelled, "blocks of 64: 6 of 56"},
                          CountingNote{"", {}, "perf: the kernel sees no PMU"},
                          testing::Field(&CountingNote::provenance, Provenance::kMeasured)));
  EXPECT_THAT(record.kernels,
              ElementsAre(LaunchedKernel{"gemm<float, 2>", 3}, LaunchedKernel{"3d_copy"}));
}

TEST(Schema1, LabelsBecomeMembers) {
  Record record;
  ReadSentences(
      "brgemm; isa avx2; verified: all 12; counted: modelled: a | perf: b; repro: --conv mb1",
      record);
  EXPECT_EQ(record.algorithm, "brgemm");
  EXPECT_EQ(record.isa, "avx2");
  EXPECT_EQ(record.verified, "all 12");
  EXPECT_THAT(record.counting, ElementsAre(CountingNote{"", Provenance::kModelled, "a"},
                                           CountingNote{"", {}, "perf: b"}));
  EXPECT_EQ(record.repro, "--conv mb1");
}

TEST(Schema1, AFileMayHaveRecordsOfBothSchemas) {
  std::ostringstream warnings;
  const auto run = ParseRunFile(
      R"({"context": {"dlroof": {"schema": 1}}, "records": [
          {"name": "a", "algorithm": "brgemm; isa avx2", "counting": ["modelled: x"]},
          {"name": "b", "algorithm": "brgemm", "isa": "avx2", "counting": [{"text": "x", "provenance": "modelled"}]}]})",
      "run.json", warnings);
  EXPECT_EQ(run.context["dlroof"]["schema"], kSchema);
  for (const auto& record : run.records) {
    EXPECT_EQ(AlgorithmText(record), "brgemm; isa avx2");
    EXPECT_EQ(record.algorithm, "brgemm");
    EXPECT_THAT(record.counting, ElementsAre(CountingNote{"", Provenance::kModelled, "x"}));
  }
}

}  // namespace
}  // namespace dlroof::record
