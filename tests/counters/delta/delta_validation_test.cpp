#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "counters/delta/model.h"
#include "counters/delta/prediction.h"
#include "tests/counters/delta/brute_force.h"
#include "tests/test_data.h"

namespace dlroof::delta {
namespace {

// The DeLTA-style model against published V100 counters, and against the convolutions that one H200
// counted.

// The V100 of the published rows ran at 1.30 to 1.31 GHz.
GpuSpec V100() {
  GpuSpec gpu = FindGpu("v100");
  gpu.clock_hz = 1.305e9;
  return gpu;
}

// DeepCAM's PyTorch FP32 forward convolutions, batch 2, single launches: counters from the raw
// Nsight Compute logs of github.com/cyanguwa/DeepLearningProfiling; shapes follow from the executed
// multiply-adds, tile widths from the kernels' names and the padding that these show. [MB, kclock]
struct Launch {
  int id;
  int64_t c, h, w, k, r, stride, pad, tile_n;
  double l1, l2, dram, kclocks;
};
const std::vector<Launch>& Launches() {
  static const std::vector<Launch> launches = {
      {0, 16, 768, 1152, 32, 3, 2, 1, 32, 714, 263, 177, 519},
      {2, 64, 384, 576, 128, 1, 1, 0, 64, 567, 491, 457, 885},
      {4, 128, 192, 288, 128, 1, 1, 0, 64, 225, 202, 171, 426},
      {5, 64, 384, 576, 128, 1, 2, 0, 64, 199, 180, 171, 324},
      {6, 128, 192, 288, 256, 1, 1, 0, 64, 449, 409, 342, 795},
      {8, 256, 96, 144, 256, 1, 1, 0, 64, 196, 187, 138, 399},
      {10, 256, 96, 144, 728, 1, 1, 0, 128, 408, 399, 253, 1290},
      {11, 728, 96, 144, 728, 1, 1, 0, 64, 1468, 1466, 1043, 3151},
      {64, 1024, 48, 72, 1024, 1, 1, 0, 64, 694, 698, 242, 1634}};
  return launches;
}

ConvPrediction Predict(const Launch& launch) {
  ConvQuestion question{.layer = Layer(2, launch.c, launch.h, launch.w, launch.k, launch.r,
                                       launch.stride, launch.pad),
                        .tile = CtaTile{128, launch.tile_n}};
  return PredictConv(question, V100());
}

TEST(DeltaOnV100, BytesTimesAndLowerBoundAreNearTheCountersOfEachLaunch) {
  int filled = 0;
  std::vector<double> errors;
  for (const auto& launch : Launches()) {
    SCOPED_TRACE(launch.id);
    const auto [traffic, time] = std::pair(Predict(launch).traffic, Predict(launch).time);
    EXPECT_NEAR(L1Bytes(traffic) / (launch.l1 * 1e6), 1, 0.03);
    // The form of tiles is above the counters by at most 16 %.
    EXPECT_GT(L2TileBytes(traffic) / (launch.l2 * 1e6), 0.99);
    EXPECT_LT(L2TileBytes(traffic) / (launch.l2 * 1e6), 1.16);
    // DRAM is within 5 % where rows fill the chip. 54 rows of CTAs on 80 SMs: one read per column,
    // as with a full chip, would be 485 MB; the wave rule brings it within 25 %.
    const int64_t pixels = 2 * (launch.h / launch.stride) * (launch.w / launch.stride);
    const bool full = static_cast<double>(pixels) / 128 >= 2 * 80;
    filled += full ? 1 : 0;
    EXPECT_EQ(full, launch.id != Launches().back().id);
    EXPECT_NEAR(Total(traffic.dram) / (launch.dram * 1e6), 1, full ? 0.05 : 0.25);
    const double kclocks = V100().clock_hz / 1e3;
    EXPECT_LE(time.lower_bound_seconds * kclocks, launch.kclocks);
    EXPECT_LE(time.lower_bound_seconds, time.seconds);
    errors.push_back(std::abs(time.seconds * kclocks / launch.kclocks - 1));
  }
  EXPECT_EQ(filled, 8);
  EXPECT_LE(Median(errors), 0.10);
  EXPECT_LE(*std::ranges::max_element(errors), 0.25);
  // Bounds of launch 0 by hand: 3456 CTAs on 80 SMs are 44 each, 36 steps of 128 x 32 x 4
  // multiply-adds at 64 a clock: 44 x 36 x 256 = 405,504 clocks.
  EXPECT_NEAR(Predict(Launches()[0]).time.lower_bound_seconds * V100().clock_hz, 405504, 1);
}

// TensorFlow's DeepLab: published are the errors of both L2 forms, so their ratio is known. A few
// lines of the image, as the ratio does not depend on its height.
TEST(DeltaOnV100, L2FormsStandToEachOtherAndDramOfDeepLabIsAsPublished) {
  struct Case {
    ConvLayer layer;
    double step_error, tile_error;
  };
  const std::vector<Case> cases = {{Layer(1, 16, 24, 1152, 64, 7, 2, 3), 0.29, 0.03},
                                   {Layer(1, 64, 12, 288, 64, 3, 1, 1), 0.18, 0.09},
                                   {Layer(1, 64, 12, 288, 64, 3, 2, 1), 0.20, 0.07}};
  for (const auto& launch : cases) {
    const auto bytes = BruteTraffic(launch.layer, {128, 64, 8}, CachesOf(V100()));
    EXPECT_NEAR(L2StepBytes(bytes) / L2TileBytes(bytes),
                (1 + launch.step_error) / (1 + launch.tile_error), 0.02);
  }
  const auto dram = [](const ConvLayer& layer) {
    return Total(ModelTraffic(layer, {128, 64, 8}, CachesOf(V100())).dram) / 1e6;
  };
  EXPECT_NEAR(dram(Layer(1, 16, 768, 1152, 64, 7, 2, 3)) / 119, 1, 0.06);
  EXPECT_NEAR(dram(Layer(1, 64, 192, 288, 64, 3, 1, 1)) / 29, 1, 0.05);
  EXPECT_NEAR(dram(Layer(1, 64, 192, 288, 64, 3, 2, 1)) / 18, 1, 0.05);
}

// ---- the time-based roofline paper's convolutions ----

struct Row {
  ConvLayer layer;
  double seconds = 0, l2_bytes = 0, dram_bytes = 0;
  std::string text;
};

// PyTorch's FP32 forward rows with a stride (stride 1 ran as Winograd): 112 x 112 x 64 inputs, no
// padding; three launches: offsets, volta_scudnn_128x64, bias.
std::vector<Row> PaperRows() {
  std::ifstream file(fakes::TestData("v100_conv2d_measured.csv"));
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("pytorch1.5,FP32,") || line.find(",fwd,") == std::string::npos) continue;
    std::istringstream fields(line);
    std::vector<std::string> field;
    for (std::string text; std::getline(fields, text, ',');) field.push_back(text);
    const int64_t taps = field[2][0] - '0', stride = std::stoll(field[3]);
    if (stride == 1) continue;
    const int64_t filters = std::stoll(field[2].substr(field[2].rfind('x') + 1));
    const double flops = std::stod(field[8]) * 1e9;
    rows.push_back({Layer(std::stoll(field[4]), 64, 112, 112, filters, taps, stride, 0),
                    std::stod(field[6]) * 1e-3, flops / std::stod(field[11]),
                    flops / std::stod(field[10]), line});
  }
  return rows;
}

double OutputBytes(const ConvLayer& layer) {
  const auto gemm = GemmOf(layer);
  return 4.0 * static_cast<double>(gemm.m * gemm.n);
}

ConvPrediction Predict(const Row& row) {
  ConvQuestion question{.layer = row.layer, .kernel = "volta_scudnn_128x64_relu_interior_nn_v1"};
  return PredictConv(question, V100());
}

// Bytes that the counters do not see: bytes written last that are still in L2 when their kernel
// ends. The bias kernel works in place, so that all of L2 holds written lines; of the convolution's
// traffic the written share is.
double LeftInL2(const Row& row) {
  const auto dram = Predict(row).traffic.dram;
  const double output = OutputBytes(row.layer), cache = V100().l2_bytes;
  return std::min(output, cache) + cache * dram.c / Total(dram);
}

// More images add 94.1 MB per 16 (from 32 to 64), which leaves -7.4 MB for none: no traffic of the
// kernels, but what they leave in a cache of 6.3 MB, twice.
TEST(DeltaOnV100, CountersLeaveOutWhatStaysInL2) {
  std::map<int64_t, double> bytes;
  for (const auto& row : PaperRows())
    if (row.layer.shape.k == 64 && row.layer.shape.r == 3 && row.layer.shape.stride_h == 2)
      bytes[row.layer.shape.n] = row.dram_bytes;
  ASSERT_EQ(bytes.size(), 3U);
  const double per16 = (bytes[64] - bytes[32]) / 2;
  EXPECT_NEAR(bytes[16] - per16, -7.4e6, 0.1e6);
  EXPECT_NEAR(bytes[32] - 2 * per16, -7.2e6, 0.1e6);
  for (const auto& row : PaperRows()) {
    const auto& shape = row.layer.shape;
    if (shape.n != 16 || shape.k != 64 || shape.stride_h != 2) continue;
    EXPECT_NEAR(LeftInL2(row), 7.45e6, 0.1e6) << row.text;
  }
}

TEST(DeltaOnV100, BytesAndTimesOfThePapersConvolutions) {
  const auto rows = PaperRows();
  ASSERT_EQ(rows.size(), 9U);
  std::vector<double> errors;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto& shape = row.layer.shape;
    const auto predicted = Predict(row);
    const auto dram = predicted.traffic.dram;
    // The bias kernel reads and writes the output once more.
    const double passes = 2 * OutputBytes(row.layer);
    // 512 filters -5.5 %, stride 3 +7.1 %: why stands in baselines/studies/delta_scaling/README.md.
    const bool misses = shape.stride_h == 3 || shape.k == 512;
    EXPECT_NEAR((Total(dram) + passes) / row.dram_bytes, 1, misses ? 0.075 : 0.051);
    // With what stays in L2 put back, inputs are read again in part where the taps of neighbouring
    // tiles overlap.
    const double missed = row.dram_bytes + LeftInL2(row) - Total(dram) - passes;
    const double most = shape.stride_h == shape.r ? 0.04 : shape.r == 9 ? 0.07 : 0.125;
    EXPECT_GT(missed / dram.a, most - 0.025);
    EXPECT_LT(missed / dram.a, most);
    // Errors stated with the derivation: 3x3/2 +1 %, stride 3 +5 %, 7x7 +9 %, 9x9 +14 %.
    const double stated = shape.stride_h == 3 ? 0.05
                          : shape.r == 3      ? 0.01
                          : shape.r == 7      ? 0.09
                                              : 0.14;
    EXPECT_NEAR((L2TileBytes(predicted.traffic) + passes) / row.l2_bytes - 1, stated, 0.03);
    EXPECT_LE(predicted.time.lower_bound_seconds, row.seconds);
    // The measured time has the bias kernel in it, two passes over the output.
    const double bias = passes / V100().dram_bytes_per_second;
    errors.push_back(std::abs((predicted.time.seconds + bias) / row.seconds - 1));
  }
  EXPECT_LE(Median(errors), 0.15);
}

struct Call {
  std::string name, algorithm, kernels;
  bool judged = false;
  double l2 = 0, dram = 0, dram_read = 0, fabric = 0;  // [byte] counted
};

std::vector<Call> Calls() {
  const std::string path =
      fakes::TestData("../../baselines/studies/delta-hopper/2026-11-26-h200-counted.json");
  std::vector<Call> calls;
  const auto json = ParsedJson(ReadFile(path, "counted convolutions"), path);
  for (const auto& row : json.at("calls")) {
    const auto& values = row.at("values");
    Call call{row.at("name"), row.at("algorithm"), "", row.at("use") == "judge"};
    for (const auto& kernel : row.at("kernels"))
      call.kernels += ", " + kernel.at("name").get<std::string>();
    call.l2 = 32 * values.at("lts__t_sectors_srcunit_tex.sum").get<double>();
    call.fabric = 32 * values.at("lts__t_sectors_srcunit_ltcfabric.sum").get<double>();
    call.dram = values.at("dram__bytes.sum");
    call.dram_read = values.at("dram__bytes_read.sum");
    calls.push_back(call);
  }
  return calls;
}

bool Has(const Call& call, std::string_view part) {
  return call.name.find(part) != std::string::npos;
}

// n16c64h112w112k64r3s3_s2p0:1x0:1, which all of them compute.
ConvQuestion QuestionOf(const Call& call, const std::string& kernel) {
  ConvQuestion question{.kernel = kernel, .known_kernel_only = true};
  question.layer.shape = {16, 64, 112, 112, 64, 3, 3, 2, 2, 0, 1, 0, 1, 1, 1, 1};
  question.layer.direction = Has(call, "/fwd/")        ? ProductDirection::kForward
                             : Has(call, "/bwd_data/") ? ProductDirection::kBackwardData
                                                       : ProductDirection::kBackwardWeights;
  question.layer.layout = Has(call, "/nchw") ? TensorLayout::kNchw : TensorLayout::kNhwc;
  for (const auto* type : {"bf16", "f16", "tf32", "f32"})
    if (Has(call, std::string("/") + type + "/")) question.type = type;
  return question;
}
ConvPrediction Predict(const Call& call) {
  return PredictConv(QuestionOf(call, call.algorithm + call.kernels), FindGpu("h200"));
}

// The tensors are 64 MB, more than L2 holds.
TEST(DeltaOnH200, SevenAreLearntFromAndFourAreJudgedByBytesOfL2AndDram) {
  const auto calls = Calls();
  EXPECT_EQ(calls.size(), 11U);
  EXPECT_EQ(std::ranges::count_if(calls, &Call::judged), 4);
  std::vector<double> l2_errors, dram_errors;
  for (const auto& call : calls) {
    const auto bytes = KnownBytes(Predict(call));
    const double l2 = std::abs(bytes.at(Level::kL2) / call.l2 - 1);
    EXPECT_LT(l2, call.judged ? 0.16 : 0.11) << call.name;
    if (!call.judged) continue;
    l2_errors.push_back(l2);
    dram_errors.push_back(std::abs(bytes.at(Level::kDram) / call.dram - 1));
  }
  EXPECT_NEAR(Median(l2_errors), 0.054, 0.003);
  EXPECT_NEAR(Median(dram_errors), 0.078, 0.003);
  EXPECT_LT(*std::ranges::max_element(dram_errors), 0.11);
}

// Two of the model's assumptions are needed: without each, L2 is off by these errors.
TEST(DeltaOnH200, L2NeedsClustersAndCoalescingAndHalfOfWhatIsTouchedCrossesPartitions) {
  GpuSpec apart = FindGpu("h200");
  apart.coalesced_sms = 1;
  for (const auto& call : Calls()) {
    auto question = QuestionOf(call, call.algorithm + call.kernels);
    const auto error = [&](const GpuSpec& gpu) {
      return KnownBytes(PredictConv(question, gpu)).at(Level::kL2) / call.l2 - 1;
    };
    if (Has(call, "/fwd/f32/")) {
      EXPECT_NEAR(error(apart), 0.17, 0.02);
    } else if (Has(call, "/bwd_data/f32/")) {
      EXPECT_NEAR(error(apart), 0.76, 0.03);
    } else if (Has(call, "/fwd/f16/")) {
      question.kernel = call.kernels;  // the name does not say the cluster
      EXPECT_NEAR(error(FindGpu("h200")), 0.42, 0.02);
    }
  }
  // Two partitions: half of all bytes that are read from DRAM once, or written, have their home in
  // the other one. More crosses where CTAs on both sides read the same.
  for (const auto& call : Calls()) {
    if (!Has(call, "/fwd/tf32/") && !Has(call, "/fwd/f32/")) continue;
    const double written = 4.0 * 16 * 64 * 56 * 56;
    EXPECT_NEAR(call.fabric / ((call.dram_read + written) / 2), 1, 0.03) << call.name;
  }
}

TEST(DeltaOnH200, KnobsAndNamesAgreeAndACallWhoseKernelIsNotKnownIsRefused) {
  int engines = 0;
  for (const auto& call : Calls()) {
    EXPECT_TRUE(RefusalReason(QuestionOf(call, ""), FindGpu("h200"))) << call.name;
    EXPECT_FALSE(RefusalReason(QuestionOf(call, call.kernels), FindGpu("h200"))) << call.name;
    // The knobs of Hopper's engines say as much as the names of their kernels.
    const auto question = QuestionOf(call, call.algorithm);
    if (RefusalReason(question, FindGpu("h200"))) continue;
    const auto by_knobs = PredictConv(question, FindGpu("h200"));
    EXPECT_EQ(by_knobs.tile_from, "engine");
    EXPECT_EQ(KnownBytes(by_knobs), KnownBytes(Predict(call))) << call.name;
    ++engines;
  }
  EXPECT_EQ(engines, 9);
}

struct Trial {
  ConvLayer layer;
  CtaTile tile;
  CacheShape caches;
};

ConvShape RandomShape(std::mt19937_64& random) {
  ConvShape s;
  s.groups = Pick(random, {1, 1, 1, 1, 2, 4});
  s.n = Pick(random, {1, 2, 3, 4});
  s.c = s.groups * Pick(random, {3, 8, 16, 24, 32});
  s.k = s.groups * Pick(random, {8, 16, 32, 48, 96});
  s.r = Pick(random, {1, 1, 3, 3, 3, 5, 7});
  s.s = Pick(random, {0, 0, 0, 0, 0, 1, 3});
  if (s.s == 0) s.s = s.r;
  s.h = Pick(random, {7, 9, 13, 14, 19, 23, 27, 28, 32, 35});
  s.w = Pick(random, {0, 0, 7, 10, 14, 17, 28, 31, 40, 55});
  if (s.w == 0) s.w = s.h;
  s.stride_h = s.stride_w = Pick(random, {1, 1, 1, 2, 2, 3, 4});
  s.dilation_h = s.dilation_w = Pick(random, {1, 1, 1, 1, 2, 3});
  if (Pick(random, {0, 1, 1, 1}) == 1) {
    s.pad_top = s.pad_bottom = (s.r - 1) / 2 * s.dilation_h;
    s.pad_left = s.pad_right = (s.s - 1) / 2 * s.dilation_w;
  }
  return s;
}

Trial RandomTrial(std::mt19937_64& random) {
  Trial trial;
  do {
    trial.layer.shape = RandomShape(random);
  } while (OutputRows(trial.layer.shape) < 1 || OutputColumns(trial.layer.shape) < 1);
  trial.layer.direction = static_cast<ProductDirection>(Pick(random, {0, 1, 2}));
  trial.layer.layout = static_cast<TensorLayout>(Pick(random, {0, 1}));
  trial.layer.element_bytes = Pick(random, {1, 2, 2, 4, 4, 4, 8});
  trial.tile = {Pick(random, {64, 128, 128, 256}), Pick(random, {32, 64, 128}),
                Pick(random, {4, 8, 8, 16, 32})};
  if (trial.layer.direction == ProductDirection::kBackwardWeights)
    trial.tile.slices = Pick(random, {1, 2, 4, 8});
  // L2 sizes [byte] and CTAs per wave are small, so that most layers do not fit.
  trial.caches.l2 = {static_cast<double>(Pick(random, {30, 100, 400, 2000})) * 1e3,
                     static_cast<double>(Pick(random, {5, 20, 54, 108}))};
  return trial;
}

std::string Text(const Trial& trial) {
  const auto& s = trial.layer.shape;
  return fmt::format(
      "{} {} {} byte n{}c{}h{}w{}k{}r{}s{}_s{}p{}x{}d{}g{} tile {}x{}x{}, K in {}, {} CTAs a wave, "
      "L2 {} kB",
      Key(trial.layer.direction), trial.layer.layout == TensorLayout::kNhwc ? "nhwc" : "nchw",
      trial.layer.element_bytes, s.n, s.c, s.h, s.w, s.k, s.r, s.s, s.stride_h, s.pad_top,
      s.pad_left, s.dilation_h, s.groups, trial.tile.m, trial.tile.n, trial.tile.k,
      trial.tile.slices, trial.caches.l2.ctas_per_wave, trial.caches.l2.bytes / 1e3);
}

std::array<double, 4> Levels(const TrafficBytes& bytes) {
  return {L1Bytes(bytes), L2StepBytes(bytes), L2TileBytes(bytes), Total(bytes.dram)};
}

TEST(ModelTraffic, IsCloseToTheExactCountOnRandomLayersAndAnAlignedPointwiseLayerIsExact) {
  constexpr size_t kLayers = 60;
  constexpr const char* kLevels[] = {"L1", "L2 step", "L2 tile", "DRAM"};
  std::array<std::vector<std::pair<double, std::string>>, 4> errors;  // absolute, by level
  std::mt19937_64 random(2026);
  for (size_t i = 0; i < kLayers; ++i) {
    const auto trial = RandomTrial(random);
    const auto model = Levels(ModelTraffic(trial.layer, trial.tile, trial.caches));
    const auto exact = Levels(BruteTraffic(trial.layer, trial.tile, trial.caches));
    for (size_t level = 0; level < errors.size(); ++level)
      errors[level].emplace_back(std::abs(model[level] / exact[level] - 1), Text(trial));
  }
  for (size_t level = 0; level < errors.size(); ++level) {
    std::ranges::sort(errors[level]);
    EXPECT_LE(errors[level][kLayers / 2].first, 0.05) << kLevels[level];
    const auto& [percentile95, layer] = errors[level][kLayers - 1 - kLayers / 20];
    EXPECT_LE(percentile95, 0.20) << kLevels[level] << ": " << layer;
  }
  // 1x1 on 32x32 planes: 32 lanes are 4 sectors, a step of 8 channels shares nothing. A: 1024 x 64
  // floats = 8192 sectors for each of 2 columns; B: 128 x 64 = 1024 sectors for each of 8 rows.
  const auto layer = Layer(1, 64, 32, 32, 128, 1, 1, 0);
  const auto bytes = ModelTraffic(layer, {128, 64, 8}, {32, 32, {0, 8}});
  EXPECT_DOUBLE_EQ(bytes.l1_loads, 32.0 * (2 * 8192 + 8 * 1024));
  EXPECT_DOUBLE_EQ(bytes.l2_step_loads, bytes.l1_loads);
  EXPECT_DOUBLE_EQ(bytes.l2_tile_loads, bytes.l1_loads);
  EXPECT_DOUBLE_EQ(bytes.stores, 4.0 * 1024 * 128);
  // Waves of 8 CTAs: one column each; A twice, B once.
  EXPECT_DOUBLE_EQ(bytes.dram.a, 2 * 4.0 * 1024 * 64);
  EXPECT_DOUBLE_EQ(bytes.dram.b, 4.0 * 128 * 64);
}

// The layer above: CTAs of a cluster load common data once. L1, and what is not common, stay.
TEST(ModelTraffic, AClusterLoadsCommonDataOnceAndPartialSumsAreWrittenAndReadOfEachSlice) {
  auto layer = Layer(1, 64, 32, 32, 128, 1, 1, 0);
  const auto bytes = [&](int64_t m, int64_t n, double taps) {
    return ModelTraffic(layer, {128, 64, 8, 1, m, n, taps}, {32, 32, {0, 8}});
  };
  const double l1 = bytes(1, 1, 1).l1_loads;
  for (const auto& tall : {bytes(8, 1, 1), bytes(9, 1, 1)}) {  // all 8 rows
    EXPECT_DOUBLE_EQ(tall.l2_tile_loads, 32.0 * (2 * 8192 + 1024));
    EXPECT_DOUBLE_EQ(tall.l2_step_loads, tall.l2_tile_loads);
    EXPECT_DOUBLE_EQ(tall.l1_loads, l1);
  }
  EXPECT_DOUBLE_EQ(bytes(3, 1, 1).l2_tile_loads, 32.0 * (2 * 8192 + 3 * 1024));  // 3, 3, 2 rows
  EXPECT_DOUBLE_EQ(bytes(1, 2, 1).l2_tile_loads, 32.0 * (8192 + 8 * 1024));
  // A quarter of the filters' taps.
  EXPECT_DOUBLE_EQ(bytes(1, 1, 0.25).l2_tile_loads, 32.0 * (2 * 8192 + 2 * 1024));
  // A cluster's columns run together, so that DRAM is read once for both.
  EXPECT_DOUBLE_EQ(bytes(1, 2, 1).dram.a, 4.0 * 1024 * 64);
  EXPECT_THROW(bytes(0, 1, 1), BadInput);
  layer = Layer(8, 4, 8, 8, 8, 1, 1, 0);
  layer.direction = ProductDirection::kBackwardWeights;  // m 8, n 4, k 512
  layer.element_bytes = 2;
  layer.layout = TensorLayout::kNhwc;
  const auto stores = [&](int64_t slices) {
    return ModelTraffic(layer, {16, 16, 8, slices}, {32, 32, {0, 8}}).stores;
  };
  EXPECT_DOUBLE_EQ(stores(4), stores(1) + 2 * 4 * 4 * (8 * 4));
}

// [1] IFmap loads of L1 over the elements loaded, padding included: values of a brute-force program
// for published layers (32-byte sectors).
TEST(BruteOperand, LoadInefficiencyOfPublishedLayers) {
  struct Case {
    ConvLayer layer;
    double inefficiency;
  };
  const std::vector<Case> cases = {{Layer(4, 16, 14, 14, 64, 3, 1, 1), 1.199},
                                   {Layer(4, 16, 28, 28, 64, 1, 1, 0), 1.000},
                                   {Layer(16, 16, 7, 7, 64, 1, 1, 0), 1.356},
                                   {Layer(4, 16, 56, 56, 64, 1, 2, 0), 2.000}};
  for (const auto& [layer, inefficiency] : cases) {
    const auto gemm = GemmOf(layer);
    const Brute brute{layer};
    const auto a = BruteOperand([&](int64_t m, int64_t k) { return brute.A(m, k); }, gemm.m, gemm.k,
                                128, 8, gemm.k, gemm.a.lanes_along_columns, 32);
    EXPECT_NEAR(32 * a.warp / (4.0 * static_cast<double>(gemm.m * gemm.k)), inefficiency, 0.03);
  }
}

// Each tile touches 10 sectors of its own.
double TenEach(const IndexRanges& tiles) {
  double sum = 0;
  for (const auto& [begin, end] : tiles) sum += 10.0 * static_cast<double>(end - begin);
  return sum;
}
double NoSectors(const IndexRanges&) { return 0; }

TEST(CopiesInL2, AreOneAtHomeAndOneWhereAReaderIsAndExplainTheCapacityThatIsMeasured) {
  EXPECT_EQ(CopiesInL2(1, 1), 1);
  EXPECT_EQ(CopiesInL2(1, 100), 1);
  EXPECT_EQ(CopiesInL2(2, 1), 1.5);
  EXPECT_EQ(CopiesInL2(2, 2), 1.75);
  EXPECT_NEAR(CopiesInL2(2, 100), 2, 1e-9);
  EXPECT_NEAR(CopiesInL2(4, 1), 1.75, 1e-12);  // 3 of 4 are not at home
  // Measured by gpu-benches: the rate of L2 falls beyond 28160 KiB on A100, 36864 KiB on H100.
  const auto usable = [](const char* gpu) {
    const auto spec = FindGpu(gpu);
    return spec.l2_bytes / 1024 / CopiesInL2(spec.l2_partitions, 1);
  };
  EXPECT_NEAR(usable("a100") / 28160, 1, 0.04);
  EXPECT_NEAR(usable("h100") / 36864, 1, 0.08);
  EXPECT_EQ(usable("v100"), 6144);
}

TEST(WalkWaves, TwoPartitionsHoldLess) {
  // Rows are read once per column: 80 sectors take 1.5 copies after the first column.
  EXPECT_EQ(WalkWaves({8, 3, 4, 120, 2}, TenEach, NoSectors).a, 80);
  EXPECT_EQ(WalkWaves({8, 3, 4, 119, 2}, TenEach, NoSectors).a, 240);
}

TEST(GemmOf, RefusesWhatCannotBe) {
  EXPECT_THROW(GemmOf(Layer(1, 1, 2, 2, 1, 3, 1, 0)), BadInput);
  EXPECT_THROW(GemmOf(Layer(0, 1, 2, 2, 1, 1, 1, 0)), BadInput);
  auto layer = Layer(1, 3, 2, 2, 4, 1, 1, 0);
  layer.shape.groups = 2;
  EXPECT_THROW(GemmOf(layer), BadInput);
  layer.shape.groups = 1;
  layer.element_bytes = 9;
  EXPECT_THROW(GemmOf(layer), BadInput);
}

}  // namespace
}  // namespace dlroof::delta
