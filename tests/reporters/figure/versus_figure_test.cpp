#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/figure/cluster_figures.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::figure {
namespace {

using testing::HasSubstr;
using testing::Not;

roofline::PlacedRun OneRecord(double seconds, const std::string& machine, double speed) {
  auto run = fakes::RunOf("x", {fakes::Measured("n1", seconds)});
  run.file.machines = {fakes::SmallMachine("2020-01-01T00:00:00Z", speed)};
  run.file.machines[0].name = machine;
  return roofline::PlaceRun(std::move(run.file));
}

// 100 flop of 1 byte: 100 flop/byte; 100 / 4 s on A, 100 / 2 s on B.
TEST(VersusScript, HasTheRoofsOfBothAndAnArrowFromAToB) {
  const auto a = OneRecord(4, "slow", 1), b = OneRecord(2, "fast", 10);
  const auto script = VersusScript(MakeVersusFigure(a, b, {{0, 0}}), "svg");
  EXPECT_THAT(script, HasSubstr("$arrows0 << EOD\n100 25 0 25\nEOD"));
  EXPECT_THAT(script, HasSubstr("$from0 << EOD\n100 25 "));
  EXPECT_THAT(script, HasSubstr("$to0 << EOD\n100 50 "));
  for (const char* roof : {"$roof_a0", "$roof_a1", "$roof_b0", "$roof_b1"})
    EXPECT_THAT(script, HasSubstr(roof));
  EXPECT_THAT(script, HasSubstr("'A: fp32.vector  100 FLOP/s'"));
  EXPECT_THAT(script, HasSubstr("'B: fp32.vector  1.00 kFLOP/s'"));
  EXPECT_THAT(script, HasSubstr("Conv2D f32"));
  EXPECT_THAT(script, HasSubstr("slow"));
  EXPECT_THAT(script, HasSubstr("known on both sides of 1 of 1 operators"));
}

TEST(VersusScript, TextOfTheFilesNeverBecomesACommand) {
  auto a = OneRecord(4, "'; system('touch owned'); '", 1);
  const auto b = OneRecord(2, "\nEOD\n`touch owned`", 1);
  a.file.records[0].library = "'; system('touch owned'); '";
  const auto script = VersusScript(MakeVersusFigure(a, b, {{0, 0}}), "svg");
  EXPECT_THAT(script, Not(HasSubstr("system('touch")));
  EXPECT_THAT(script, Not(HasSubstr("`touch")));
}

TEST(MakeVersusFigure, WithoutBytesThereIsNothingToDraw) {
  auto run = fakes::RunOf("x", {fakes::Measured("n1", 2)});
  run.file.records[0].work[Provenance::kModelled].bytes.clear();
  const auto a = roofline::PlaceRun(std::move(run.file));
  EXPECT_THAT(fakes::RefusalOf([&] {
                MakeVersusFigure(a, a, {{0, 0}});
              }),
              HasSubstr("no operator has FLOPs, bytes and ceilings on both sides"));
}

}  // namespace
}  // namespace dlroof::figure
