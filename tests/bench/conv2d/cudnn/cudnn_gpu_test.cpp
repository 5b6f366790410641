// cuDNN's benchmarks on a GPU: compares every result with the plain loops. Skipped without a GPU.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/conv2d/cudnn/plans.h"
#include "bench/cudnn/support.h"
#include "bench/lstm/case.h"
#include "bench/lstm/cudnn/backend.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "counters/cuda/device.h"
#include "tests/fakes/no_gpu.h"
#include "tests/fakes/outcome.h"

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr, testing::StartsWith, testing::Pointwise, testing::FloatNear, testing::Not;

class GpuCudnnOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const auto status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0)
      GTEST_SKIP() << fakes::NeedsGpu(std::string("no GPU here: ") + cudaGetErrorString(status));
  }

  // f32 and f16 everywhere; the others from 8.0 on, or refused with a reason.
  static bool MustRun(const std::string& type) {
    return type == "f32" || type == "f16" || cuda::ComputeCapability() >= 80;
  }

  static void ExpectRight(const std::string& name, const std::string& type) {
    const auto outcome = fakes::Outcome(name);
    if (MustRun(type))
      EXPECT_THAT(outcome, StartsWith("ok ")) << name;
    else
      EXPECT_THAT(outcome, StartsWith("unsupported: ")) << name;
  }
};

// The GPU's convolutions in the suites paper and gpu_more, by name. A name without its cache state
// has the same proposals.
std::map<std::string, CudnnConv2dCase> SuitesConvolutions() {
  std::map<std::string, CudnnConv2dCase> cases;
  for (const auto& suite : suites::SelectSuites({"paper", "gpu_more"}, {.cpu = false, .gpu = true}))
    for (const auto& layer : suite.layers) {
      auto name = workload::ParseBenchmarkName(layer.name);
      std::erase(name.options, "cold");
      if (name.op == "Conv2D") cases.emplace(ToText(name), ReadCudnnConv2dCase(name));
    }
  return cases;
}

// Needs no GPU. gpu_more has a cold convolution and one of every engine.
TEST(SuitesConvolutionsForCudnn, EveryNameIsReadWithoutTheOptionsOfAllBackends) {
  const auto cases = SuitesConvolutions();
  EXPECT_GT(cases.size(), 78U);  // those of paper
  EXPECT_EQ(cases.count("Conv2D/gpu/cudnn/fwd/f16/n16c64h56w56k64r3s3_p1"), 1U);
  EXPECT_EQ(cases.at("Conv2D/gpu/cudnn/fwd/f16/n16c64h56w56k64r3s3_p1/best").choice,
            EngineChoice::kBest);
}

constexpr const char* kDirections[] = {"fwd", "bwd_data", "bwd_weights"};
constexpr const char* kTypes[] = {"f32", "tf32", "f16", "bf16"};

// Writes this GPU's properties, from which the tests of described GPUs take theirs.
TEST_F(GpuCudnnOnGpu, PropertiesAndProposalsOfThisGpuAreWrittenDown) {
  const auto handle = cudnn::Handle();
  cudnn::Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.Set(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  properties.Finalize("the properties of this GPU");
  const auto text =
      properties.Get<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR);
  auto file = nlohmann::json{{"cudnn", cudnnGetVersion()}, {"proposals", nlohmann::json::object()}};
  file["properties"] = nlohmann::json::parse(text.begin(), std::ranges::find(text, 0));
  const auto target = Target::Here();
  for (const auto& [name, request] : SuitesConvolutions()) {
    auto& proposals = file["proposals"][name] = nlohmann::json::array();
    const Graph graph(GraphOf(request), target);
    for (const auto& proposal : Propose(graph, target, true))
      proposals.push_back({{"engine", proposal.config.engine},
                           {"knobs", proposal.config.knobs},
                           {"notes", proposal.config.notes},
                           {"heuristic", proposal.config.heuristic}});
    EXPECT_FALSE(proposals.empty()) << name;
  }
  const auto path = testing::TempDir() + "cudnn.proposals.json";
  std::ofstream(path) << file.dump(1) << '\n';
  std::cout << "proposals: " << path << '\n';
}

TEST_F(GpuCudnnOnGpu, ConvolutionsAgreeWithTheReference) {
  for (const auto* problem :
       {"n2c16h10w10k16r3s3_p1", "n2c3h11w13k5r5s3_s2p2x1", "n1c8h9w12k8r2s3_s2x1p0:1x2:0",
        "n2c8h12w12k8r3s3_p2d2", "n2c12h8w8k18r3s3_p1g3", "n2c16h9w9k16r3s3_s2p1g16",
        "n3c32h7w7k48r1s1", "n1c64h28w28k64r3s3_p1", "n8c64h56w56k64r3s3_p1"})
    for (const auto* direction : kDirections)
      for (const auto* type : {"f32", "f16"})
        for (const auto* layout : {"", "/nchw"})
          ExpectRight(fmt::format("Conv2D/gpu/cudnn/{}/{}/{}{}", direction, type, problem, layout),
                      type);
}

TEST_F(GpuCudnnOnGpu, ConvolutionsOfEveryTypeAgreeWithTheReference) {
  for (const auto* direction : kDirections)
    for (const auto* type : kTypes)
      ExpectRight(
          fmt::format("Conv2D/gpu/cudnn/{}/{}/n4c64h28w28k64r3s3_s2p0:1x0:1", direction, type),
          type);
}

TEST_F(GpuCudnnOnGpu, Fp8AgreesWithTheReference) {
  for (const auto* problem :
       {"n4c64h28w28k64r3s3_p1", "n2c16h14w14k32r1s1", "n8c64h56w56k64r3s3_s2p1"}) {
    const auto outcome = fakes::Outcome(fmt::format("Conv2D/gpu/cudnn/fwd/fp8/{}", problem));
    constexpr int kFirstWithFp8 = 89;
    EXPECT_THAT(outcome,
                StartsWith(cuda::ComputeCapability() >= kFirstWithFp8 ? "ok " : "unsupported: "))
        << problem;
  }
}

TEST_F(GpuCudnnOnGpu, WhatCudnnLacksIsRefusedWithAReason) {
  EXPECT_THAT(fakes::Outcome("Conv2D/gpu/cudnn/fwd/int8/n4c64h28w28k64r3s3_p1"),
              HasSubstr("unsupported: cuDNN proposes no engine"));
  EXPECT_THAT(fakes::Outcome("Conv2D/gpu/cudnn/fwd/f16/n4c64h28w28k64r3s3_p1/engine9999"),
              HasSubstr("unsupported: none of "));
  EXPECT_THAT(fakes::Outcome("Conv2D/gpu/cudnn/bwd_data/s8s8s8/n4c64h28w28k64r3s3_p1"),
              HasSubstr("unsupported: int8 convolutions have no backward pass"));
  EXPECT_THAT(fakes::Outcome("LSTM/gpu/cudnn/fwd_inference/f32/t2n2i8h8bisum"),
              HasSubstr("unsupported: cuDNN concatenates"));
}

TEST_F(GpuCudnnOnGpu, TheFastestEngineIsNoSlowerThanTheHeuristics) {
  for (const auto* type : {"f32", "f16"}) {
    const auto call = workload::MakeWorkload(
                          fmt::format("Conv2D/gpu/cudnn/fwd/{}/n8c64h56w56k64r3s3_p1/best", type))
                          .prepare({});
    ASSERT_TRUE(call.heuristic_over_best.has_value());
    EXPECT_GE(*call.heuristic_over_best, 1);
    EXPECT_TRUE(call.verify().ok) << call.algorithm;
    EXPECT_THAT(call.algorithm, HasSubstr("fastest of "));
  }
}

// A variant, padding by a copy, and f32 bwd_weights with unequal padding, for which some of cuDNN's
// engines are wrong.
TEST_F(GpuCudnnOnGpu, VariantsAndPaddingAgreeWithTheReference) {
  std::vector<std::string> calls = {"fwd/f16/n4c64h28w28k64r3s3_p1/bias",
                                    "fwd/f16/n4c64h28w28k64r3s3_p1/bias/relu",
                                    "fwd/f32/n4c64h28w28k64r3s3_p1/bias/relu",
                                    "fwd/s8s8s8/n4c64h28w28k64r3s3_p1",
                                    "fwd/s8s8f32/n4c64h28w28k64r3s3_p1",
                                    "fwd/s8s8s8/n4c64h28w28k64r3s3_p1/bias/relu",
                                    "bwd_weights/f32/n16c64h112w112k64r3s3_s2p0:1x0:1/best",
                                    "bwd_weights/f32/n16c64h112w112k64r7s7_s2p2:3x2:3/best",
                                    "bwd_weights/f32/n16c64h112w112k64r9s9_s2p3:4x3:4/best"};
  for (const auto* direction : kDirections)
    for (const auto* type : {"f32", "f16"})
      for (const auto* layout : {"", "/nchw"})
        for (const auto* problem : {"n2c16h11w13k8r3s3_s2p0:1x2:1", "n2c8h10w10k16r3s3_p1"})
          calls.push_back(fmt::format("{}/{}/{}{}/padded", direction, type, problem, layout));
  for (const auto& call : calls)
    EXPECT_THAT(fakes::Outcome("Conv2D/gpu/cudnn/" + call), StartsWith("ok ")) << call;
}

TEST_F(GpuCudnnOnGpu, ANumberedEngineIsThatEngine) {
  const std::string name = "Conv2D/gpu/cudnn/fwd/f16/n8c64h56w56k64r3s3_p1";
  const auto chosen = workload::MakeWorkload(name).prepare({}).algorithm;  // "engine 62 (..."
  const auto number = chosen.substr(7, chosen.find_first_of(" ,", 7) - 7);
  EXPECT_EQ(workload::MakeWorkload(name + "/engine" + number).prepare({}).algorithm, chosen);
}

TEST_F(GpuCudnnOnGpu, LstmsAgreeWithTheReference) {
  for (const auto* direction : {"fwd_inference", "fwd_training", "bwd"})
    for (const auto* type : kTypes)
      for (const auto* problem : {"t1n1i8h8", "t7n4i16h32", "t5n3i24h16l2", "t4n2i16h32l2bi",
                                  "t6n4i16h32p16", "t3n2i13h11"})
        ExpectRight(fmt::format("LSTM/gpu/cudnn/{}/{}/{}", direction, type, problem), type);
}

TEST_F(GpuCudnnOnGpu, ARestoredReserveGivesTheSameGradients) {
  const auto request =
      lstm::ReadCudnnLstmCase(workload::ParseBenchmarkName("LSTM/gpu/cudnn/bwd/f32/t7n4i16h32"));
  const lstm::LstmGpuCall call(request, lstm::SeededLstmInput(request.problem, 7, "f32"),
                               lstm::SeededLstmGradient(request.problem, 7));
  call.Renew();
  call.Run();
  const auto first = call.Gradients();
  for (int i = 0; i < 3; ++i) call.Run();
  call.Restore();
  call.Run();
  const auto again = call.Gradients();
  EXPECT_THAT(again.source, Pointwise(FloatNear(1e-5F), first.source));
  EXPECT_THAT(again.layers[0].input, Pointwise(FloatNear(1e-4F), first.layers[0].input));
}

// cuDNN decides which shapes the persistent algorithms accept. An accepted shape must give the
// right result, and each algorithm accepts one with h and i multiples of 128, a small h, and n a
// multiple of 8.
TEST_F(GpuCudnnOnGpu, PersistentLstmsAgreeWithTheReferenceOrAreRefused) {
  for (const auto* algorithm : {"persist-static", "persist-small-h", "persist-dynamic"}) {
    int ran = 0;
    for (const auto* direction : {"fwd_inference", "fwd_training", "bwd"})
      for (const auto* type : {"f32", "f16"})
        for (const auto* problem :
             {"t8n8i64h64", "t8n16i128h128", "t8n16i256h256", "t4n8i512h512l2"}) {
          const auto name =
              fmt::format("LSTM/gpu/cudnn/{}/{}/{}/{}", direction, type, problem, algorithm);
          const auto outcome = fakes::Outcome(name);
          EXPECT_THAT(outcome, Not(StartsWith("wrong"))) << name;
          ran += outcome.starts_with("ok ") ? 1 : 0;
        }
    EXPECT_GT(ran, 0) << algorithm;
  }
}

// Captured into a graph and launched from there, the same result.
void ExpectToBeCaptured(const std::string& name) {
  const auto call = workload::MakeWorkload(name).prepare({});
  const cuda::CudaStream stream;
  call.gpu->enqueue(stream.get());
  stream.Wait();
  cuda::CheckCuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
                  "capture");
  call.gpu->enqueue(stream.get());
  cudaGraph_t graph = nullptr;
  cuda::CheckCuda(cudaStreamEndCapture(stream.get(), &graph), "capture");
  cudaGraphExec_t executable = nullptr;
  cuda::CheckCuda(cudaGraphInstantiate(&executable, graph, 0), "graph");
  cuda::CheckCuda(cudaGraphLaunch(executable, stream.get()), "graph");
  stream.Wait();
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_TRUE(call.verify().ok) << name;
}

TEST_F(GpuCudnnOnGpu, CallsCanBeCapturedIntoAGraph) {
  for (const auto* name :
       {"Conv2D/gpu/cudnn/fwd/f16/n8c64h56w56k64r3s3_p1",
        "Conv2D/gpu/cudnn/bwd_data/f16/n8c64h56w56k64r3s3_p1",
        "Conv2D/gpu/cudnn/bwd_weights/f16/n8c64h56w56k64r3s3_p1",
        "Conv2D/gpu/cudnn/fwd/f16/n8c64h56w56k64r3s3_p0:1x0:1/padded",
        "Conv2D/gpu/cudnn/bwd_data/f16/n8c64h56w56k64r3s3_p0:1x0:1/padded",
        "LSTM/gpu/cudnn/fwd_inference/f16/t8n8i64h64", "LSTM/gpu/cudnn/fwd_training/f16/t8n8i64h64",
        "LSTM/gpu/cudnn/bwd/f16/t8n8i64h64",
        "LSTM/gpu/cudnn/fwd_inference/f16/t8n16i128h128/persist-static"})
    EXPECT_NO_THROW(ExpectToBeCaptured(name)) << name;
}

}  // namespace
}  // namespace dlroof::conv2d
