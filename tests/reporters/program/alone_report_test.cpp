#include "reporters/program/alone_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace dlroof {
namespace {

using testing::HasSubstr;
using testing::Not;

// 1 ms alone with an interval of 0.1 %.
ProgramPrimitive Replayed(double program_seconds, std::optional<double> cold_seconds,
                          const std::string& implementation = "jit:avx2") {
  ProgramPrimitive primitive{.record = "Conv2D/a"};
  primitive.text.kind = "convolution";
  primitive.text.implementation = "jit:avx2";
  primitive.seconds = 10 * program_seconds;
  const double ratio = program_seconds / 1e-3;
  primitive.alone = AloneTime{.seconds = 1e-3,
                              .ci95 = {{0.9995e-3, 1.0005e-3}},
                              .cold_seconds = cold_seconds,
                              .program_seconds = program_seconds,
                              .ratio = ratio,
                              .ratio_ci95 = {{0.999 * ratio, 1.001 * ratio}},
                              .implementation = implementation};
  return primitive;
}

TEST(WhyOf, SaysAsMuchAsTheTimesTell) {
  EXPECT_EQ(WhyOf(Replayed(1.04e-3, 2e-3)), "as fast as alone");
  EXPECT_THAT(WhyOf(Replayed(2e-3, 1.95e-3)), HasSubstr("cold caches may explain it"));
  // 0.5 of 1 ms
  EXPECT_THAT(WhyOf(Replayed(2e-3, 1.5e-3)), HasSubstr("at most 50 % of the difference"));
  EXPECT_THAT(WhyOf(Replayed(2e-3, 1.1e-3)), HasSubstr("cold caches do not explain it"));
  EXPECT_THAT(WhyOf(Replayed(2e-3, std::nullopt)), HasSubstr("cold caches, other threads"));
  EXPECT_THAT(WhyOf(Replayed(0.5e-3, 2e-3)), HasSubstr("faster in the program"));
  EXPECT_THAT(WhyOf(Replayed(2e-3, 2e-3, "ref")),
              HasSubstr("another implementation: jit:avx2 in the program, ref alone"));
}

TEST(WhyOf, AWideIntervalProvesNothing) {
  auto primitive = Replayed(2e-3, 2e-3);
  primitive.alone->ratio_ci95 = {{0.8, 5}};
  EXPECT_THAT(WhyOf(primitive), HasSubstr("no difference is proved"));
}

ProgramSummary OneOfEach() {
  ProgramSummary summary;
  summary.primitives = {Replayed(1e-3, 2e-3), Replayed(3e-3, 3e-3), ProgramPrimitive{}};
  summary.primitives[1].record = "Conv2D/b";
  summary.primitives[2].text.kind = "reorder";
  summary.primitives[2].seconds = 1;
  summary.primitives[2].not_alone = "dlroof has no benchmark of this call";
  summary.alone_version = "3.2.0";
  return summary;
}

TEST(WriteAlone, TheLongestIsFirstAndTheOthersHaveAReason) {
  std::ostringstream out;
  WriteAlone(OneOfEach(), 0, out);
  const auto text = out.str();
  EXPECT_LT(text.find("Conv2D/b"), text.find("Conv2D/a")) << text;
  EXPECT_THAT(text, HasSubstr("one call, alone by oneDNN 3.2.0"));
  EXPECT_THAT(text, HasSubstr("3.00x (3.00 to 3.00)"));
  EXPECT_THAT(text,
              HasSubstr("not replayed: 1 (1.00 s) reorder: dlroof has no benchmark of this call"));
  EXPECT_THAT(text, Not(HasSubstr("~")));
}

TEST(WriteAlone, WithoutAReplayThereIsNothing) {
  ProgramSummary summary;
  summary.primitives = {ProgramPrimitive{}};
  std::ostringstream out;
  WriteAlone(summary, 0, out);
  EXPECT_EQ(out.str(), "");
}

TEST(ProgramOf, ReadsAReplayAgain) {
  auto summary = OneOfEach();
  summary.primitives[0].alone->disturbed = true;
  summary.primitives[1].alone->ratio_ci95.reset();
  const nlohmann::json context = {{"dlroof", {{"program", ToJson(summary)}}}};
  const auto again = ProgramOf(context);
  EXPECT_EQ(ToJson(*again), ToJson(summary));
  EXPECT_TRUE(again->primitives[0].alone->disturbed);
  EXPECT_EQ(again->primitives[0].alone->ratio_ci95->second,
            summary.primitives[0].alone->ratio_ci95->second);
  EXPECT_FALSE(again->primitives[2].alone);
}

}  // namespace
}  // namespace dlroof
