#include "bench/suites/benchdnn.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "bench/conv2d/case.h"
#include "bench/conv2d/conv3d.h"
#include "bench/lstm/case.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "counters/base/files.h"
#include "reporters/logs/primitive.h"
#include "tests/test_data.h"

namespace dlroof::suites {
namespace {

using testing::ElementsAre, testing::HasSubstr;

std::string_view NameOfDriver(std::string_view text) {
  const auto* const driver = DriverOfProblem(text);
  return driver == nullptr ? "none" : driver->name;
}

TEST(DriverOfProblem, IsTheOneWhoseLettersTheTextHas) {
  for (const auto& [text, driver] : {std::pair("mb1_g2ic4ih8", "conv"),
                                     {"g1mb3ic3", "conv"},
                                     {"mb3l2sic4", "rnn"},
                                     {"t50mb3", "rnn"},
                                     {"12x64:64x8", "matmul"}})
    EXPECT_EQ(NameOfDriver(text), driver) << text;
  for (const auto* text :
       {"x64", "LSTM/cpu/onednn/fwd_inference/f32/t1n1i1h1", "googlenet", "mb", "mb12", ""})
    EXPECT_EQ(NameOfDriver(text), "none") << text;
}

std::string Words(std::string_view text) {
  std::string words;
  for (const auto& [word, line] : BenchdnnTokens(text)) words += fmt::format("{}@{} ", word, line);
  return words;
}

TEST(BenchdnnTokens, SkipsCommentsAndJoinsWords) {
  EXPECT_EQ(Words("# a b\n  --x=1 c#d\t#e f\n\ng"), "--x=1@2 c#d@2 g@4 ");
  EXPECT_EQ(Words(" \n#"), "");
  EXPECT_EQ(Words("a+ \\\n  b+\\\n# comment\nc d"), "a+b+c@1 d@4 ");
  EXPECT_EQ(Words("\\"), "");
  EXPECT_EQ(Words("a \\"), "a@1 ");
}

// Each benchmark's name, or its reason in brackets.
std::vector<std::string> Read(const std::string& text, const std::string& file = "my.txt") {
  std::vector<std::string> shown;
  for (const auto& found : ReadBenchdnn(text, file))
    shown.push_back(found.name.value_or(fmt::format("[{}]", found.reason)));
  return shown;
}

constexpr const char* kProblem = " mb1ic4ih8oc6kh1";

std::string ConvName(const std::string& direction, const std::string& type,
                     const std::string& options = "") {
  return fmt::format("Conv2D/cpu/onednn/{}/{}/n1c4h8w8k6r1s1{}", direction, type, options);
}

// Newer versions of benchdnn may know these words. Their problems are counted with the reason.
TEST(BenchdnnWords, ThatAreNotKnownAreReasonsOfTheirProblemsAndKnownOnesRun) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--dir=FWD_I sic4", "unknown option --dir of benchdnn's driver rnn"},
      {"-dir=FWD_I", "unknown option '-dir=FWD_I'"},
      {"--batch=shapes", "--batch: name that file itself"},
      {"--dir=FWD_I,", "expected one value"},
      {"--dt=u8:s8", "expected one word, or those of source, weights and"},
      {"--attr-post-ops=sum+relu:a", "post-ops sum+relu:a"},
      {"--attr-scales=src:common:0.5+wie:common:2", "of src, wei or dst"},
      {"--attr-scales=src", "expected TENSOR:POLICY"},
      {"--mb=-2", "expected an integer from 0"},
      {"--mb=99999999999", "expected an integer from 0"},
      {"ic4ih8oc4kh3 t4sic4", "expected one of g mb ic"},
  };
  for (const auto& [text, message] : cases) {
    const auto read = ReadBenchdnn(text + "\n" + kProblem, "my.txt");
    const auto is_reason = [&](const auto& found) {
      return found.reason.find(message) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(read, is_reason)) << text;
  }
  EXPECT_THAT(Read("--dir=FWD_I --dt=f8_e9m9 mb1ic4ih8oc6kh1 --dt=f32 mb1ic4ih8oc6kh1"),
              ElementsAre("[types f8_e9m9:f8_e9m9:f8_e9m9]", ConvName("fwd", "f32")));
  EXPECT_THAT(
      Read("--dir=FWD_I --new=1 mb1ic4ih8oc6kh1 --reset --dir=FWD_I mb1ic4ih8oc6kh1"),
      ElementsAre("[unknown option --new of benchdnn's driver conv]", ConvName("fwd", "f32")));
  EXPECT_THAT(Read("--conv --pool 16x1000 --conv --dir=FWD_I mb1ic4ih8oc6kh1"),
              ElementsAre("[unknown option '--pool']", ConvName("fwd", "f32")));
}

TEST(LooksLikeBenchdnn, TellsBenchdnnsFilesFromListsOfNames) {
  for (const auto* text : {"# c\n\n --dir=FWD_I\n", "mb1ic4ih8oc6kh1n\"a/b\"", "l1t2sic4", "-v5",
                           "./benchdnn --conv", "/opt/x/benchdnn --rnn", "g32ic32", "--batch=x"})
    EXPECT_TRUE(LooksLikeBenchdnn(text)) << text;
  for (const auto* text : {"", "# c\n\n", "Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1",
                           "{Conv2D,x}/y", "LSTM/cpu/onednn/{a,b}", "hello", "/benchdnn/x"})
    EXPECT_FALSE(LooksLikeBenchdnn(text)) << text;
}

std::string SmallList() { return ReadFile(fakes::TestData("benchdnn_small.txt"), "a list"); }

TEST(BenchdnnSmallList, IsReadWhole) {
  const auto text = SmallList();
  ASSERT_TRUE(LooksLikeBenchdnn(text));
  std::map<std::string, int> reasons;
  int names = 0;
  for (const auto& found : ReadBenchdnn(text, "small")) {
    EXPECT_EQ(found.name.has_value(), found.reason.empty()) << found.text;
    if (!found.name) {
      ++reasons[found.reason];
      continue;
    }
    ++names;
    const auto name =
        workload::ParseBenchmarkName(*found.name);  // canonical: what is parsed is what is printed
    EXPECT_EQ(workload::ToText(name), found.name);
    if (name.op == "Conv2D")
      EXPECT_EQ(conv2d::ToText(conv2d::ParseConv2d(name.problem)), name.problem);
    else if (name.op == "Conv3D")
      EXPECT_EQ(conv2d::ToText(conv2d::ParseConv3d(name.problem)), name.problem);
    else
      EXPECT_EQ(lstm::ToText(lstm::ParseLstmProblem(name.problem)), name.problem);
  }
  EXPECT_EQ(reasons["1-D convolution"], 1);
  EXPECT_EQ(reasons["types f64:f64:f64"], 1);
  EXPECT_EQ(reasons["--alg=VANILLA_GRU: not supported"], 1);
  EXPECT_EQ(reasons["--wtag=xba: not supported"], 1);
  EXPECT_EQ(reasons["--direction=right2left: not supported"], 2);
  EXPECT_EQ(reasons["--engine=gpu:0: not supported"], 1);
  EXPECT_GT(names, 50);
}

using logs::PrimitiveText;
using logs::ReadPrimitive;

std::string LineOf(const PrimitiveText& text) {
  return BenchdnnLine(ReadPrimitive(text)).value_or("none");
}

std::string ConvLine(const std::string& prop, const std::string& bias) {
  return LineOf({.kind = "convolution",
                 .prop = prop,
                 .tensors = "src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb16a::f0 bia:" + bias +
                            "::blocked:a::f0 dst:f32::blocked:acdb::f0",
                 .attributes = "attr-scratchpad:user attr-post-ops:eltwise_relu",
                 .auxiliary = "alg:convolution_direct",
                 .problem = "mb8_ic64oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0"});
}

TEST(BenchdnnLine, ALineForEachDirectionAndOtherDrivers) {
  EXPECT_EQ(ConvLine("forward_inference", "undef"),
            "--conv --mode=P --dir=FWD_I --stag=acdb --dtag=acdb --attr-post-ops=eltwise_relu "
            "mb8_ic64oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0");
  EXPECT_THAT(ConvLine("forward_training", "f32"), HasSubstr("--dir=FWD_B "));
  EXPECT_THAT(ConvLine("backward_weights", "f32"), HasSubstr("--dir=BWD_WB "));
  EXPECT_THAT(ConvLine("backward_data", "undef"), HasSubstr("--dir=BWD_D "));
  EXPECT_EQ(LineOf({.kind = "reorder",
                    .tensors = "src:f32::blocked:abcd::f0 dst:bf16::blocked:aBcd8b::f0",
                    .problem = "8x64x56x56"}),
            "--reorder --mode=P --sdt=f32 --ddt=bf16 --stag=abcd --dtag=aBcd8b 8x64x56x56");
  EXPECT_EQ(
      LineOf({.kind = "gemm_api",
              .tensors = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
              .problem = "16x256:256x192"}),
      "--matmul --mode=P --stag=ab --wtag=ab --dtag=ab 16x256:256x192");
  EXPECT_EQ(LineOf({.kind = "zero_pad"}), "none");
}

// Names of benchmarks without "Conv2D/cpu/onednn/" or "/cpu/onednn", with @ for kProblem; or
// reasons in brackets. A list of values, which dlroof does not read, stands for a text with each;
// the last list varies fastest.
std::string ReadDrivers(const std::string& text) {
  std::vector<std::string> shown;
  const auto comma = text.find(',');
  if (comma == text.npos) {
    for (const auto& found : ReadBenchdnn(text, "my.txt")) {
      auto& name = shown.emplace_back(found.name.value_or(fmt::format("[{}]", found.reason)));
      for (const auto& [longer, shorter] :
           {std::pair<std::string_view, std::string_view>{"Conv2D/cpu/onednn/", ""},
            {"/cpu/onednn", ""},
            {"n1c4h8w8k6r1s1", "@"}})
        if (const auto at = name.find(longer); at != std::string::npos)
          name.replace(at, longer.size(), shorter);
    }
  } else {
    const auto begin = text.rfind('=', comma) + 1,
               end = std::min(text.find(' ', comma), text.size());
    std::istringstream values(text.substr(begin, end - begin) + ',');
    for (std::string value; std::getline(values, value, ',');)
      shown.push_back(ReadDrivers(text.substr(0, begin) + value + text.substr(end)));
  }
  return fmt::format("{}", fmt::join(shown, " "));
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// Expects what texts of benchdnn are read as, each behind `before` and before `behind`.
void ExpectRead(const Rows& rows, const std::string& before = "", const std::string& behind = "") {
  for (const auto& [text, shown] : rows)
    EXPECT_EQ(ReadDrivers(before + text + behind), shown) << text;
}

// The same of a convolution's options for kProblem.
void ExpectConv(const Rows& rows) { ExpectRead(rows, "", kProblem); }

TEST(ReadBenchdnn, DirectionsTypesLayoutsAlgorithmsMathModesReluAndScalesAreOurs) {
  const std::string all = "--attr-scales=src:common:0.5*+dst:common:2+wei:per_oc:0.5*";
  ExpectConv(
      {{"--dir=FWD_I,FWD_D,FWD_B,BWD_D,BWD_W,BWD_WB,bwd_dw",
        "fwd/f32/@ fwd/f32/@/training fwd/f32/@/training/bias bwd_data/f32/@ bwd_weights/f32/@ "
        "bwd_weights/f32/@/bias [--dir=bwd_dw: not supported]"},
       {"--dir=BWD_D --dir=", "fwd/f32/@/training/bias"},
       {"--dir=FWD_I --dt=f32,bf16,f16:f16:f16,u8:s8:u8,u8:s8:s8,bf16:bf16:f32",
        "fwd/f32/@ fwd/bf16/@ fwd/f16/@ fwd/int8/@ fwd/u8s8s8/@ fwd/bf16bf16f32/@"},
       {"--dir=FWD_I --cfg=f32,u8s8u8,bf16bf16bf16,f16,f32_wino,s8s8f32,f16f32f16",
        "fwd/f32/@ fwd/int8/@ fwd/bf16/@ fwd/f16/@ fwd/f32/@ fwd/s8s8f32/@ fwd/f16f32f16/@"},
       {"--dt=f64,u8", "[types f64:f64:f64] [types u8:u8:u8]"},
       {"--cfg=f64", "[types f64:f64:f64]"},
       {"--dir=FWD_I --stag=axb --dtag=acdb,nhwc", "fwd/f32/@/nhwc fwd/f32/@/nhwc"},
       {"--dir=FWD_I --stag=abx --dtag=nchw --wtag=any", "fwd/f32/@/nchw"},
       {"--stag=any,axb --dtag=any,abx",
        "fwd/f32/@/training/bias [layouts of source and destination differ] [layouts of source and "
        "destination differ] [layouts of source and destination differ]"},
       {"--stag=aBcd16b --dtag=aBcd16b", "[--dtag=aBcd16b: not supported]"},
       {"--wtag=oihw", "[--wtag=oihw: not supported]"},
       {"--dir=FWD_I --alg=AUTO,wino,convolution_wino,direct",
        "fwd/f32/@/auto fwd/f32/@/winograd fwd/f32/@/winograd fwd/f32/@"},
       {"--dir=FWD_I --attr-fpmath=strict,tf32", "fwd/f32/@ fwd/f32/@/fpmath-tf32"},
       {"--dir=FWD_I --attr-post-ops=,relu,Eltwise_Relu:0,eltwise_relu:0.1",
        "fwd/f32/@ fwd/f32/@/relu fwd/f32/@/relu [post-ops relu:0.1]"},
       {"--attr-post-ops=sum:1:0:s8+relu,binary_add:f32:per_tensor:axb,prelu:per_oc",
        "[post-ops sum:1:0:s8+relu] [post-ops binary_add:f32:per_tensor:axb] [post-ops "
        "prelu:per_oc]"},
       {"--dir=BWD_D --attr-post-ops=relu", "[post-op backward]"},
       {"--dir=FWD_I --dt=u8:s8:u8,s8:s8:s8 " + all, "fwd/int8/@/scales fwd/s8s8s8/@/scales"},
       // Only a destination of 8 bits is scaled.
       {"--dt=u8:s8:s32 " + all, "[scales src:common+wei:per_oc+dst:common]"},
       {"--dir=FWD_I --dt=u8:s8:s32 --attr-scales=wei:per_oc+src0:common:0.5",
        "fwd/u8s8s32/@/scales"},
       // benchdnn does not set a scale of 1 for a whole tensor.
       {"--dir=FWD_I --dt=u8:s8:u8 --attr-scales=src:common:1,,src:common",
        "fwd/int8/@ fwd/int8/@ fwd/int8/@"},
       {"--dt=u8:s8:u8 --attr-scales=src:common:1+wei:per_oc:1", "[scales wei:per_oc]"},
       {all, "[scales src:common+wei:per_oc+dst:common]"},
       {"--dt=u8:s8:u8 --attr-zero-points=src:common:1",
        "[--attr-zero-points=src:common:1: not supported]"}});
}

TEST(ReadBenchdnn, WhatRunsElsewhereOtherShapesAndListsOfValuesHaveNoBenchmark) {
  ExpectConv({{"--attr-scratchpad=user,library",
               "[--attr-scratchpad=user: not supported] fwd/f32/@/training/bias"},
              {"--ctx-init=auto:auto,2", "fwd/f32/@/training/bias [--ctx-init=2: not supported]"},
              {"--ctx-exe=4:0", "[--ctx-exe=4:0: not supported]"},
              {"--engine=gpu:1", "[--engine=gpu:1: not supported]"},
              {"--cpu-isa-hints=prefer_ymm", "[--cpu-isa-hints=prefer_ymm: not supported]"}});
  ExpectRead({{"ic4id5oc4kd2 ic4iw5oc4kw2 g3ic4ih8oc4kh1 mb0ic4ih8oc4kh1",
               "Conv3D/fwd/f32/n2c4d5h5w5k4t2r2s2/training/bias [1-D convolution] [impossible "
               "shape] [no images]"},
              {"--mb=1 mb0ic4ih8oc6kh1", "fwd/f32/@/training/bias"},
              {"mb2000000000ic2000000000ih2000000000oc1kh1", "[impossible shape]"}});
  const auto read = ReadBenchdnn("--dir=FWD_I,BWD_D" + std::string(kProblem), "my.txt");
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].reason, "--dir=FWD_I,BWD_D: expected one value; a list is several problems");
}

TEST(ReadBenchdnn, PaddingBehindTheImageFollowsFromTheOutput) {
  ExpectRead(
      {// 112 rows come from padding by 3 and 2; by 3 and 3 gives the same, and is written.
       {"mb1ic3ih224oc64oh112kh7sh2ph3", "fwd/f32/n1c3h224w224k64r7s7_s2p3"},
       // 56 = (112 + b - 3) / 2 + 1 asks for b = 1.
       {"mb1ic3ih112oc64oh56kh3sh2ph0", "fwd/f32/n1c3h112w112k64r3s3_s2p0:1x0:1"},
       // The last row is not read (padding behind: -1), so the name is that without padding.
       {"mb1ic3ih10oc4oh5kh1sh2ph0", "fwd/f32/n1c3h10w10k4r1s1_s2"},
       // One row less than there are.
       {"mb1ic3ih10oc4oh4kh1sh2ph0", "[output smaller than natural]"},
       {"mb1ic3ih10oc4oh4kh1sh2", "[negative padding]"},
       {"mb1ic3ih8iw8oc4oh8ow8kh3kw2ph1pw0", "fwd/f32/n1c3h8w8k4r3s2_p1:1x0:1"},
       {"mb1ic3ih9oc4kh3dh1", "fwd/f32/n1c3h9w9k4r3s3_d2"},
       {"g3mb1ic3ih9oc6kh1", "fwd/f32/n1c3h9w9k6r1s1_g3"}},
      "--dir=FWD_I ");
}

TEST(ReadBenchdnn, AnOptionHoldsUntilItIsSetAgainAndSaysWhereAndHowEachProblemWasWritten) {
  ExpectRead({{"--mb=3 --dir=FWD_I mb1ic4ih8oc6kh1 --dir=BWD_D --mb=0 mb1ic4ih8oc6kh1",
               "fwd/f32/n3c4h8w8k6r1s1 bwd_data/f32/@"}});
  const auto read = ReadBenchdnn("# x\n --dir=FWD_I\n  mb1_ic4ih8oc6kh1n\"a/b:1\"", "some/my.txt");
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].name, "Conv2D/cpu/onednn/fwd/f32/n1c4h8w8k6r1s1");
  EXPECT_EQ(read[0].reason, "");
  EXPECT_EQ(read[0].text, "mb1_ic4ih8oc6kh1n\"a/b:1\"");
  EXPECT_EQ(read[0].file, "some/my.txt");
  EXPECT_EQ(read[0].line, 3);
}

constexpr const char* kOfLstm = "--rnn --alg=VANILLA_LSTM ";

TEST(ReadBenchdnn, LstmIsOurs) {
  // LstmBenchdnn reads the lines of all other options back.
  ExpectRead(
      {{"--prop=FWD_I --direction=left2right t5mb3sic8slc4", "LSTM/fwd_inference/f32/t5n3i4h8"},
       {"--l=0,2 --t=7 --mb=0,9 l1t2mb3sic8",
        "LSTM/fwd_inference/f32/t7n3i8h8 LSTM/fwd_inference/f32/t7n9i8h8 "
        "LSTM/fwd_inference/f32/t7n3i8h8l2 LSTM/fwd_inference/f32/t7n9i8h8l2"}},
      kOfLstm);
}

TEST(ReadBenchdnn, OtherRecurrentCallsHaveNoBenchmarkAndResetBringsTheDefaultsBack) {
  ExpectRead({{"sic8", "[VANILLA_RNN]"},  // benchdnn's default
              {"--alg=vanilla_gru,LBR_GRU sic8",
               "[--alg=vanilla_gru: not supported] [--alg=LBR_GRU: not supported]"},
              {"--conv --dir=FWD_I mb1ic4ih8oc6kh1\n--rnn --alg=VANILLA_LSTM sic8\n",
               "fwd/f32/@ LSTM/fwd_inference/f32/t1n2i8h8"}});
  ExpectRead({{"t2sic8dhc4 t2sic8slc8dhc4dic8 t0sic8 l0sic8 mb0sic8 l2t2sic8slc4",
               "[sic is not dic] [dic is not dhc without projection] [no layers or steps] [no "
               "layers or steps] [no samples] [slc is not dic with several layers]"},
              {"--direction=concat,sum l2t2sic8",
               "[bidirectional layers stacked apart] [bidirectional layers stacked apart]"},
              {"--skip-nonlinear=1 sic8", "[--skip-nonlinear=1: not supported]"},
              {"--flags=O,  sic8", "[--flags=O: not supported] LSTM/fwd_inference/f32/t1n2i8h8"},
              {"--scaling=per_oc sic8", "[--scaling=per_oc: not supported]"},
              {"--scaling-proj=per_oc sic8", "[--scaling-proj=per_oc: not supported]"},
              {"mb2000000000t2000000000sic2000000000", "[impossible shape]"}},
             kOfLstm);
  ExpectConv(
      {{"--dir=BWD_D --new=x --alg=wino --reset", "fwd/f32/@/training/bias"},
       {"--conv --dir=BWD_D --engine=gpu\n./benchdnn --mode=P --conv", "fwd/f32/@/training/bias"},
       {"--engine=gpu --conv", "[--engine=gpu: not supported]"},
       {"--mode=P --mode=cp --mode-modifier=PM -v1 -v --verbose=5 --skip-impl=ref "
        "--max-ms-per-prb=1e3 --fix-times-per-prb=3 --canonical=true --mem-check=0 --dir=FWD_I",
        "fwd/f32/@"}});
}

}  // namespace
}  // namespace dlroof::suites
