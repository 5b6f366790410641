#include "bench/tune/bench_trial.h"

#include <gtest/gtest.h>

namespace dlroof::tune {
namespace {

breakdown::Ledger LedgerOf(breakdown::PartKind largest) {
  return {{{breakdown::PartKind::kRoof, 5, Provenance::kModelled, ""},
           {largest, 3, Provenance::kMeasured, ""},
           {breakdown::PartKind::kCall, 1, Provenance::kMeasured, ""}},
          9,
          1,
          std::nullopt};
}

TEST(ProposalOf, IsOneThreadWhereThreadsCostTheMost) {
  for (const auto kind : {breakdown::PartKind::kForkJoin, breakdown::PartKind::kImbalance, breakdown::PartKind::kSerial,
                          breakdown::PartKind::kSharing, breakdown::PartKind::kStolen}) {
    const auto proposal = ProposalOf(LedgerOf(kind), 2);
    ASSERT_TRUE(proposal) << breakdown::Key(kind);
    EXPECT_EQ(proposal->setting, (tuning::Setting{{"threads", "1"}}));
  }
}

TEST(ProposalOf, IsAbsentWhereNoSettingHelps) {
  EXPECT_FALSE(ProposalOf(LedgerOf(breakdown::PartKind::kForkJoin), 1));
  for (const auto kind : {breakdown::PartKind::kFunctions, breakdown::PartKind::kProducts, breakdown::PartKind::kLevels,
                          breakdown::PartKind::kUnexplained, breakdown::PartKind::kCall})
    EXPECT_FALSE(ProposalOf(LedgerOf(kind), 2)) << breakdown::Key(kind);
}

}  // namespace
}  // namespace dlroof::tune
