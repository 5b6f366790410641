#include "bench/conv2d/cudnn/plans.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string_view>

#include "bench/lstm/cudnn/backend.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "tests/bench/cudnn/described_graphs.h"
#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr;

// cuDNN without a GPU: it takes our descriptors, proposes engines and finalizes plans for GPUs that
// are only described.

// Our tables have cuDNN's order.
static_assert(CUDNN_NUMERICAL_NOTE_TENSOR_CORE == static_cast<int>(Note::kTensorCore));
static_assert(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ==
              static_cast<int>(Note::kDownConvertInputs));
static_assert(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ==
              static_cast<int>(Note::kReducedPrecisionReduction));
static_assert(CUDNN_NUMERICAL_NOTE_FFT == static_cast<int>(Note::kFft));
static_assert(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC == static_cast<int>(Note::kNondeterministic));
static_assert(CUDNN_NUMERICAL_NOTE_WINOGRAD == static_cast<int>(Note::kWinograd));
static_assert(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 == static_cast<int>(Note::kWinograd4x4));
static_assert(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 == static_cast<int>(Note::kWinograd6x6));
static_assert(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13 == static_cast<int>(Note::kWinograd13x13));
static_assert(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP == static_cast<int>(Note::kStrictNan));
static_assert(CUDNN_RNN_ALGO_STANDARD == static_cast<int>(lstm::RnnAlgorithm::kStandard));
static_assert(CUDNN_RNN_ALGO_PERSIST_STATIC ==
              static_cast<int>(lstm::RnnAlgorithm::kPersistStatic));
static_assert(CUDNN_RNN_ALGO_PERSIST_DYNAMIC ==
              static_cast<int>(lstm::RnnAlgorithm::kPersistDynamic));
static_assert(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H ==
              static_cast<int>(lstm::RnnAlgorithm::kPersistSmallH));

TEST(CudnnTables, NameKnobsInCudnnsOrder) {
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_TILE_SIZE), "tile_size");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_STAGES), "stages");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_SPLIT_K_SLC), "split_k_slc");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_KERNEL_CFG), "kernel_cfg");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_TILE_CGA_N), "tile_cga_n");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_STREAM_K), "stream_k");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_TILE_M), "tile_m");
  EXPECT_EQ(KnobName(CUDNN_KNOB_TYPE_SWAP_AB), "swap_ab");
}

CudnnConv2dCase Request(const std::string& rest) {
  return ReadCudnnConv2dCase(workload::ParseBenchmarkName("Conv2D/gpu/cudnn/" + rest));
}

// All proposals of the heuristics, and those that the type allows and that cuDNN can plan.
struct Proposals {
  std::vector<EngineConfig> proposed, usable;
};
Proposals ProposalsOf(const CudnnConv2dCase& request, const fakes::DescribedGpu& gpu) {
  const auto target = Target::Described(fakes::Json(gpu));
  const Graph graph(GraphOf(request), target);
  Proposals proposals;
  for (const auto& proposal : Propose(graph, target, request.choice == EngineChoice::kBest)) {
    proposals.proposed.push_back(proposal.config);
    workload::Failure failure;
    if (ForbiddenReason(request.conv, proposal.config)) continue;
    if (const auto plan = MakePlan(proposal, target, failure)) {
      EXPECT_GE(plan->workspace_bytes, 0);
      proposals.usable.push_back(proposal.config);
    } else {
      EXPECT_NE(failure.text, "");
      EXPECT_FALSE(failure.broken) << failure.text;
    }
  }
  return proposals;
}

class CudnnOn : public testing::TestWithParam<fakes::DescribedGpu> {
 protected:
  static int Capability() { return GetParam().compute_capability; }
  static Proposals Of(const std::string& rest) { return ProposalsOf(Request(rest), GetParam()); }
};

constexpr const char* kPlanDirections[] = {"fwd", "bwd_data", "bwd_weights"};
constexpr const char* kUsual = "n32c64h56w56k64r3s3_p1";

TEST_P(CudnnOn, F32HasEnginesAndNoneOfThemUsesTensorCores) {
  for (const auto* direction : kPlanDirections)
    for (const auto* layout : {"", "/nchw"}) {
      const auto proposals = Of(fmt::format("{}/f32/{}{}", direction, kUsual, layout));
      EXPECT_FALSE(proposals.usable.empty()) << direction << layout;
      for (const auto& config : proposals.usable) {
        EXPECT_FALSE(HasNote(config, Note::kTensorCore)) << direction << layout;
        EXPECT_FALSE(HasNote(config, Note::kDownConvertInputs)) << direction << layout;
        EXPECT_EQ(ConvPipe(Request("fwd/f32/n1c1h1w1k1r1s1").conv, config), "fp32.vector");
      }
    }
}

// This is why ForbiddenReason is needed: cuDNN itself would run "f32" as TF32 on GPUs with TF32.
TEST_P(CudnnOn, TheFirstProposalForF32IsTf32WhereThereIsTf32) {
  const auto proposals = Of(fmt::format("fwd/f32/{}", kUsual));
  ASSERT_FALSE(proposals.proposed.empty());
  EXPECT_EQ(HasNote(proposals.proposed.front(), Note::kTensorCore), Capability() >= 80);
}

TEST_P(CudnnOn, Tf32IsTensorCoresFromCapability80On) {
  for (const auto* direction : kPlanDirections) {
    const auto proposals = Of(fmt::format("{}/tf32/{}", direction, kUsual));
    EXPECT_EQ(proposals.usable.empty(), Capability() < 80) << direction;
    for (const auto& config : proposals.usable)
      EXPECT_TRUE(HasNote(config, Note::kTensorCore)) << direction;
  }
}

TEST_P(CudnnOn, F16IsFirstOfAllOnTensorCores) {
  for (const auto* direction : kPlanDirections)
    for (const auto* layout : {"", "/nchw"}) {
      const auto proposals = Of(fmt::format("{}/f16/{}{}", direction, kUsual, layout));
      ASSERT_FALSE(proposals.usable.empty()) << direction << layout;
      EXPECT_EQ(ConvPipe(Request("fwd/f16/n1c1h1w1k1r1s1").conv, proposals.usable.front()),
                "fp16.matrix")
          << direction << layout;
    }
}

// All fp8 engines are compiled at run time, and cuDNN does not propose such engines without a
// driver: see IsProposedFromCapability89OnWhereThereIsADriver.
TEST_P(CudnnOn, TypesAndFusionsHaveEnginesFromTheirCapabilityOn) {
  constexpr int kNever = 999;
  for (const auto& [call, first] : {std::pair("fwd/bf16/{}", 80),
                                    {"bwd_data/bf16/{}", 80},
                                    {"bwd_weights/bf16/{}", 80},
                                    {"fwd/s8s8s8/{}", 0},
                                    {"fwd/s8s8f32/{}", 0},
                                    {"fwd/int8/{}", kNever},
                                    {"fwd/f16/{}/bias", 0},
                                    {"fwd/f16/{}/bias/relu", 0},
                                    {"fwd/f32/{}/bias/relu", 0},
                                    {"fwd/s8s8s8/{}/bias/relu", 0}})
    EXPECT_EQ(Of(fmt::format(fmt::runtime(call), kUsual)).usable.empty(), Capability() < first)
        << call;
  EXPECT_NO_THROW(Of(fmt::format("fwd/fp8/{}", kUsual)));
}

// Each problem has a property that is easy to get wrong.
TEST_P(CudnnOn, EveryShapeHasAnEngineInEveryDirection) {
  for (const auto* problem :
       {"n2c3h11w13k5r5s3_s2p2x1", "n1c8h9w12k6r2s3_s2x1p0:1x2:0", "n2c8h12w12k8r3s3_p2d2",
        "n1c4h10w9k4r3s2_p1d1x2", "n2c12h8w8k18r3s3_p1g3", "n2c16h9w9k16r3s3_s2p1g16",
        "n3c32h7w7k48r1s1", "n1c1h1w1k1r1s1", "n16c64h112w112k64r3s3_s2p0:1x0:1"})
    for (const auto* direction : kPlanDirections)
      for (const auto* type : {"f32", "f16"})
        EXPECT_FALSE(Of(fmt::format("{}/{}/{}", direction, type, problem)).usable.empty())
            << direction << ' ' << type << ' ' << problem;
}

TEST_P(CudnnOn, KernelsAreToldApartByTheirKnobs) {
  const auto proposals = Of(fmt::format("fwd/f16/{}/best", kUsual));
  EXPECT_GT(proposals.proposed.size(), 20U);
  for (size_t i = 0; i < proposals.proposed.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(SameKernel(proposals.proposed[i], proposals.proposed[j])) << i << ' ' << j;
  EXPECT_TRUE(std::ranges::any_of(
      proposals.proposed, [](const EngineConfig& proposal) { return !proposal.knobs.empty(); }));
}

// The default and the fastest start from the same engine, so that their ratio is meaningful.
TEST_P(CudnnOn, BestBeginsWithTheHeuristicsChoice) {
  const auto first = Of(fmt::format("fwd/f32/{}", kUsual));
  const auto all = Of(fmt::format("fwd/f32/{}/best", kUsual));
  ASSERT_FALSE(first.usable.empty() || all.usable.empty());
  EXPECT_TRUE(SameKernel(first.usable.front(), all.usable.front()));
  EXPECT_GE(all.usable.size(), first.usable.size());
}

INSTANTIATE_TEST_SUITE_P(DescribedGpus, CudnnOn, testing::ValuesIn(fakes::kDescribedGpus),
                         [](const auto& tested) {
                           return fmt::format("sm{}", tested.param.compute_capability);
                         });

// Writes the result of `text` in a separate process, where the stub of a driver cannot affect other
// tests.
void WriteAndExit(const std::function<std::string()>& text) {
  if (dlopen(DLROOF_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) == nullptr) std::_Exit(2);
  std::cerr << text();
  std::_Exit(0);
}

// Returns the compute capabilities for which cuDNN proposes fp8 engines. The toolkit's stub of a
// driver is sufficient for proposals, but not for plans.
std::string Fp8Proposals() {
  std::string text;
  for (const auto& gpu : fakes::kDescribedGpus) {
    const auto request = Request(fmt::format("fwd/fp8/{}/best", kUsual));
    const auto target = Target::Described(fakes::Json(gpu));
    const Graph graph(GraphOf(request), target);
    const auto proposals = Propose(graph, target, true);
    const bool usable = std::ranges::all_of(proposals, [&](const Proposal& proposal) {
      return !ForbiddenReason(request.conv, proposal.config) &&
             HasNote(proposal.config, Note::kTensorCore);
    });
    if (!proposals.empty() && usable) text += fmt::format("{} ", gpu.compute_capability);
  }
  return text;
}

TEST(CudnnFp8DeathTest, IsProposedFromCapability89OnWhereThereIsADriver) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EXIT(WriteAndExit(Fp8Proposals), testing::ExitedWithCode(0), "^89 90 100 120 $");
}

// NVRTC compiles the engines that cuDNN proposes for 9.0 only with a driver. The stub of a driver
// refuses to load the result, and no earlier step fails.
std::string CompiledAndNotLoaded(const std::string& type) {
  const auto target = Target::Described(fakes::Json(fakes::kDescribedGpus[4]));
  const Graph graph(GraphOf(Request(fmt::format("fwd/{}/{}/best", type, kUsual))), target);
  int compiled = 0;
  std::string text;
  for (const auto& proposal : Propose(graph, target, true)) {
    workload::Failure failure;
    if (MakePlan(proposal, target, failure)) continue;
    if (failure.text.find("cuLibraryLoadData returned error") != std::string::npos)
      ++compiled;
    else
      text += fmt::format("engine {}: {}\n", proposal.config.engine, failure.text);
  }
  return fmt::format("{} {}{} ", type, compiled, text);
}

TEST(CudnnFp8DeathTest, EnginesOfEveryTypeCompileUpToTheirLoad) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  const auto compile = [] {
    std::string text;
    for (const auto* type : {"fp8", "f16", "bf16", "tf32", "s8s8s8"})
      text += CompiledAndNotLoaded(type);
    return text;
  };
  EXPECT_EXIT(WriteAndExit(compile), testing::ExitedWithCode(0),
              "^fp8 4 f16 1 bf16 1 tf32 1 s8s8s8 1 $");
}

// Returns the f32 convolutions of our suites whose engine on a GPU of 9.0 copies its tensors.
std::string WhatIsCopied() {
  const auto target = Target::Described(fakes::Json(fakes::kDescribedGpus[4]));
  std::string text;
  for (const auto& suite : suites::SelectSuites({"paper", "gpu_more"}, {.cpu = false, .gpu = true}))
    for (const auto& layer : suite.layers) {
      const auto name = workload::ParseBenchmarkName(layer.name);
      if (name.op != "Conv2D" || name.type != "f32") continue;
      const auto request = ReadCudnnConv2dCase(name);
      const Graph graph(GraphOf(request), target);
      workload::Failure failure;
      for (const auto& proposal : Propose(graph, target, false)) {
        if (ForbiddenReason(request.conv, proposal.config)) continue;
        const auto plan = MakePlan(proposal, target, failure);
        if (!plan) continue;
        const PlanChoice choice{.config = proposal.config,
                                .workspace_bytes = plan->workspace_bytes,
                                .tensor_bytes = TensorBytes(GraphOf(request))};
        // cuDNN does not say so, but the workspace then holds all tensors and a few bytes.
        const double beside = static_cast<double>(plan->workspace_bytes) - choice.tensor_bytes;
        if (beside >= 0 && beside <= 4096)
          text += fmt::format("{}: {}\n", layer.name, DescribeCall(request, choice));
        break;
      }
    }
  return text + "that is all";
}

TEST(CudnnF32DeathTest, OfTheSuitesIsTimedWithoutCopiesOfItsTensors) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EXIT(WriteAndExit(WhatIsCopied), testing::ExitedWithCode(0), "^that is all$");
}

std::string Words(const GraphSpec& spec) {
  return fakes::RefusalOf<Unsupported>(
      [&] { const Graph graph(spec, Target::Described(fakes::Json(fakes::kDescribedGpus[4]))); });
}

TEST(CudnnGraph, ShapesThatDoNotFitAreRefusedInCudnnsWordsAndPaddingOfTheTwoAxesIsNotMixedUp) {
  auto spec = GraphOf(Request("fwd/f16/n2c8h8w8k8r3s3_p1"));
  EXPECT_EQ(Words(spec), "accepted");
  spec.tensors[2].dimensions[2] = 9;
  EXPECT_THAT(Words(spec), HasSubstr("CUDNN_STATUS_"));
  // 9 rows with 0 + 1 of padding, filters of 2, stride 2: 5. 6 columns with 4 + 1, filters of 3: 9.
  spec = GraphOf(Request("fwd/f16/n1c8h9w6k8r2s3_s2x1p0:1x4:1"));
  EXPECT_EQ(TensorOf(spec, kDestinationId).dimensions, (std::array<int64_t, 4>{1, 8, 5, 9}));
  EXPECT_EQ(Words(spec), "accepted");
  std::swap(spec.problem.pad_top, spec.problem.pad_left);
  EXPECT_THAT(Words(spec), HasSubstr("CUDNN_STATUS_"));
}

TEST(CudnnSupport, TypesThatCudnnLacksAreDefectsOfOurs) {
  EXPECT_EQ(cudnn::DataType("bf16"), CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(cudnn::DataType("s8"), CUDNN_DATA_INT8);
  EXPECT_EQ(cudnn::DataType("e4m3"), CUDNN_DATA_FP8_E4M3);
  EXPECT_THROW(cudnn::DataType("tf32"), std::logic_error);
}

// Without a handle cuDNN checks the arguments of an LSTM against each other.
class RnnDescriptors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudnnCreateRNNDescriptor(&rnn_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateDropoutDescriptor(&dropout_), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override {
    cudnnDestroyRNNDescriptor(rnn_);
    cudnnDestroyDropoutDescriptor(dropout_);
  }
  cudnnRNNDescriptor_t rnn_ = nullptr;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
};

lstm::CudnnLstmCase Lstm(const std::string& rest) {
  return lstm::ReadCudnnLstmCase(workload::ParseBenchmarkName("LSTM/gpu/cudnn/" + rest));
}

TEST_F(RnnDescriptors, TakeEveryTypeAndAlgorithm) {
  for (const auto* type : {"f32", "tf32", "f16", "bf16"})
    for (const auto* algorithm : {"", "/persist-static", "/persist-small-h", "/persist-dynamic"})
      for (const auto* problem : {"t4n2i16h32", "t4n2i16h32l2bi"})
        EXPECT_NO_THROW(lstm::SetRnn(Lstm(fmt::format("bwd/{}/{}{}", type, problem, algorithm)),
                                     dropout_, rnn_))
            << type << algorithm << problem;
  EXPECT_NO_THROW(lstm::SetRnn(Lstm("bwd/f16/t4n2i16h32p16"), dropout_, rnn_));
}

TEST_F(RnnDescriptors, HoldWhatTheCaseSays) {
  lstm::SetRnn(Lstm("bwd/tf32/t4n2i16h32l3p8bi"), dropout_, rnn_);
  cudnnRNNAlgo_t algorithm{};
  cudnnRNNMode_t mode{};
  cudnnRNNBiasMode_t bias{};
  cudnnDirectionMode_t direction{};
  cudnnRNNInputMode_t input_mode{};
  cudnnDataType_t data{}, sums{};
  cudnnMathType_t math{};
  int input = 0, hidden = 0, projection = 0, layers = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  unsigned flags = 0;
  ASSERT_EQ(cudnnGetRNNDescriptor_v8(rnn_, &algorithm, &mode, &bias, &direction, &input_mode, &data,
                                     &sums, &math, &input, &hidden, &projection, &layers, &dropout,
                                     &flags),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(algorithm, CUDNN_RNN_ALGO_STANDARD);
  EXPECT_EQ(mode, CUDNN_LSTM);
  EXPECT_EQ(direction, CUDNN_BIDIRECTIONAL);
  EXPECT_EQ(data, CUDNN_DATA_FLOAT);
  EXPECT_EQ(sums, CUDNN_DATA_FLOAT);
  EXPECT_EQ(math, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(input, 16);
  EXPECT_EQ(hidden, 32);
  EXPECT_EQ(projection, 8);
  EXPECT_EQ(layers, 3);
}

TEST_F(RnnDescriptors, RefuseInCudnnsWords) {
  const auto wide = Lstm("bwd/f32/t4n2i16h32p64");  // a projection wider than the cell
  EXPECT_THAT(fakes::RefusalOf<Unsupported>([&] { lstm::SetRnn(wide, dropout_, rnn_); }),
              HasSubstr("CUDNN_STATUS_"));
}

// cuDNN without a GPU: it takes the graphs of convolutions of volumes.

TEST(CudnnConv3dDeathTest, EveryDirectionIsPlannedForHopper) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EQ(fakes::WithStub([] {
              std::string text;
              for (const auto* problem :
                   {"n1c384d3h32w32k384t3r3s3_p0x1x1", "n1c96d5h16w16k96t3r3s3_p2:0x1:1x1:1",
                    "n2c64d8h14w14k128t3r3s3_s2p1", "n1c64d8h14w14k64t3r1s1_p1x0x0g2"})
                for (const std::string way :
                     {"fwd/f16/@", "fwd/bf16/@/bias", "bwd_data/bf16/@", "bwd_weights/f16/@"})
                  text +=
                      fakes::Planned(
                          [&](cudnn::GraphCall& call) {
                            auto name = "Conv3D/gpu/cudnn/" + way;
                            name.replace(name.find('@'), 1, problem);
                            Describe(ReadCudnnConv3dCase(workload::ParseBenchmarkName(name)), call);
                          },
                          90, false) +
                      ' ';
              return text;
            }),
            "proposed proposed proposed proposed proposed proposed proposed proposed "
            "proposed proposed proposed proposed proposed proposed proposed proposed ");
}

}  // namespace
}  // namespace dlroof::conv2d
