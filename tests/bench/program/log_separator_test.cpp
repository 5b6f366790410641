#include "bench/program/log_separator.h"

#include <gtest/gtest.h>

#include <random>

namespace dlroof {
namespace {

constexpr const char* kLines[] = {
    "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)\n",
    "onednn_verbose,info,oneDNN v2.7.3 (commit N/A)\n",
    "onednn_verbose,v1,1795369563814.305908,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:"
    "f0,,,216x147:147x16,36.4011\n",
    "onednn_verbose,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd:f0,attr-scratchpad:user "
    ",,8x64x56x56,5.20605\n",
    "dnnl_verbose,create:cache_miss,cpu,reorder,jit:uni,undef,,,64x64x3x3,0.109863\n",
    "onednn_verbose,1795373324964.981934,exec,cpu,convolution,jit:avx2,,,mb8_ic64,0.5\n",
    "mkldnn_verbose,exec,reorder,simple:any,undef,in:f32_nchw,num:1,2x3x4x5,0.0141\n"};

// The program's own output: parts of markers, carriage returns, colours, zeros, no last newline.
constexpr const char* kOwn[] = {"epoch 1: 40 %\r",
                                "\x1b[32mdone\x1b[0m\n",
                                "onednn_verbose is set\n",
                                "onednn_verbose,",
                                "dnnl_verbos",
                                "the lemon, o",
                                "mkl",
                                "loss,0.5\n",
                                "\xff\xfe\x80",
                                "\n",
                                "_verbose,info,",
                                "images/s: 12.5\n",
                                "mkldnn_verbose,x"};

struct Mixture {
  std::string all, own, log;
  std::size_t lines = 0, executed = 0, versions = 0;
};

// Lines are whole, as one write of oneDNN is; they begin wherever the program's output is.
Mixture DrawMixture(std::mt19937& engine) {
  const auto below = [&](std::size_t count) { return engine() % count; };
  Mixture mixture;
  for (std::size_t left = below(30); left > 0; --left)
    if (below(2) == 0) {
      const auto kind = below(std::size(kLines));
      mixture.all += kLines[kind];
      mixture.log += kLines[kind];
      mixture.lines += 1;
      mixture.executed += kind > 1 && kind != 4 ? 1 : 0;
      mixture.versions += kind < 2 ? 1 : 0;
    } else {
      // Two of the program's texts shall not make a line of oneDNN together.
      std::string text = kOwn[below(std::size(kOwn))];
      if (!mixture.own.empty() && mixture.own.back() != '\n' && !text.empty()) text = "|" + text;
      mixture.all += text;
      mixture.own += text;
    }
  return mixture;
}

TEST(LogSeparator, OwnOutputIsTheSameBytesForAnyMixtureAndAnyPieces) {
  std::mt19937 engine(22);
  int with_both = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto mixture = DrawMixture(engine);
    LogSeparator separator;
    std::string own, log;
    const std::size_t most = 1 + engine() % 40;
    for (std::size_t at = 0; at < mixture.all.size();) {
      const auto size = std::min(1 + engine() % most, mixture.all.size() - at);
      const auto part = separator.Add(std::string_view(mixture.all).substr(at, size));
      own += part.own;
      log += part.log;
      at += size;
      ASSERT_TRUE(mixture.own.starts_with(own));
    }
    const auto rest = separator.End();
    ASSERT_EQ(own + rest.own, mixture.own) << mixture.all;
    ASSERT_EQ(log + rest.log, mixture.log) << mixture.all;
    ASSERT_EQ(separator.lines(), mixture.lines);
    ASSERT_EQ(separator.executed(), mixture.executed);
    ASSERT_EQ(separator.versions(), mixture.versions);
    ASSERT_EQ(separator.cut_lines(), 0U);
    with_both += !mixture.own.empty() && !mixture.log.empty() ? 1 : 0;
  }
  EXPECT_GT(with_both, 3000);
}

// The parts after all bytes, given at once.
LogSeparator::Output Separated(LogSeparator& separator, const std::string& all) {
  auto output = separator.Add(all);
  const auto rest = separator.End();
  return {output.own + rest.own, output.log + rest.log};
}

TEST(LogSeparator, ALineOfOneDnnEndsWhereItsProgramIsKilled) {
  LogSeparator separator;
  const auto parts = Separated(separator, "step 1\nonednn_verbose,v1,primitive,exec,cpu,conv");
  EXPECT_EQ(parts.own, "step 1\n");
  EXPECT_EQ(parts.log, "onednn_verbose,v1,primitive,exec,cpu,conv\n");
  EXPECT_EQ(separator.lines(), 0U);
  EXPECT_EQ(separator.cut_lines(), 1U);
}

TEST(LogSeparator, ALineThatAnotherOneCutIsPutTogetherAgain) {
  LogSeparator separator;
  const std::string first = "onednn_verbose,exec,cpu,reorder,jit:blk,undef,a,b,,8x64,5.2";
  const std::string second = "onednn_verbose,exec,cpu,convolution,jit:avx2,f,a,b,,mb8,0.25\n";
  const auto parts =
      Separated(separator, "a" + first.substr(0, 30) + second + first.substr(30) + "\nb\n");
  EXPECT_EQ(parts.own, "ab\n");
  EXPECT_EQ(parts.log, second + first + "\n");
  EXPECT_EQ(separator.lines(), 2U);
  EXPECT_EQ(separator.cut_lines(), 0U);
}

TEST(LogSeparator, ACutLineWithoutItsRestIsCountedAndCostsNoOwnByte) {
  LogSeparator separator;
  const auto parts = Separated(separator,
                               "onednn_verbose,exec,cpu,reonednn_verbose,exec,cpu,sum,1.5\n"
                               "images/s: 7, wait\n");
  EXPECT_EQ(parts.own, "images/s: 7, wait\n");
  EXPECT_EQ(parts.log, "onednn_verbose,exec,cpu,sum,1.5\nonednn_verbose,exec,cpu,re\n");
  EXPECT_EQ(separator.cut_lines(), 1U);
}

TEST(LogSeparator, APromptThatEndsLikeAMarkerBeginsIsReleased) {
  LogSeparator separator;
  EXPECT_EQ(separator.Add("Continue? yes or no").own, "Continue? yes or n");
  EXPECT_EQ(separator.Release().own, "o");
  EXPECT_EQ(separator.Add("\n").own, "\n");
  // Half of a line of oneDNN is no prompt.
  EXPECT_EQ(separator.Add("onednn_verbose,exec,cpu").own, "");
  EXPECT_EQ(separator.Release().own, "");
  EXPECT_EQ(separator.Add(",sum,1.5\n").log, "onednn_verbose,exec,cpu,sum,1.5\n");
}

TEST(LogSeparator, StepMarksStayTheProgramsAndAreCopiedInTheirOrder) {
  LogSeparator separator;
  const std::string line = "onednn_verbose,exec,cpu,sum,1.5\n";
  const auto parts = Separated(
      separator, "x DLROOF_MARK,begin\nDLROOF_MA" + line + "RK,begin,1,5.5\n" + line + "y\n");
  EXPECT_EQ(parts.own, "x DLROOF_MARK,begin\nDLROOF_MARK,begin,1,5.5\ny\n");
  EXPECT_EQ(parts.log, line + "DLROOF_MARK,begin,1,5.5\n" + line);
}

}  // namespace
}  // namespace dlroof
