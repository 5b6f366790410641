#include "reporters/figure/ledger_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::figure {
namespace {

using testing::HasSubstr;

roofline::PlacedRun OneRecord() {
  roofline::PlacedRun run;
  run.file.records.push_back({.name = "LSTM/cpu/onednn/fwd'`/f32/t1"});
  roofline::Placed placed;
  placed.timing = record::Timing{.median = 10, .disturbed = true};
  placed.ledger = breakdown::Ledger{{{breakdown::PartKind::kRoof, 4, Provenance::kModelled, "arithmetic"},
                          {breakdown::PartKind::kForkJoin, 6, Provenance::kMeasured, ""}},
                         10,
                         3,
                         std::nullopt};
  run.places.push_back(placed);
  return run;
}

TEST(LedgerFigure, HasABarPerPartWhereTheOneBeforeEnds) {
  const auto script = LedgerScript(OneRecord(), "svg");
  EXPECT_THAT(script, HasSubstr("$bars0 << END\n0 40 1\nEND\n$bars1 << END\n40 100 2\nEND\n"));
  EXPECT_THAT(script, HasSubstr("$bars0 using 1:3:1:2:($3-0.4):($3+0.4) with boxxyerror lc rgb "
                                "'#2c7a4b'"));
  EXPECT_THAT(script, HasSubstr("6.00 s 60.0 %  fork and join of parallel regions (measured)"));
  EXPECT_THAT(script, HasSubstr("~10.0 s"));
}

TEST(LedgerFigure, TextOfTheFileIsNeverACommand) {
  const auto script = LedgerScript(OneRecord(), "svg");
  EXPECT_THAT(script, HasSubstr("'LSTM/cpu/onednn/fwd__/f32/t1"));
  EXPECT_EQ(script.find('`'), std::string::npos);
}

TEST(LedgerFigure, WithoutALedgerOrWithAnotherExtensionIsRefused) {
  auto run = OneRecord();
  EXPECT_THROW(WriteLedgerFigure(run, "x.gif"), BadInput);
  run.places[0].ledger.reset();
  EXPECT_THROW(LedgerScript(run, "svg"), BadInput);
}

}  // namespace
}  // namespace dlroof::figure
