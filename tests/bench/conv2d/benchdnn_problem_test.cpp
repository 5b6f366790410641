#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "bench/benchdnn/tokens.h"
#include "bench/conv2d/benchdnn.h"

namespace dlroof {
namespace {

TEST(ReadBenchdnnConv, OutputFollowsFromPadding) {
  const auto p = ReadBenchdnnConv("mb16ic3ih224oc64kh7sh2ph3");
  EXPECT_EQ(p.images, 16);
  EXPECT_EQ(p.h.output, 112);     // (224 + 2*3 - 7) / 2 + 1 = 223 / 2 + 1
  EXPECT_EQ(FarPadding(p.h), 2);  // 111 * 2 + 7 - 224 - 3: the last row of padding is not read
  EXPECT_EQ(p.w, p.h);
  EXPECT_EQ(ReadBenchdnnConv("ic3ih224oc64kh3").h.output, 222);  // without any padding
}

TEST(ReadBenchdnnConv, PaddingFollowsFromOutput) {
  EXPECT_EQ(ReadBenchdnnConv("ic1ih56oc1oh56kh3").h.padding, 1);     // (55 - 56 + 3) / 2
  EXPECT_EQ(ReadBenchdnnConv("ic1ih56oc1oh56kh3dh1").h.padding, 2);  // the filter spans 5
  EXPECT_EQ(ReadBenchdnnConv("ic1ih8oc1oh4kh3sh2").h.padding, 0);    // (6 - 8 + 3) / 2
  EXPECT_EQ(ReadBenchdnnConv("ic1ih10oc1oh4kh1sh2").h.padding, -1);  // (6 - 10 + 1) / 2
}

TEST(ReadBenchdnnConv, LeftOutIsBenchdnnsDefault) {
  const auto p = ReadBenchdnnConv("ic4_ih5_oc6_kh1");
  EXPECT_EQ(p.images, 2);
  EXPECT_EQ(p.groups, 1);
  EXPECT_EQ(p.h.stride, 1);
  EXPECT_EQ(p.h.dilation, 0);
  EXPECT_EQ(p.dimensions, 2);
  EXPECT_EQ(ReadBenchdnnConv("ic4iw5oc6kw1").dimensions, 1);
  const auto cube = ReadBenchdnnConv("ic4id5oc6kd2sd2");
  EXPECT_EQ(cube.dimensions, 3);
  EXPECT_EQ(cube.h, cube.d);
  EXPECT_EQ(cube.w, cube.d);
  EXPECT_EQ(ReadBenchdnnConv("ic4ih5iw7oc6kh1kw3").w.output, 5);
}

TEST(ReadBenchdnnConv, NameAfterNIsNotRead) {
  EXPECT_EQ(ReadBenchdnnConv("ic4ih5oc6kh1n\"x:y/z*2\"").h.output, 5);
  EXPECT_EQ(ReadBenchdnnConv("ic4ih5oc6kh1_nih9").h.input, 5);
}

TEST(ReadBenchdnnConv, OutputIsTheNumberOfPlacesThatTheFilterHas) {
  std::mt19937 random(4);
  for (int i = 0; i < 3000; ++i) {
    const auto up_to = [&](unsigned most) { return static_cast<int64_t>(random() % (most + 1)); };
    const int64_t input = 1 + up_to(20), filter = 1 + up_to(4), stride = 1 + up_to(3),
                  padding = up_to(4), dilation = up_to(2);
    int64_t places = 0;
    const int64_t last = (filter - 1) * (dilation + 1);
    while (places * stride + last < input + 2 * padding) ++places;
    const auto text = "ic1ih" + std::to_string(input) + "oc1kh" + std::to_string(filter) + "sh" +
                      std::to_string(stride) + "ph" + std::to_string(padding) + "dh" +
                      std::to_string(dilation);
    if (places == 0) continue;
    const auto axis = ReadBenchdnnConv(text).h;
    EXPECT_EQ(axis.output, places) << text;
    // Elements that the last place reads behind the image.
    EXPECT_EQ(FarPadding(axis), (places - 1) * stride + last + 1 - input - padding) << text;
  }
}

struct Refused {
  std::string text;
  size_t offset;
  std::string why;
};

TEST(ReadBenchdnnConv, RefusesWhatIsNoProblemAndSaysWhere) {
  const std::vector<Refused> cases = {
      {"mb1ic4ih8oc4kh3xy1", 15, "got 'xy1'"},
      {"mb1ic", 5, "expected the value of 'ic'"},
      {"mb-1ic4", 2, "expected the value of 'mb'"},
      {"ic99999999999999999999ih1oc1kh1", 2, "from 0 to 2147483647"},
      {"ic4oc4", 0, "no image"},
      {"ih8oc4kh3", 0, "lacks ic"},
      {"ic4ih8kh3", 0, "lacks oc"},
      {"ic4ih8oc4", 0, "lacks kh"},
      {"ic4kh3oc4", 0, "lacks ih"},
      {"ic4ih8iw8oc4kh3", 0, "lacks kw"},
      {"g0ic4ih8oc4kh3", 0, "lacks g"},
      {"ic4ih8oc4kh3sh0", 0, "lacks sh"},
      {"ic4ih2oc4kh5", 0, "oh would be -2"},
      {"ic4id5ih5oc4kd1kh1", 0, "both ih and iw, or none"},
      {"_ic4", 0, "got '_ic4'"},
  };
  for (const auto& [text, offset, why] : cases) {
    try {
      ReadBenchdnnConv(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const BenchdnnRefusal& refusal) {
      EXPECT_EQ(refusal.offset, offset) << text;
      EXPECT_THAT(refusal.what(), testing::HasSubstr(why)) << text;
    }
  }
}

TEST(BenchdnnConvText, IsAsBenchdnnListsIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"mb2ic3ih224oc64kh7sh2ph3", "ic3ih224oc64oh112kh7sh2ph3"},
      {"g1mb1ic4ih8iw6oc4kh3kw1", "g1mb1ic4ih8iw6oc4oh6ow6kh3kw1ph0pw0"},
      {"ic4id5oc6kd2", "ic4id5oc6od4kd2pd0"},
      {"ic4id5ih6iw6oc6kd2kh1kw1", "ic4id5ih6iw6oc6od4oh6ow6kd2kh1kw1pd0ph0pw0"},
      {"ic4iw9oc6kw2dw1", "ic4iw9oc6ow7kw2pw0dw1"}};
  for (const auto& [text, listed] : cases) EXPECT_EQ(ToText(ReadBenchdnnConv(text)), listed);
}

}  // namespace
}  // namespace dlroof
