#include "bench/predict/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ceilings/cache/given_machine.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::predict {
namespace {

using testing::HasSubstr;

// DRAM of 4 TB/s is proved, L2 of 9 TB/s is not.
machine::Machine Measured(const std::string& name) {
  machine::Machine machine{.device = "gpu", .name = name, .measured_at = "2026-01-01"};
  auto& set = machine.by_threads[1];
  set.bytes[Level::kDram] = {.per_second = 4e12, .how = "fake", .proved = true};
  set.bytes[Level::kL2] = {.per_second = 9e12, .how = "fake", .reasons = {"noise"}};
  return machine;
}

record::RunFile RunOn(const std::vector<machine::Machine>& machines) { return record::RunFile{.machines = machines}; }

std::string Refusal(const GpuChoice& choice) {
  return fakes::RefusalOf([&] { ChosenGpu(choice); });
}

TEST(WithCeilings, MeasuredRatesReplaceTheParameters) {
  const auto v100 = delta::FindGpu("v100");
  auto machine = Measured("a V100");
  auto& set = machine.by_threads[1];
  // 60 multiply-adds a clock.
  set.flops["fp32.vector"] = {.per_second = 80 * 1.53e9 * 2 * 60, .how = "fake", .proved = true};
  set.bytes[Level::kL1] = {.per_second = 80 * 1.53e9 * 100, .how = "fake", .proved = true};
  set.launch_seconds = 3e-6;
  const auto gpu = WithCeilings(v100, machine);
  EXPECT_NEAR(delta::MacsPerClock(gpu, "f32"), 60, 1e-9);
  EXPECT_EQ(delta::MacsPerClock(gpu, "f16"), 512);  // not measured
  EXPECT_EQ(gpu.dram_bytes_per_second, 4e12);
  EXPECT_NEAR(gpu.l1_bytes_per_clock, 100, 1e-9);
  EXPECT_EQ(gpu.launch_seconds, 3e-6);
  EXPECT_EQ(gpu.sources.at("dram_bytes_per_second"), "measured on a V100, 2026-01-01");
  machine.device = "cpu";
  EXPECT_THAT(fakes::RefusalOf([&] { WithCeilings(v100, machine); }), HasSubstr("is of a cpu"));
}

TEST(WithCeilings, WhatIsNotProvedIsNotTaken) {
  const auto v100 = delta::FindGpu("v100");
  auto machine = Measured("a V100");
  machine.by_threads[1].flops["fp32.vector"] = {.per_second = 1e12, .how = "fake"};
  const auto gpu = WithCeilings(v100, machine);
  EXPECT_EQ(gpu.l2_bytes_per_second, v100.l2_bytes_per_second);
  EXPECT_EQ(gpu.sources.at("l2_bytes_per_second"), v100.sources.at("l2_bytes_per_second"));
  EXPECT_EQ(gpu.macs_per_clock, v100.macs_per_clock);
}

TEST(WithCeilings, GivenRatesReplaceTheParametersAndKeepTheirSources) {
  const auto h100 = delta::FindGpu("h100");
  const auto same = WithCeilings(h100, machine_file::KnownGpu("h100").value());
  EXPECT_NEAR(delta::MacsPerClock(same, "f32"), delta::MacsPerClock(h100, "f32"), 1e-9);
  EXPECT_EQ(same.sources.at("launch_seconds"), h100.sources.at("launch_seconds"))
      << "assumed, and still so";
  auto machine = Measured("an H100");
  machine.by_threads[1].bytes = {{Level::kDram, {.per_second = 3e12, .given = true}}};
  const auto gpu = WithCeilings(h100, machine);
  EXPECT_EQ(gpu.dram_bytes_per_second, 3e12);
  EXPECT_EQ(gpu.sources.at("dram_bytes_per_second"), "given for an H100, not measured");
}

TEST(ChosenGpu, IsTheRunsOwnWithItsProvedCeilings) {
  machine::Machine cpu;
  cpu.device = "cpu";
  cpu.name = "a CPU";
  const auto run = RunOn({cpu, Measured("NVIDIA H200")});
  const auto gpu = ChosenGpu({.run = &run, .run_path = "run.json"});
  EXPECT_EQ(gpu.name, delta::FindGpu("h200").name);
  EXPECT_EQ(gpu.dram_bytes_per_second, 4e12);
  EXPECT_EQ(gpu.l2_bytes_per_second, delta::FindGpu("h200").l2_bytes_per_second);
  // A machine file of that GPU beats the run's ceilings.
  auto later = Measured("NVIDIA H200 NVL");
  later.by_threads[1].bytes[Level::kDram].per_second = 5e12;
  EXPECT_EQ(ChosenGpu({.machine = &later, .run = &run}).dram_bytes_per_second, 5e12);
  // A named GPU is the one that is asked about.
  EXPECT_EQ(ChosenGpu({.gpu = "a100", .run = &run}).dram_bytes_per_second,
            delta::FindGpu("a100").dram_bytes_per_second);
}

TEST(ChosenGpu, ARunOfAGpuThatIsNotKnownNeedsAName) {
  const auto nobody = RunOn({});
  EXPECT_EQ(Refusal({.run = &nobody, .run_path = "run.json"}),
            "run.json: does not say which GPU ran it; give --gpu a name or a parameter file");
  const auto other = RunOn({Measured("NVIDIA GeForce RTX 4090")});
  EXPECT_EQ(Refusal({.run = &other, .run_path = "run.json"}),
            "run.json: no built-in parameters for 'NVIDIA GeForce RTX 4090'; give --gpu a name or "
            "a parameter file");
  EXPECT_EQ(Refusal({.gpu = "v100", .run = &other}), "accepted");
}

TEST(ChosenGpu, AMachineFileNamesItsGpu) {
  const auto machine = Measured("NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(ChosenGpu({.machine = &machine}).name, delta::FindGpu("a100").name);
  EXPECT_EQ(ChosenGpu({.machine = &machine}).dram_bytes_per_second, 4e12);
  EXPECT_EQ(ChosenGpu({}).name, delta::FindGpu("v100").name);
}

TEST(ChosenGpu, CeilingsOfAnotherGpuAreRefused) {
  const auto a100 = Measured("NVIDIA A100-SXM4-80GB"), other = Measured("NVIDIA GeForce RTX 4090");
  EXPECT_EQ(Refusal({.gpu = "a100", .machine = &a100}), "accepted");
  EXPECT_EQ(Refusal({.gpu = "v100", .machine = &a100}),
            "--machine: the ceilings are those of 'NVIDIA A100-SXM4-80GB', not of v100; give --gpu "
            "the name or a parameter file of that GPU");
  EXPECT_THAT(Refusal({.gpu = "v100", .machine = &other}), HasSubstr("not of v100"));
  const auto run = RunOn({Measured("NVIDIA H200")});
  EXPECT_THAT(Refusal({.machine = &a100, .run = &run}), HasSubstr("not of h200"));
  // A parameter file of one's own may be of any GPU.
  const std::string own = fakes::TestData("../../counters/delta/gpus/v100.json");
  EXPECT_EQ(ChosenGpu({.gpu = own, .machine = &other}).dram_bytes_per_second, 4e12);
  auto cpu = a100;
  cpu.device = "cpu";
  EXPECT_THAT(Refusal({.machine = &cpu}), HasSubstr("is of a cpu"));
}

}  // namespace
}  // namespace dlroof::predict
