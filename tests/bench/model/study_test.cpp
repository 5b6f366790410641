#include "bench/model/study.h"

#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <sstream>

#include "ceilings/machine_file/specified_machine.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::model {
namespace {

using fakes::RefusalOf, record::RunFile;
using testing::ElementsAre, testing::HasSubstr, testing::StartsWith, testing::AllOf;

// DRAM of 4 TB/s is validated, L2 of 9 TB/s is not.
machine::Machine Measured(const std::string& name) {
  machine::Machine machine{.device = "gpu", .name = name, .measured_at = "2026-01-01"};
  auto& set = machine.by_threads[1];
  set.bytes[Level::kDram] = {
      .per_second = 4e12, .how = "fake", .status = machine::CeilingStatus::kValidated};
  set.bytes[Level::kL2] = {.per_second = 9e12, .how = "fake", .reasons = {"noise"}};
  return machine;
}

RunFile RunOn(const std::vector<machine::Machine>& machines) {
  return RunFile{.machines = machines};
}

std::string Refusal(const GpuChoice& choice) { return RefusalOf(ChosenGpu, choice); }

TEST(WithCeilings, ValidatedAndSpecifiedRatesReplaceTheParameters) {
  const auto v100 = delta::FindGpu("v100");
  auto machine = Measured("a V100");
  auto& set = machine.by_threads[1];
  // 60 multiply-adds a clock.
  set.flops["fp32.vector"] = {.per_second = 80 * 1.53e9 * 2 * 60,
                              .how = "fake",
                              .status = machine::CeilingStatus::kValidated};
  set.bytes[Level::kL1] = {
      .per_second = 80 * 1.53e9 * 100, .how = "fake", .status = machine::CeilingStatus::kValidated};
  set.launch_seconds = 3e-6;
  const auto gpu = WithCeilings(v100, machine);
  EXPECT_NEAR(delta::MacsPerClock(gpu, "f32"), 60, 1e-9);
  EXPECT_EQ(delta::MacsPerClock(gpu, "f16"), 512);  // not measured
  EXPECT_EQ(gpu.dram_bytes_per_second, 4e12);
  EXPECT_NEAR(gpu.l1_bytes_per_clock, 100, 1e-9);
  EXPECT_EQ(gpu.launch_seconds, 3e-6);
  EXPECT_EQ(gpu.sources.at("dram_bytes_per_second"), "measured on a V100, 2026-01-01");
  machine.device = "cpu";
  EXPECT_THAT(RefusalOf(WithCeilings, v100, machine), HasSubstr("is of a cpu"));
  auto noisy = Measured("a V100");
  noisy.by_threads[1].flops["fp32.vector"] = {.per_second = 1e12, .how = "fake"};
  const auto as_it_was = WithCeilings(v100, noisy);
  EXPECT_EQ(as_it_was.l2_bytes_per_second, v100.l2_bytes_per_second);
  EXPECT_EQ(as_it_was.sources.at("l2_bytes_per_second"), v100.sources.at("l2_bytes_per_second"));
  EXPECT_EQ(as_it_was.macs_per_clock, v100.macs_per_clock);
  const auto h100 = delta::FindGpu("h100");
  const auto same = WithCeilings(h100, machine_file::KnownGpu("h100").value());
  EXPECT_NEAR(delta::MacsPerClock(same, "f32"), delta::MacsPerClock(h100, "f32"), 1e-9);
  EXPECT_EQ(same.sources.at("launch_seconds"), h100.sources.at("launch_seconds"))
      << "assumed, and still so";
  auto specified = Measured("an H100");
  specified.by_threads[1].bytes = {
      {Level::kDram, {.per_second = 3e12, .status = machine::CeilingStatus::kSpecified}}};
  const auto replaced = WithCeilings(h100, specified);
  EXPECT_EQ(replaced.dram_bytes_per_second, 3e12);
  EXPECT_EQ(replaced.sources.at("dram_bytes_per_second"), "given for an H100, not measured");
}

TEST(ChosenGpu, IsTheRunsOwnWithItsValidatedCeilings) {
  machine::Machine cpu{.device = "cpu", .name = "a CPU"};
  const auto run = RunOn({cpu, Measured("NVIDIA H200")});
  const auto gpu = ChosenGpu({.run = &run, .run_path = "run.json"});
  EXPECT_EQ(gpu.name, delta::FindGpu("h200").name);
  EXPECT_EQ(gpu.dram_bytes_per_second, 4e12);
  EXPECT_EQ(gpu.l2_bytes_per_second, delta::FindGpu("h200").l2_bytes_per_second);
  // A machine file of that GPU beats the run's ceilings.
  auto later = Measured("NVIDIA H200 NVL");
  later.by_threads[1].bytes[Level::kDram].per_second = 5e12;
  EXPECT_EQ(ChosenGpu({.machine = &later, .run = &run}).dram_bytes_per_second, 5e12);
  // --gpu determines the GPU.
  EXPECT_EQ(ChosenGpu({.gpu = "a100", .run = &run}).dram_bytes_per_second,
            delta::FindGpu("a100").dram_bytes_per_second);
}

TEST(ChosenGpu, ARunOfAnUnknownGpuNeedsANameOrAMachineFileOfThatGpu) {
  const auto other = RunOn({Measured("NVIDIA GeForce RTX 4090")});
  EXPECT_EQ(Refusal({.run = &other, .run_path = "run.json"}),
            "run.json: no built-in parameters for 'NVIDIA GeForce RTX 4090'; give --gpu a name or "
            "a parameter file");
  EXPECT_EQ(Refusal({.gpu = "v100", .run = &other}), "accepted");
  const auto machine = Measured("NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(ChosenGpu({.machine = &machine}).name, delta::FindGpu("a100").name);
  EXPECT_EQ(ChosenGpu({.machine = &machine}).dram_bytes_per_second, 4e12);
  EXPECT_EQ(ChosenGpu({}).name, delta::FindGpu("v100").name);
  const auto a100 = Measured("NVIDIA A100-SXM4-80GB"),
             foreign = Measured("NVIDIA GeForce RTX 4090");
  EXPECT_EQ(Refusal({.gpu = "a100", .machine = &a100}), "accepted");
  EXPECT_EQ(Refusal({.gpu = "v100", .machine = &a100}),
            "--machine: the ceilings are those of 'NVIDIA A100-SXM4-80GB', not of v100; give --gpu "
            "the name or a parameter file of that GPU");
  EXPECT_THAT(Refusal({.gpu = "v100", .machine = &foreign}), HasSubstr("not of v100"));
  const auto run = RunOn({Measured("NVIDIA H200")});
  EXPECT_THAT(Refusal({.machine = &a100, .run = &run}), HasSubstr("not of h200"));
  // A parameter file accepts the ceilings of any GPU.
  const std::string own = fakes::TestData("../../counters/delta/gpus/v100.json");
  EXPECT_EQ(ChosenGpu({.gpu = own, .machine = &foreign}).dram_bytes_per_second, 4e12);
}

Design V100() { return {"", delta::FindGpu("v100"), std::nullopt}; }

LayerGroup OneLayer() { return LayersOfProblem("n64c64h56w56k256r1s1", {}); }

TEST(LayersOfSuites, EachProblemOnceWithItsCountAndTheBatchAskedFor) {
  LayerChoice choice{.batch = 256};
  const auto groups = LayersOfSuites({"alexnet,resnet152"}, choice);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].layers.size(), 5U);
  double calls = 0;
  for (const auto& layer : groups[1].layers) {
    calls += layer.count;
    EXPECT_EQ(layer.question.layer.shape.n, 256);
  }
  EXPECT_EQ(calls, 155);
  choice.direction = ProductDirection::kBackwardData;
  EXPECT_EQ(LayersOfSuites({"alexnet"}, choice)[0].layers.size(), 4U);  // none of the first layer
  EXPECT_THAT(RefusalOf([] { LayersOfSuites({"gnmt"}, {}); }), HasSubstr("suite 'gnmt' has no"));
}

TEST(Rescaled, ChangesResourcesAndTileAndRefusesInOneSentence) {
  const auto design = Rescaled(V100(), "sm=2,dram=1.5,tile=256x128");
  EXPECT_EQ(design.gpu.sms, 160);
  EXPECT_DOUBLE_EQ(design.gpu.dram_bytes_per_second, 1.5 * V100().gpu.dram_bytes_per_second);
  EXPECT_EQ(design.tile.value().m, 256);
  EXPECT_EQ(design.tile->n, 128);
  const std::pair<const char*, const char*> cases[] = {
      {"dram", "expected RESOURCE=FACTOR"},     {"", "expected RESOURCE=FACTOR"},
      {"dram=x", "expected a number, got 'x'"}, {"dram=0", "expected a factor from 1/64 to 64"},
      {"dram=2,dram=3", "dram is repeated"},    {"cache=2", "is not a resource"},
      {"tile=100x64", "expected MxN"},          {"tile=128", "expected MxN"},
      {"tile=128x64x8", "expected MxN"},        {"dram=nan", "expected"},
      {"dram=1e9", "factor from 1/64 to 64"}};
  for (const auto& [text, reason] : cases)
    EXPECT_THAT(RefusalOf(Rescaled, V100(), text), HasSubstr(reason)) << text;
}

TEST(Predict, SumsCallsAndNamesWhatBoundsThem) {
  auto group = OneLayer();
  group.layers[0].count = 3;
  const auto predicted = Predict(group, V100());
  EXPECT_DOUBLE_EQ(predicted.seconds, 3 * predicted.layers[0].seconds);
  EXPECT_EQ(MainBottleneck(predicted), predicted.layers[0].prediction.time.bottleneck);
}

TEST(Predict, ATileIsTakenWhereItIsFaster) {
  // 64 columns: a tile of 256x256 would compute four times as many.
  const auto narrow = LayersOfProblem("n64c64h56w56k64r3s3_p1", {});
  const auto wide = LayersOfProblem("n256c256h14w14k1024r1s1", {});
  const auto design = Rescaled(V100(), "mac=8,reg=4,tile=256x256");
  EXPECT_EQ(Predict(narrow, design).layers[0].prediction.tile_from, "rule");
  const auto taken = Predict(wide, design);
  EXPECT_EQ(taken.layers[0].prediction.tile_from, "request");
  EXPECT_LE(taken.seconds, Predict(wide, Rescaled(V100(), "mac=8,reg=4")).seconds);
}

TEST(GainsOfDoubling, TheMostUsefulFirstAndNoneSlower) {
  const auto gains = GainsOfDoubling(OneLayer(), V100());
  EXPECT_EQ(gains.size(), delta::ScalableResources().size());
  for (size_t i = 1; i < gains.size(); ++i) EXPECT_GE(gains[i - 1].speedup, gains[i].speedup);
  EXPECT_GT(gains[0].speedup, 1.2);
  // A layer bound by DRAM alone gains most from DRAM.
  EXPECT_EQ(GainsOfDoubling(OneLayer(), Rescaled(V100(), "dram=0.1"))[0].resource, "dram");
}

TEST(Sweep, BeginsAtOneAndNeverFalls) {
  const auto axes = ParseSweep("dram=1:4:1,l2=1:2:0.5");
  ASSERT_EQ(axes.size(), 2U);
  EXPECT_THAT(axes[0].factors, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(axes[1].factors, ElementsAre(1, 1.5, 2));
  const auto points = Sweep(OneLayer(), V100(), axes);
  ASSERT_EQ(points.size(), 12U);
  EXPECT_DOUBLE_EQ(points[0].speedup, 1);
  for (size_t i = 3; i < points.size(); ++i) EXPECT_GE(points[i].speedup, points[i - 3].speedup);
}

TEST(ParseSweep, EveryStepEndsOrIsRefusedInOneSentence) {
  const auto factors = [](const char* text) { return ParseSweep(text).at(0).factors; };
  // 1 + i * 1e-300 is 1 for all i.
  EXPECT_THAT(factors("dram=1:1:1e-300"), ElementsAre(1));
  EXPECT_THAT(factors("dram=1:1:1e300"), ElementsAre(1));
  EXPECT_THAT(factors("dram=1:2:0.75"), ElementsAre(1, 1.75));
  // 0.1 is no binary fraction: (1.3 - 1) / 0.1 is just above or below 3.
  EXPECT_EQ(factors("dram=1:1.3:0.1").size(), 4U);
  EXPECT_EQ(factors("dram=1:64:1").size(), 64U);
  const std::pair<const char*, const char*> cases[] = {
      {"dram=1:65:1", "64 values at most"},
      {"dram=1:2:1e-300", "64 values at most"},
      {"dram=1:inf:1", "64 values at most"},
      {"dram=1:4", "expected FIRST:LAST:STEP"},
      {"dram=4:1:1", "not above the last"},
      {"dram=1:4:0", "a positive step"},
      {"dram=1:1e9:1", "64 values at most"},
      {"dram=nan:4:1", "expected"},
      {"cache=1:2:1", "is not a resource"},
      {"dram=1:2:1,dram=1:2:1", "two different ones"},
      {"dram=1:2:1,l2=1:2:1,l1=1:2:1", "two different ones"}};
  for (const auto& [text, reason] : cases)
    EXPECT_THAT(RefusalOf(ParseSweep, text), HasSubstr(reason)) << text;
}

RunFile GpuRun() { return record::ReadRunFile(fakes::TestData("v100_gpu_run.json"), std::cerr); }

TEST(LayersOfRunFile, TakesTheGpusConvolutionsWithKernelsCountersAndTracedTiles) {
  const auto group = LayersOfRunFile(GpuRun(), "run.json");
  ASSERT_EQ(group.layers.size(), 2U);  // the CPU's is left out
  EXPECT_EQ(group.layers[0].measured_seconds, 0.000722);
  EXPECT_EQ(group.layers[0].measured_bytes.at(Level::kDram), 1.8e8);
  EXPECT_TRUE(group.layers[1].measured_bytes.empty());
  const auto predicted = Predict(group, V100());
  EXPECT_EQ(predicted.layers[0].prediction.tile_from, "kernel name");
  EXPECT_EQ(predicted.layers[1].prediction.tile_from, "rule");
  EXPECT_THAT(RefusalOf([] { LayersOfRunFile(RunFile{}, "x.json"); }),
              HasSubstr("x.json: the file has no convolution of a GPU"));
  // cuDNN's algorithm is an engine's number; CUPTI names the kernels.
  auto run = GpuRun();
  auto& record = run.records.at(1);
  record.algorithm = "engine 45 (stages 3), tensor_core, workspace 0 B: first of heuristic A";
  record.counting = {{"model", Provenance::kModelled, "2 kernel launches: tilesize128x32"}};
  record.kernels = {{"sm80_xmma_fprop_tilesize256x64x32_stage3"}, {"nchwToNhwcKernel<float>"}};
  const auto traced = LayersOfRunFile(run, "run.json");
  EXPECT_EQ(
      traced.layers.at(1).question.kernel,
      record.algorithm + ", sm80_xmma_fprop_tilesize256x64x32_stage3, nchwToNhwcKernel<float>");
  const auto layer = Predict(traced, V100()).layers.at(1);
  EXPECT_EQ(layer.prediction.tile_from, "kernel name");
  EXPECT_EQ(layer.prediction.plan.tile.m, 256);
  EXPECT_EQ(layer.prediction.plan.tile.n, 64);
}

// A record that the model does not cover does not affect the others.
TEST(OnlyPredicted, ListsTheOthersWithTheirReasonsOrRefusesWithTheFirst) {
  auto run = GpuRun();
  const auto add = [&](const std::string& rest, const std::string& algorithm) {
    record::Record record{.name = "Conv2D/gpu/cudnn/" + rest};
    record::SplitName(record);
    record.algorithm = algorithm;
    record.repetitions = {{.seconds = 1e-3}};
    run.records.push_back(record);
  };
  add("fwd/f64/n16c64h56w56k64r3s3_p1", "engine 1");
  add("fwd/f32/n16c64h56w56k64r3s3_p1", "xmma_256x256x8");
  add("fwd/f32/n16c64h56w56k64r3s3_p1/nchw", "engine 6, winograd");
  add("fwd/f32/of another program", "engine 1");
  const auto group = OnlyPredicted(LayersOfRunFile(run, "run.json"), V100().gpu);
  EXPECT_EQ(group.layers.size(), 2U);
  ASSERT_EQ(group.not_predicted.size(), 4U);
  EXPECT_EQ(group.not_predicted[0].name, "Conv2D/gpu/cudnn/fwd/f32/of another program");
  EXPECT_THAT(group.not_predicted[1].reason, HasSubstr("the model has no type 'f64'"));
  EXPECT_THAT(group.not_predicted[2].reason, HasSubstr("256x256 does not fit into an SM"));
  EXPECT_THAT(group.not_predicted[3].reason, HasSubstr("its kernel uses Winograd"));
  auto empty = LayersOfRunFile(GpuRun(), "run.json");
  for (auto& layer : empty.layers) layer.question.type = "f64";
  EXPECT_THAT(RefusalOf(OnlyPredicted, empty, V100().gpu),
              AllOf(StartsWith("run.json: none of its GPU convolutions"),
                    HasSubstr(empty.layers[0].name + ": the model has no type 'f64'")));
}

TEST(Residuals, ArePredictedOverMeasuredMinusOneAndThePublishedOnesOfStoredLaunches) {
  const auto predicted = Predict(LayersOfRunFile(GpuRun(), "run.json"), V100());
  const auto& first = predicted.layers[0];
  const auto residuals = Residuals(first);
  ASSERT_EQ(residuals.size(), 3U);
  EXPECT_DOUBLE_EQ(residuals.at("time"), first.seconds / 0.000722 - 1);
  EXPECT_DOUBLE_EQ(residuals.at("dram"), delta::Total(first.prediction.traffic.dram) / 1.8e8 - 1);
  EXPECT_EQ(Residuals(predicted.layers[1]).size(), 1U);  // unknown is absent
  const auto means = MeanAbsoluteResiduals(predicted);
  EXPECT_DOUBLE_EQ(means.at("dram"), std::abs(residuals.at("dram")));
  EXPECT_DOUBLE_EQ(
      means.at("time"),
      (std::abs(residuals.at("time")) + std::abs(Residuals(predicted.layers[1]).at("time"))) / 2);
  // The stored launches beside their prediction: the errors that README publishes.
  const std::string folder = fakes::TestData("../../baselines/studies/delta_scaling");
  const auto run = record::ReadRunFile(folder + "/v100-deepcam-launches.json", std::cerr);
  const Design v100{"", delta::FindGpu(folder + "/v100-1305mhz.json"), std::nullopt};
  const auto launches = Predict(LayersOfRunFile(run, "launches"), v100);
  EXPECT_EQ(launches.layers.size(), 9U);
  auto stored = MeanAbsoluteResiduals(launches);
  const auto expect = [](std::map<std::string, double>& found,
                         const std::map<std::string, double>& published) {
    for (const auto& [level, error] : published)
      EXPECT_NEAR(found[level], error, level == "time" ? 0.0015 : 0.0005) << level;
  };
  expect(stored, {{"l1", 0.010}, {"l2", 0.082}, {"dram", 0.020}, {"time", 0.087}});
  auto medians = MedianAbsoluteResiduals(launches);
  expect(medians, {{"l1", 0.008}, {"l2", 0.101}, {"dram", 0.007}, {"time", 0.068}});
}

TEST(SetPredictions, MakesARunFileThatHoldsThem) {
  ModelReport report;
  report.base = V100();
  report.run = GpuRun();
  report.groups = {Predict(LayersOfRunFile(*report.run, "run.json"), report.base)};
  SetPredictions(report.groups[0], report.base.gpu, *report.run);
  std::ostringstream warnings;
  const auto read = record::ParseRunFile(ToJson(report).dump(), "x", warnings);
  ASSERT_EQ(read.records.size(), GpuRun().records.size());
  int predicted = 0;
  for (const auto& record : read.records) {
    if (!record.prediction) continue;
    const auto& layer = report.groups[0].layers.at(static_cast<size_t>(predicted++));
    EXPECT_EQ(record.name, layer.layer.name);
    EXPECT_EQ(record.prediction->seconds, layer.seconds);
    EXPECT_EQ(record.prediction->bytes.at(Level::kDram),
              delta::Total(layer.prediction.traffic.dram));
    EXPECT_EQ(record.prediction->bytes.at(Level::kL2),
              delta::L2TileBytes(layer.prediction.traffic));
    EXPECT_THAT(record.prediction->by, HasSubstr("DeLTA-style model of NVIDIA Tesla V100"));
  }
  EXPECT_EQ(predicted, 2) << "the CPU's record has none";
}

}  // namespace
}  // namespace dlroof::model
