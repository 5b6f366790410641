#include <gtest/gtest.h>

#include <random>

#include "bench/profile/verbose_run.h"

namespace dlroof::profile {
namespace {

constexpr const char* kLines[] = {
    "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)\n",
    "onednn_verbose,info,oneDNN v2.7.3 (commit N/A)\n",
    "onednn_verbose,v1,1795369563814.305908,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:"
    "f0,,,216x147:147x16,36.4011\n",
    "onednn_verbose,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd:f0,attr-scratchpad:user "
    ",,8x64x56x56,5.20605\n",
    "dnnl_verbose,create:cache_miss,cpu,reorder,jit:uni,undef,,,64x64x3x3,0.109863\n",
    "onednn_verbose,1795373324964.981934,exec,cpu,convolution,jit:avx2,,,mb8_ic64,0.5\n"};

// The program's own output: parts of markers, carriage returns, colours, zeros, no last newline.
constexpr const char* kOwn[] = {"epoch 1: 40 %\r",
                                "\x1b[32mdone\x1b[0m\n",
                                "onednn_verbose is set\n",
                                "onednn_verbose,",
                                "dnnl_verbos",
                                "the lemon, o",
                                "dnn",
                                "loss,0.5\n",
                                "\xff\xfe\x80",
                                "\n",
                                "_verbose,info,",
                                "images/s: 12.5\n",
                                "dnnl_verbose,x"};

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

// All bytes given at once, the parts and how many lines there are, and are cut.
struct Separation {
  std::string all, own, log;
  std::size_t lines, cut;
};

TEST(LogSeparator, LinesThatAreCutOrMarkedFindTheirPlace) {
  const std::string sum = "onednn_verbose,exec,cpu,sum,1.5\n", mark = "DLROOF_MARK,begin,1,5.5\n";
  const Separation separations[] = {
      // Its program is killed.
      {"step 1\nonednn_verbose,v1,primitive,exec,cpu,conv", "step 1\n",
       "onednn_verbose,v1,primitive,exec,cpu,conv\n", 0, 1},
      // Another one cuts it.
      {"aonednn_verbose,exec,cpu,re" + sum + "images/s: 7, wait\n", "aimages/s: 7, wait\n",
       "onednn_verbose,exec,cpu,re\n" + sum, 1, 1},
      // Step marks stay the program's and are copied in their order.
      {"x DLROOF_MARK,begin\n" + mark.substr(0, 9) + sum + mark.substr(9) + sum + "y\n",
       "x DLROOF_MARK,begin\n" + mark + "y\n", sum + mark + sum, 2, 0}};
  for (const auto& [all, own, log, lines, cut] : separations) {
    SCOPED_TRACE(all);
    LogSeparator separator;
    const auto begin = separator.Add(all), rest = separator.End();
    EXPECT_EQ(begin.own + rest.own, own);
    EXPECT_EQ(begin.log + rest.log, log);
    EXPECT_EQ(separator.lines(), lines);
    EXPECT_EQ(separator.cut_lines(), cut);
  }
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

}  // namespace
}  // namespace dlroof::profile
