// The roofs and places in a page's content.
#include <gtest/gtest.h>

#include "tests/fakes/trajectory_points.h"
#include "tests/fakes/written_page.h"

namespace dlroof::figure {
namespace {

using nlohmann::json;

TEST(WritePage, GeometryComesWithTheData) {
  const auto content = PageContent(fakes::SmallRun());
  EXPECT_EQ(content["main_roofs"], 0);
  EXPECT_EQ(content["roofs"][0]["level"], "dram");
  EXPECT_EQ(content["roofs"][0]["used"], json({"bf16.matrix", "fp32.vector", "int8.matrix"}));
  EXPECT_DOUBLE_EQ(content["roofs"][0]["bytes"][3]["ridges"]["fp32.vector"].get<double>(), 10);
  EXPECT_EQ(content["records"][3]["binding"], 1) << "DRAM's roof is below L2's";
  EXPECT_FALSE(content["records"][6].contains("binding"));
  EXPECT_FALSE(content["records"][4]["classic"][0].contains("error_bar"));
  EXPECT_TRUE(content["records"][0]["classic"][0].contains("error_bar"));
  // 1.25 ms; compute 0.51380224 ms binds beside L2's 0.25 ms, DRAM's 1 ms binds in its own view.
  const auto& places = content["records"][3]["time"]["places"];
  EXPECT_DOUBLE_EQ(places["l2"][1].get<double>(), 1.25e-3);
  EXPECT_DOUBLE_EQ(places["dram"][0].get<double>(), 1.25e-3);
  const auto& limit = content["records"][5]["time"];
  EXPECT_TRUE(limit.contains("gap_at_least")) << "its roof is not validated";
  EXPECT_EQ(limit["places"]["dram"].size(), 2);
}

TEST(WritePage, RatesComeFromWorkAndTimeWithAndWithoutCeilings) {
  auto without = fakes::SmallRun().file;
  without.machines.clear();
  for (const auto& run : {roofline::PlaceRun(without), fakes::SmallRun()}) {
    const auto content = PageContent(run);
    EXPECT_NEAR(content["records"][0]["rate"]["flops_per_second"].get<double>(), 1.6e11, 1e6);
    EXPECT_NEAR(content["records"][0]["rate"]["intensity"].get<double>(), 57.468, 1e-3);
    EXPECT_EQ(content["records"][0]["rate"]["level"], "dram");
    EXPECT_FALSE(content["records"][9].contains("rate")) << "its work is not known";
  }
}

// A warm call: its bytes stand at L2, its FLOP/byte are still those of DRAM.
TEST(WritePage, FlopPerByteIsThatOfDramWhereverTheCallIsPlaced) {
  auto file = fakes::SmallRun().file;
  file.machines.front().cache_bytes[Level::kL2] = 1e12;
  const auto content = PageContent(roofline::PlaceRun(file));
  EXPECT_EQ(content["records"][0]["rate"]["level"], "dram");
  EXPECT_NEAR(content["records"][0]["rate"]["intensity"].get<double>(), 57.468, 1e-3);
}

TEST(WritePage, MeasuredRidgesComeWithTheirRoofs) {
  const auto run = fakes::CeilingsRun();
  const auto content = PageContent(run);
  EXPECT_EQ(content["roofs"][0]["measured_ridges"],
            content["machines"][0]["by_threads"]["2"]["ridges"]);
  EXPECT_FALSE(content["roofs"][1].contains("measured_ridges"));
  EXPECT_FALSE(content["roofs"][1]["bytes"][0].contains("sustained_ridges"));
  EXPECT_EQ(content["roofs"][0]["used"], json({"fp32.vector.avx2"}));
}

// 16 of DRAM's 20 GB/s: fp32.vector's 200 GFLOP/s are reached at 12.5 FLOP/byte, not at 10.
TEST(WritePage, TheSustainedRateOfDramComesWithItsLine) {
  auto run = fakes::SmallRun();
  EXPECT_FALSE(PageContent(run)["roofs"][0]["bytes"][3].contains("sustained_start"));
  fakes::TwoThreadsOf(run).bytes.at(Level::kDram).sustained_per_second = 16e9;
  const auto content = PageContent(run);
  const auto& dram = content["roofs"][0]["bytes"][3];
  EXPECT_DOUBLE_EQ(
      dram["sustained_start"][1].get<double>() / dram["sustained_start"][0].get<double>(), 16e9);
  EXPECT_DOUBLE_EQ(dram["sustained_ends"]["fp32.vector"].get<double>(), 12.5);
}

TEST(WritePage, TrajectoriesComeWithTheirPlacesAndSentences) {
  EXPECT_FALSE(PageContent(fakes::SmallRun()).contains("trajectories")) << "one number of threads";
  const auto content = PageContent(
      fakes::RunOf({fakes::kOne, fakes::With(fakes::Two(9), &fakes::PointSpec::noisy)}));
  const auto& one = content["trajectories"].at(0);
  EXPECT_EQ(one["along"], "threads");
  EXPECT_EQ(one["level"], "dram");
  EXPECT_EQ(one["points"][0]["place"][0], 5) << "100 flop of 20 byte";
  EXPECT_EQ(one["points"][1]["threads"], 2);
  EXPECT_EQ(one["points"][1]["disturbed"], true);
  EXPECT_EQ(one["sentence"].get<std::string>().substr(0, 12), "~2 threads a");
}

}  // namespace
}  // namespace dlroof::figure
