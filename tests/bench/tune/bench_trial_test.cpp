#include "bench/tune/bench_trial.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

Ledger LedgerOf(PartKind largest) {
  return {{{PartKind::kRoof, 5, Provenance::kModelled, ""},
           {largest, 3, Provenance::kMeasured, ""},
           {PartKind::kCall, 1, Provenance::kMeasured, ""}},
          9,
          1,
          std::nullopt};
}

TEST(ProposalOf, IsOneThreadWhereThreadsCostTheMost) {
  for (const auto kind : {PartKind::kForkJoin, PartKind::kImbalance, PartKind::kSerial,
                          PartKind::kSharing, PartKind::kStolen}) {
    const auto proposal = ProposalOf(LedgerOf(kind), 2);
    ASSERT_TRUE(proposal) << Key(kind);
    EXPECT_EQ(proposal->setting, (Setting{{"threads", "1"}}));
  }
}

TEST(ProposalOf, IsAbsentWhereNoSettingHelps) {
  EXPECT_FALSE(ProposalOf(LedgerOf(PartKind::kForkJoin), 1));
  for (const auto kind : {PartKind::kFunctions, PartKind::kProducts, PartKind::kLevels,
                          PartKind::kUnexplained, PartKind::kCall})
    EXPECT_FALSE(ProposalOf(LedgerOf(kind), 2)) << Key(kind);
}

}  // namespace
}  // namespace dlroof
