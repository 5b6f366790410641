#include "reporters/terminal/trajectory_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/fakes/trajectory_points.h"

namespace dlroof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Table(const PlacedRun& run, std::string_view along) {
  std::ostringstream out;
  WriteTrajectories(Trajectories(run, along), out);
  return out.str();
}

TEST(WriteTrajectories, ARowPerPointThenTheSentence) {
  const auto text = Table(
      RunOf({kOne, With(Watched(Two(9), {.fork_join = 3}), &PointSpec::disturbed)}), "threads");
  EXPECT_THAT(text, HasSubstr("Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1\n"
                              "threads"));
  EXPECT_THAT(text, HasSubstr("FLOP/byte DRAM"));
  EXPECT_THAT(text, HasSubstr("\n1         12.0 s  8.33 FLOP/s"));
  EXPECT_THAT(text, HasSubstr("\n2        ~9.00 s"));
  EXPECT_THAT(text, HasSubstr("  ~1.33x            ~42 %      overhead grown +33\n"));
  EXPECT_THAT(text, HasSubstr("\n  ~2 threads are 1.33x as fast as 1 thread, 67 % of ideal: 33 "
                              "points are lost, 33 by "));
  EXPECT_THAT(text, HasSubstr(kDisturbedMeaning));
}

TEST(WriteTrajectories, AlongASizeHaveNoEfficiency) {
  const auto text = Table(RunOf({Batch(1, 10, 100, 20), Batch(4, 40, 400, 80)}), "batch");
  EXPECT_THAT(text, HasSubstr("\nbatch  threads"));
  EXPECT_THAT(text, HasSubstr("FLOP/s ratio"));
  EXPECT_THAT(text, Not(HasSubstr("log2")));
  EXPECT_THAT(text, Not(HasSubstr("~")));
}

}  // namespace
}  // namespace dlroof
