#include "bench/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "baselines/programs/program_report.h"
#include "bench/conv2d/case.h"
#include "bench/lstm/case.h"
#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/primitives/logs.h"

namespace dlroof::profile {
namespace {

// 2 threads: 200 GFLOP/s and 20 GB/s, as given.
machine::Machine Roofs() {
  machine::Machine machine{.device = "cpu", .name = "roofs", .fingerprint = "roofs"};
  for (const int threads : {1, 2}) {
    auto& set = machine.by_threads[threads];
    set.flops["fp32.vector"] = {.per_second = 100e9 * threads,
                                .threads = threads,
                                .status = machine::CeilingStatus::kSpecified};
    set.bytes[Level::kDram] = {.per_second = 10e9 * threads,
                               .threads = threads,
                               .status = machine::CeilingStatus::kSpecified};
  }
  return machine;
}

record::RunFile Imported(const std::string& name, const ProgramFacts& facts = {}) {
  std::ostringstream warnings;
  auto run = ProgramRun(ReadFile(fakes::LogPath(name), "a log"), name, facts, Roofs(), warnings);
  EXPECT_EQ(warnings.str(), "");
  return run;
}

const record::Record& Find(const record::RunFile& run, const std::string& name) {
  const auto found = std::ranges::find(run.records, name, &record::Record::name);
  if (found == run.records.end()) throw std::runtime_error("no record " + name);
  return *found;
}

TEST(ProgramRun, TimesOfTheRecordsAddUpToTheLog) {
  for (const char* name : {"pt_r50_inf.onednn.log", "pt_r50_inf_freeze.onednn.log",
                           "pt_lstm_trn.onednn.log", "tf_r50_inf_dnn.onednn.log"}) {
    const auto run = Imported(name);
    double seconds = 0, calls = 0;
    for (const auto& record : run.records)
      for (const auto& repetition : record.repetitions) {
        seconds += repetition.seconds * repetition.iterations;
        calls += repetition.iterations;
      }
    const auto summary = programs::ProgramOf(run.context).value();
    double of_primitives = 0;
    for (const auto& primitive : summary.primitives) of_primitives += primitive.seconds;
    EXPECT_NEAR(of_primitives, summary.seconds, 1e-9 * summary.seconds) << name;
    EXPECT_NEAR(seconds, summary.seconds, 1e-3 * summary.seconds) << name;
    EXPECT_EQ(calls, static_cast<double>(summary.lines.executed)) << name;
  }
}

TEST(ProgramRun, AConvolutionHasOurNameItsFlopsAndBenchdnnsLine) {
  const auto run = Imported("pt_r50_inf.onednn.log");
  const auto& record = Find(run, "Conv2D/cpu/onednn/fwd/f32/n8c256h14w14k256r3s3_p1/training");
  const auto& work = record.work.at(Provenance::kModelled);
  EXPECT_EQ(work.flops.at("fp32.vector"),
            static_cast<double>(conv2d::Flops(conv2d::ParseConv2d("n8c256h14w14k256r3s3_p1"))));
  EXPECT_EQ(record.threads, 2);
  EXPECT_EQ(record.isa, "avx2");
  EXPECT_EQ(record.algorithm, "jit:avx2");
  EXPECT_EQ(record.repro,
            "--conv --mode=P --dir=FWD_D mb8_ic256oc256_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1");
}

TEST(ProgramRun, AnLstmHasTheWorkOfOurOwn) {
  const auto run = Imported("pt_lstm_trn.onednn.log");
  const lstm::LstmProblem problem{.t = 64, .n = 16, .i = 256, .h = 512};
  const auto f32 = lstm::UniformLstmType("f32");
  for (const auto& [name, direction] :
       {std::pair("LSTM/cpu/onednn/fwd_training/f32/t64n16i256h512",
                  lstm::LstmDirection::kForwardTraining),
        std::pair("LSTM/cpu/onednn/bwd/f32/t64n16i256h512", lstm::LstmDirection::kBackward)}) {
    const auto& work = Find(run, name).work.at(Provenance::kModelled);
    EXPECT_EQ(work, lstm::ModelledWork(problem, direction, f32, "fp32.vector", "fp32.vector", 1))
        << name;
  }
}

TEST(ProgramRun, WhatHasNoBenchmarkKeepsOneDnnsWords) {
  const auto run = Imported("pt_r50_inf.onednn.log");
  const auto& record = Find(run, "reorder/cpu/onednn/undef/f32:f32/8x256x56x56/aBcd8b:abcd");
  const auto& work = record.work.at(Provenance::kModelled);
  EXPECT_EQ(work.flops.at("fp32.vector"), 0);
  EXPECT_EQ(work.bytes.at(Level::kDram), 8.0 * 256 * 56 * 56 * 8);
  EXPECT_EQ(record.repro,
            "--reorder --mode=P --sdt=f32 --ddt=f32 --stag=aBcd8b --dtag=abcd 8x256x56x56");
}

TEST(ProgramRun, EveryRecordHasANameOfItsOwnAndAPlaceUnderTheRoofs) {
  for (const char* name : {"pt_r50_inf_cl.onednn.log", "tf_r50_inf_dnn.onednn.log"}) {
    const auto placed = roofline::PlaceRun(Imported(name));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < placed.places.size(); ++i) {
      names.push_back(placed.file.records[i].name);
      const auto flops = TotalFlops(placed.file.records[i].work.at(Provenance::kModelled));
      ASSERT_TRUE(flops) << names.back();
      EXPECT_EQ(placed.places[i].placement.time.has_value(), *flops > 0) << names.back();
    }
    std::ranges::sort(names);
    EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end()) << name;
  }
}

// 1358 ms in all, of which 279 ms in reorders, by the log.
TEST(ProgramRun, TheCensusTellsReordersApart) {
  const auto summary = programs::ProgramOf(Imported("pt_r50_inf.onednn.log").context).value();
  double moves_data = 0;
  for (const auto& primitive : summary.primitives)
    if (primitive.moves_data) moves_data += primitive.seconds;
  EXPECT_NEAR(moves_data, 0.279, 0.001);
  EXPECT_NEAR(summary.seconds, 1.358, 0.001);
}

// PyTorch's BERT with oneDNN's fusion.
TEST(ProgramRun, BertsLongestPrimitivesHaveBenchmarks) {
  auto summary = programs::ProgramOf(Imported("pt_bert_graph_inf.onednn.log").context).value();
  std::ranges::sort(summary.primitives, std::ranges::greater{},
                    [&](const auto& primitive) { return summary.SecondsOf(primitive); });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 5; ++i) names.push_back(summary.primitives.at(i).benchmark);
  EXPECT_THAT(names,
              testing::ElementsAre("Matmul/cpu/onednn/fwd/f32/m512n3072k768/bias/gelu_erf/any",
                                   "Matmul/cpu/onednn/fwd/f32/m512n768k3072/bias/sum/any",
                                   "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/sum/any",
                                   "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/any",
                                   "LayerNorm/cpu/onednn/fwd/f32/m512n768/scale/shift"));
}

}  // namespace
}  // namespace dlroof::profile
