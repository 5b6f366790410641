#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "bench/suites/suite.h"

namespace dlroof::suites {
namespace {

using testing::ElementsAre;

constexpr const char* kProblem = " mb1ic4ih8oc6kh1";

// Each benchmark's name without "/cpu/onednn", with @ for kProblem; or its reason in brackets. A
// list of values, which dlroof does not read, stands for a text with each; the last list varies
// fastest.
std::vector<std::string> ReadDrivers(const std::string& text) {
  std::vector<std::string> shown;
  if (const auto comma = text.find(','); comma != text.npos) {
    const auto begin = text.rfind('=', comma) + 1,
               end = std::min(text.find(' ', comma), text.size());
    std::istringstream values(text.substr(begin, end - begin) + ',');
    for (std::string value; std::getline(values, value, ',');)
      for (auto& name : ReadDrivers(text.substr(0, begin) + value + text.substr(end)))
        shown.push_back(std::move(name));
    return shown;
  }
  for (const auto& found : ReadBenchdnn(text, "my.txt")) {
    auto name = found.name.value_or(fmt::format("[{}]", found.reason));
    for (const auto& [longer, shorter] :
         {std::pair<std::string_view, std::string_view>{"/cpu/onednn", ""},
          {"n1c4h8w8k6r1s1", "@"}})
      if (const auto at = name.find(longer); at != std::string::npos)
        name.replace(at, longer.size(), shorter);
    shown.push_back(name);
  }
  return shown;
}

// Returns the names that a convolution's options make of kProblem.
std::vector<std::string> Conv(const std::string& options) {
  return ReadDrivers(options + kProblem);
}

TEST(ReadBenchdnn, DirectionsAreOurs) {
  EXPECT_THAT(
      Conv("--dir=FWD_I,FWD_D,FWD_B,BWD_D,BWD_W,BWD_WB,bwd_dw"),
      ElementsAre("Conv2D/fwd/f32/@", "Conv2D/fwd/f32/@/training", "Conv2D/fwd/f32/@/training/bias",
                  "Conv2D/bwd_data/f32/@", "Conv2D/bwd_weights/f32/@",
                  "Conv2D/bwd_weights/f32/@/bias", "[--dir=bwd_dw: not supported]"));
  EXPECT_THAT(Conv("--dir=BWD_D --dir="), ElementsAre("Conv2D/fwd/f32/@/training/bias"));
}

TEST(ReadBenchdnn, TypesAreOurs) {
  EXPECT_THAT(Conv("--dir=FWD_I --dt=f32,bf16,f16:f16:f16,u8:s8:u8,u8:s8:s8,bf16:bf16:f32"),
              ElementsAre("Conv2D/fwd/f32/@", "Conv2D/fwd/bf16/@", "Conv2D/fwd/f16/@",
                          "Conv2D/fwd/int8/@", "Conv2D/fwd/u8s8s8/@", "Conv2D/fwd/bf16bf16f32/@"));
  EXPECT_THAT(
      Conv("--dir=FWD_I --cfg=f32,u8s8u8,bf16bf16bf16,f16,f32_wino,s8s8f32,f16f32f16"),
      ElementsAre("Conv2D/fwd/f32/@", "Conv2D/fwd/int8/@", "Conv2D/fwd/bf16/@", "Conv2D/fwd/f16/@",
                  "Conv2D/fwd/f32/@", "Conv2D/fwd/s8s8f32/@", "Conv2D/fwd/f16f32f16/@"));
  EXPECT_THAT(Conv("--dt=f64,u8"), ElementsAre("[types f64:f64:f64]", "[types u8:u8:u8]"));
  EXPECT_THAT(Conv("--cfg=f64"), ElementsAre("[types f64:f64:f64]"));
}

TEST(ReadBenchdnn, LayoutsAlgorithmsAndMathModesAreOptionsOfOurs) {
  EXPECT_THAT(Conv("--dir=FWD_I --stag=axb --dtag=acdb,nhwc"),
              ElementsAre("Conv2D/fwd/f32/@/nhwc", "Conv2D/fwd/f32/@/nhwc"));
  EXPECT_THAT(Conv("--dir=FWD_I --stag=abx --dtag=nchw --wtag=any"),
              ElementsAre("Conv2D/fwd/f32/@/nchw"));
  EXPECT_THAT(
      Conv("--stag=any,axb --dtag=any,abx"),
      ElementsAre("Conv2D/fwd/f32/@/training/bias", "[layouts of source and destination differ]",
                  "[layouts of source and destination differ]",
                  "[layouts of source and destination differ]"));
  EXPECT_THAT(Conv("--stag=aBcd16b --dtag=aBcd16b"),
              ElementsAre("[--dtag=aBcd16b: not supported]"));
  EXPECT_THAT(Conv("--wtag=oihw"), ElementsAre("[--wtag=oihw: not supported]"));
  EXPECT_THAT(Conv("--dir=FWD_I --alg=AUTO,wino,convolution_wino,direct"),
              ElementsAre("Conv2D/fwd/f32/@/auto", "Conv2D/fwd/f32/@/winograd",
                          "Conv2D/fwd/f32/@/winograd", "Conv2D/fwd/f32/@"));
  EXPECT_THAT(
      Conv("--dir=FWD_I --attr-fpmath=strict,bf16,f16,tf32,any"),
      ElementsAre("Conv2D/fwd/f32/@", "Conv2D/fwd/f32/@/fpmath-bf16", "Conv2D/fwd/f32/@/fpmath-f16",
                  "Conv2D/fwd/f32/@/fpmath-tf32", "Conv2D/fwd/f32/@/fpmath-any"));
}

TEST(ReadBenchdnn, PostOpsOtherThanReluHaveNoBenchmark) {
  EXPECT_THAT(Conv("--dir=FWD_I --attr-post-ops=,relu,Eltwise_Relu:0,eltwise_relu:0.1"),
              ElementsAre("Conv2D/fwd/f32/@", "Conv2D/fwd/f32/@/relu", "Conv2D/fwd/f32/@/relu",
                          "[post-ops relu:0.1]"));
  EXPECT_THAT(Conv("--attr-post-ops=sum:1:0:s8+relu,binary_add:f32:per_tensor:axb,prelu:per_oc"),
              ElementsAre("[post-ops sum:1:0:s8+relu]", "[post-ops binary_add:f32:per_tensor:axb]",
                          "[post-ops prelu:per_oc]"));
  EXPECT_THAT(Conv("--dir=BWD_D --attr-post-ops=relu"), ElementsAre("[post-op backward]"));
}

TEST(ReadBenchdnn, ScalesOfAllThreeTensorsAreOurOption) {
  const std::string all = "--attr-scales=src:common:0.5*+dst:common:2+wei:per_oc:0.5*";
  EXPECT_THAT(Conv("--dir=FWD_I --dt=u8:s8:u8,s8:s8:s8 " + all),
              ElementsAre("Conv2D/fwd/int8/@/scales", "Conv2D/fwd/s8s8s8/@/scales"));
  // Only a destination of 8 bits is scaled.
  EXPECT_THAT(Conv("--dt=u8:s8:s32 " + all),
              ElementsAre("[scales src:common+wei:per_oc+dst:common]"));
  EXPECT_THAT(Conv("--dir=FWD_I --dt=u8:s8:s32 --attr-scales=wei:per_oc+src0:common:0.5"),
              ElementsAre("Conv2D/fwd/u8s8s32/@/scales"));
  // benchdnn does not set a scale of 1 for a whole tensor.
  EXPECT_THAT(Conv("--dir=FWD_I --dt=u8:s8:u8 --attr-scales=src:common:1,,src:common"),
              ElementsAre("Conv2D/fwd/int8/@", "Conv2D/fwd/int8/@", "Conv2D/fwd/int8/@"));
  EXPECT_THAT(Conv("--dt=u8:s8:u8 --attr-scales=src:common:1+wei:per_oc:1"),
              ElementsAre("[scales wei:per_oc]"));
  EXPECT_THAT(Conv(all), ElementsAre("[scales src:common+wei:per_oc+dst:common]"));
  EXPECT_THAT(Conv("--dt=u8:s8:u8 --attr-zero-points=src:common:1"),
              ElementsAre("[--attr-zero-points=src:common:1: not supported]"));
}

TEST(ReadBenchdnn, WhatRunsElsewhereOrOtherwiseHasNoBenchmark) {
  EXPECT_THAT(
      Conv("--attr-scratchpad=user,library"),
      ElementsAre("[--attr-scratchpad=user: not supported]", "Conv2D/fwd/f32/@/training/bias"));
  EXPECT_THAT(Conv("--ctx-init=auto:auto,2"),
              ElementsAre("Conv2D/fwd/f32/@/training/bias", "[--ctx-init=2: not supported]"));
  EXPECT_THAT(Conv("--ctx-exe=4:0"), ElementsAre("[--ctx-exe=4:0: not supported]"));
  EXPECT_THAT(Conv("--engine=gpu:1"), ElementsAre("[--engine=gpu:1: not supported]"));
  EXPECT_THAT(Conv("--cpu-isa-hints=prefer_ymm"),
              ElementsAre("[--cpu-isa-hints=prefer_ymm: not supported]"));
}

TEST(ReadBenchdnn, PaddingBehindTheImageFollowsFromTheOutput) {
  const auto problem = [](const std::string& text) {
    const auto shown = ReadDrivers("--dir=FWD_I " + text).at(0);
    return shown.substr(shown.rfind('/') + 1);
  };
  // 112 rows come from padding by 3 and 2; by 3 and 3 gives the same, and is written.
  EXPECT_EQ(problem("mb1ic3ih224oc64oh112kh7sh2ph3"), "n1c3h224w224k64r7s7_s2p3");
  // 56 = (112 + b - 3) / 2 + 1 asks for b = 1.
  EXPECT_EQ(problem("mb1ic3ih112oc64oh56kh3sh2ph0"), "n1c3h112w112k64r3s3_s2p0:1x0:1");
  // The last row is not read at all: padding of -1 behind it. Without padding it is the same.
  EXPECT_EQ(problem("mb1ic3ih10oc4oh5kh1sh2ph0"), "n1c3h10w10k4r1s1_s2");
  // One place less than there is.
  EXPECT_EQ(problem("mb1ic3ih10oc4oh4kh1sh2ph0"), "[output smaller than natural]");
  EXPECT_EQ(problem("mb1ic3ih10oc4oh4kh1sh2"), "[negative padding]");
  EXPECT_EQ(problem("mb1ic3ih8iw8oc4oh8ow8kh3kw2ph1pw0"), "n1c3h8w8k4r3s2_p1:1x0:1");
  EXPECT_EQ(problem("mb1ic3ih9oc4kh3dh1"), "n1c3h9w9k4r3s3_d2");
  EXPECT_EQ(problem("g3mb1ic3ih9oc6kh1"), "n1c3h9w9k6r1s1_g3");
}

TEST(ReadBenchdnn, ShapesThatAreNotOursHaveNoBenchmark) {
  EXPECT_THAT(ReadDrivers("ic4id5oc4kd2 ic4iw5oc4kw2 g3ic4ih8oc4kh1 mb0ic4ih8oc4kh1"),
              ElementsAre("Conv3D/fwd/f32/n2c4d5h5w5k4t2r2s2/training/bias", "[1-D convolution]",
                          "[impossible shape]", "[no images]"));
  EXPECT_THAT(ReadDrivers("--mb=1 mb0ic4ih8oc6kh1"), ElementsAre("Conv2D/fwd/f32/@/training/bias"));
  EXPECT_THAT(ReadDrivers("mb2000000000ic2000000000ih2000000000oc1kh1"),
              ElementsAre("[impossible shape]"));
}

TEST(ReadBenchdnn, AListOfValuesHasNoBenchmark) {
  const auto read = ReadBenchdnn("--dir=FWD_I,BWD_D" + std::string(kProblem), "my.txt");
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].reason, "--dir=FWD_I,BWD_D: expected one value; a list is several problems");
}

TEST(ReadBenchdnn, AnOptionHoldsUntilItIsSetAgain) {
  EXPECT_THAT(ReadDrivers("--mb=3 --dir=FWD_I mb1ic4ih8oc6kh1 --dir=BWD_D --mb=0 mb1ic4ih8oc6kh1"),
              ElementsAre("Conv2D/fwd/f32/n3c4h8w8k6r1s1", "Conv2D/bwd_data/f32/@"));
}

TEST(ReadBenchdnn, SaysWhereAndHowEachProblemWasWritten) {
  const auto read = ReadBenchdnn("# x\n --dir=FWD_I\n  mb1_ic4ih8oc6kh1n\"a/b:1\"", "some/my.txt");
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].name, "Conv2D/cpu/onednn/fwd/f32/n1c4h8w8k6r1s1");
  EXPECT_EQ(read[0].reason, "");
  EXPECT_EQ(read[0].text, "mb1_ic4ih8oc6kh1n\"a/b:1\"");
  EXPECT_EQ(read[0].file, "some/my.txt");
  EXPECT_EQ(read[0].line, 3);
}

// Returns the names that an LSTM's options make of `problem`.
std::vector<std::string> Lstm(const std::string& rest) {
  return ReadDrivers("--rnn --alg=VANILLA_LSTM " + rest);
}

TEST(ReadBenchdnn, LstmIsOurs) {
  EXPECT_THAT(Lstm("--prop=FWD_I,FWD_D,BWD_DW t5mb3sic8slc4"),
              ElementsAre("LSTM/fwd_inference/f32/t5n3i4h8", "LSTM/fwd_training/f32/t5n3i4h8",
                          "LSTM/bwd/f32/t5n3i4h8"));
  EXPECT_THAT(
      Lstm("--cfg=f32,bf16,f16,u8u8u8u8,bf16f32,u8u8u8f32 sic8"),
      ElementsAre("LSTM/fwd_inference/f32/t1n2i8h8", "LSTM/fwd_inference/bf16/t1n2i8h8",
                  "LSTM/fwd_inference/f16/t1n2i8h8", "LSTM/fwd_inference/int8/t1n2i8h8",
                  "LSTM/fwd_inference/bf16f32/t1n2i8h8", "LSTM/fwd_inference/u8u8u8f32/t1n2i8h8"));
  EXPECT_THAT(Lstm("--direction=left2right,concat,sum,right2left t2sic8"),
              ElementsAre("LSTM/fwd_inference/f32/t2n2i8h8", "LSTM/fwd_inference/f32/t2n2i8h8bi",
                          "LSTM/fwd_inference/f32/t2n2i8h8bisum",
                          "[--direction=right2left: not supported]"));
  EXPECT_THAT(Lstm("--trivial-strides=true --with-peephole=true --attr-fpmath=bf16 l3t2sic8"),
              ElementsAre("LSTM/fwd_inference/f32/t2n2i8h8l3/peephole/fpmath-bf16"));
  EXPECT_THAT(
      Lstm("--with-projection=true t2sic4slc8dhc8dic4 t2sic8"),
      ElementsAre("LSTM/fwd_inference/f32/t2n2i8h8p4", "LSTM/fwd_inference/f32/t2n2i8h8p8"));
  EXPECT_THAT(
      Lstm("--l=0,2 --t=7 --mb=0,9 l1t2mb3sic8"),
      ElementsAre("LSTM/fwd_inference/f32/t7n3i8h8", "LSTM/fwd_inference/f32/t7n9i8h8",
                  "LSTM/fwd_inference/f32/t7n3i8h8l2", "LSTM/fwd_inference/f32/t7n9i8h8l2"));
}

TEST(ReadBenchdnn, OtherRecurrentCallsHaveNoBenchmark) {
  EXPECT_THAT(ReadDrivers("sic8"), ElementsAre("[VANILLA_RNN]"));  // benchdnn's default
  EXPECT_THAT(ReadDrivers("--alg=vanilla_gru,LBR_GRU sic8"),
              ElementsAre("[--alg=vanilla_gru: not supported]", "[--alg=LBR_GRU: not supported]"));
  EXPECT_THAT(
      Lstm("t2sic8dhc4 t2sic8slc8dhc4dic8 t0sic8 l0sic8 mb0sic8 l2t2sic8slc4"),
      ElementsAre("[sic is not dic]", "[dic is not dhc without projection]", "[no layers or steps]",
                  "[no layers or steps]", "[no samples]", "[slc is not dic with several layers]"));
  EXPECT_THAT(
      Lstm("--direction=concat,sum l2t2sic8"),
      ElementsAre("[bidirectional layers stacked apart]", "[bidirectional layers stacked apart]"));
  EXPECT_THAT(Lstm("--skip-nonlinear=1 sic8"), ElementsAre("[--skip-nonlinear=1: not supported]"));
  EXPECT_THAT(Lstm("--flags=O,  sic8"),
              ElementsAre("[--flags=O: not supported]", "LSTM/fwd_inference/f32/t1n2i8h8"));
  EXPECT_THAT(Lstm("--scaling=per_oc sic8"), ElementsAre("[--scaling=per_oc: not supported]"));
  EXPECT_THAT(Lstm("--scaling-proj=per_oc sic8"),
              ElementsAre("[--scaling-proj=per_oc: not supported]"));
  EXPECT_THAT(Lstm("mb2000000000t2000000000sic2000000000"), ElementsAre("[impossible shape]"));
}

TEST(ReadBenchdnn, ResetAndANewCommandBringTheDefaultsBack) {
  const auto plain = "Conv2D/fwd/f32/@/training/bias";
  EXPECT_THAT(Conv("--dir=BWD_D --new=x --alg=wino --reset"), ElementsAre(plain));
  EXPECT_THAT(Conv("--conv --dir=BWD_D --engine=gpu\n./benchdnn --mode=P --conv"),
              ElementsAre(plain));
  EXPECT_THAT(Conv("--engine=gpu --conv"), ElementsAre("[--engine=gpu: not supported]"));
  EXPECT_THAT(ReadDrivers("--conv --dir=FWD_I mb1ic4ih8oc6kh1\n--rnn --alg=VANILLA_LSTM sic8\n"),
              ElementsAre("Conv2D/fwd/f32/@", "LSTM/fwd_inference/f32/t1n2i8h8"));
}

TEST(ReadBenchdnn, OptionsThatChangeNoCallAreIgnored) {
  EXPECT_THAT(Conv("--mode=P --mode=cp --mode-modifier=PM -v1 -v --verbose=5 --skip-impl=ref "
                   "--max-ms-per-prb=1e3 --fix-times-per-prb=3 --canonical=true --mem-check=0 "
                   "--dir=FWD_I"),
              ElementsAre("Conv2D/fwd/f32/@"));
}

}  // namespace
}  // namespace dlroof::suites
