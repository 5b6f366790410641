// cuDNN without a GPU: it takes the graphs of attention for GPUs that are only described.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/attention/cudnn/backend.h"
#include "tests/bench/cudnn/described_graphs.h"

namespace dlroof::attention {
namespace {

using testing::HasSubstr;

std::string Planned(const std::string& rest, int compute_capability = 90, bool compile = false) {
  const auto request = ReadCudnnCase(workload::ParseBenchmarkName("Attention/gpu/cudnn/" + rest));
  return fakes::Planned([&](cudnn::GraphCall& call) { Describe(request, call); },
                        compute_capability, compile);
}

constexpr const char* kMasks[] = {
    "b2h8q512k512d128",           "b2h8q512k512d128_kv2tl",    "b2h8q512k512d128_kv1w128tl",
    "b2h8q128k512d128_br",        "b2h8q128k512d64_kv2w100br", "b2h8q500k500d128_l100:500",
    "b2h8q100k300d64_l101:300br", "b2h8q1k1000d128_kv2",       "b2h8q1k1000d128_kv2l10:1000"};

// Returns a line for each call that is not as expected.
std::string Unexpected(const std::vector<std::string>& names, const std::string& expected) {
  std::string text;
  for (const auto& name : names)
    if (const auto planned = Planned(name); planned.find(expected) == std::string::npos)
      text += fmt::format("{}: {}\n", name, planned);
  return text;
}

TEST(CudnnAttentionDeathTest, EveryMaskIsPlannedForHopper) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  std::vector<std::string> names = {"fwd/f16/b2h8q1k1000d128_kv2/page16",
                                    "fwd/bf16/b2h8q64k1000d128_kv2br/page128",
                                    "fwd/f16/b2h8q1k1000d128_l3:1000/training/page64",
                                    "fwd/fp8/b2h8q512k512d128_kv2",
                                    "fwd/fp8/b2h8q512k512d256_tl/training",
                                    "fwd/fp8/b2h8q512k512d128_l100:512"};
  for (const std::string mask : kMasks)
    for (const std::string& name :
         {"fwd/f16/" + mask, "fwd/bf16/" + mask + "/training", "bwd/bf16/" + mask})
      names.push_back(name);
  EXPECT_EQ(fakes::WithStub([&] { return Unexpected(names, "proposed"); }), "");
}

TEST(CudnnAttentionDeathTest, KernelsCompileUpToTheirLoad) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EQ(fakes::WithStub([] {
              return Planned("fwd/f16/b1h8q512k512d128_kv2tl", 90, true) + ", " +
                     Planned("bwd/bf16/b1h8q512k512d128", 90, true) + ", " +
                     Planned("fwd/fp8/b1h8q512k512d128", 90, true);
            }),
            "compiled, compiled, compiled");
}

// Each refusal is known before any memory is allocated.
TEST(CudnnAttentionDeathTest, WhatCudnnLacksIsRefusedWithTheReason) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  const auto refused = [](const std::string& rest, int capability = 90) {
    return fakes::WithStub([&] { return Planned(rest, capability); });
  };
  EXPECT_THAT(refused("fwd/fp8/b2h8q128k512d128_br"), HasSubstr("only supported on Blackwell"));
  EXPECT_THAT(refused("fwd/f16/b1h8q512k512d100"), HasSubstr("hidden_dim should be multiple of 8"));
  EXPECT_THAT(refused("fwd/fp8/b1h8q512k512d128", 80), HasSubstr("Hopper"));
  EXPECT_THAT(refused("fwd/f16/b1h8q512k512d128", 75), HasSubstr("cuDNN 9"));
  EXPECT_EQ(refused("bwd/fp8/b1h8q512k512d128"), "fp8 attention has no bwd here, only fwd");
}

}  // namespace
}  // namespace dlroof::attention
